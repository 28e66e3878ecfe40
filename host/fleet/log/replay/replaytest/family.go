// Package replaytest makes what drivers report, for tests.
package replaytest

import (
	"fmt"

	"agent/host/pack"
)

// Family makes the records of appends of one family of runs.
type Family struct {
	Root string
	runs map[string]*run
}

type run struct {
	facts  int64
	digest []byte
}

// New is a family that has done nothing.
func New(root string) *Family { return &Family{root, map[string]*run{}} }

// Clone is a driver that has seen what this one has.
func (f *Family) Clone() *Family {
	c := New(f.Root)
	for id, r := range f.runs {
		one := *r
		c.runs[id] = &one
	}
	return c
}

// Facts is how many facts a run has.
func (f *Family) Facts(id string) int64 {
	if f.runs[id] == nil {
		return 0
	}
	return f.runs[id].facts
}

// Thread is the thread of a run.
func Thread(id string) string { return "t-" + id[2:] }

// Does gives the records of new facts of a run, with its thread where it is new.
func (f *Family) Does(id string, bodies ...string) []pack.Record {
	r := f.runs[id]
	var out []pack.Record
	if r == nil {
		r = &run{}
		f.runs[id] = r
		out = append(out, pack.Record{Thread: &pack.Thread{ID: Thread(id), KeyOf: Thread(id), Key: []byte("key"), Folder: "/f"}})
	}
	head := &pack.Run{ID: id, Thread: Thread(id)}
	out = append(out, pack.Record{Run: head})
	for _, b := range bodies {
		fact := &pack.Fact{Turn: r.facts, Kind: 1, V: 1, Time: r.facts, Body: b}
		r.facts++
		r.digest = pack.Chain(r.digest, fact)
		out = append(out, pack.Record{Fact: fact})
	}
	head.Facts, head.Digest = r.facts, r.digest
	return out
}

// DoesLong gives the records of a fact whose body stands apart.
func (f *Family) DoesLong(id, body string) []pack.Record {
	r := f.runs[id]
	fact := &pack.Fact{Turn: r.facts, Kind: 2, V: 1, Time: r.facts, Hash: pack.Name([]byte(body))}
	r.facts++
	r.digest = pack.Chain(r.digest, fact)
	return []pack.Record{
		{Body: []byte(body)},
		{Run: &pack.Run{ID: id, Thread: Thread(id), Facts: r.facts, Digest: r.digest}},
		{Fact: fact},
	}
}

// Named are records that facts could name.
func Named(n int) []pack.Record {
	return []pack.Record{
		{Environ: &pack.Environ{ID: fmt.Sprintf("e-%d", n), Variables: []string{"A=1"}}},
		{Secret: &pack.Secret{ID: fmt.Sprintf("s-%d", n), Rule: "rule", Value: []byte("canary")}},
		{Kept: &pack.Kept{Name: fmt.Sprintf("list-%d", n), List: true, Data: []byte("list")}},
		{Kept: &pack.Kept{Name: fmt.Sprintf("file-%d", n), Data: []byte("file")}},
	}
}
