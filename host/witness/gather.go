package witness

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"agent/db"
	"agent/db/moves"
	"agent/host/pack"
	"agent/host/witness/line"
)

// Fact is a fact as it goes to another machine.
func Fact(f db.Stored) pack.Fact {
	fact := pack.Fact{Turn: f.Turn, Kind: f.Kind, V: f.V, Time: f.Time}
	if f.Long {
		fact.Hash = pack.Name(f.Body)
	} else {
		fact.Body = string(f.Body)
	}
	return fact
}

// stand is how much of a run the log has.
type stand struct {
	facts  int64
	digest []byte
	thread bool // its thread is in the log too
}

// learn compares what the log has of a run with what is recorded here, and learns what went with
// it. It says false where they differ.
func (f *family) learn(ctx context.Context, run string, at line.Stand) (same bool, err error) {
	st := stand{facts: at.Facts, thread: true}
	err = db.EachStored(ctx, f.w.store, run, 0, at.Facts, func(s db.Stored) error {
		fact := Fact(s)
		st.digest = pack.Chain(st.digest, &fact)
		f.named.Add(s.Body)
		return nil
	})
	if err != nil {
		return false, err
	}
	f.stands[run] = &st
	return bytes.Equal(st.digest, at.Digest), nil
}

// entry is what was recorded of runs since the log's last entry.
type entry struct {
	named []pack.Record // what the facts name
	facts []pack.Record
	after map[string]stand // how much of each run the log has then
	names *moves.Names
}

// gather reads what is new of the runs, which are in the order in which they began.
func (f *family) gather(ctx context.Context, runs []string) (*entry, error) {
	e := &entry{after: map[string]stand{}, names: moves.NewNames()}
	for _, run := range runs {
		if err := f.add(ctx, e, run); err != nil {
			return nil, err
		}
	}
	if len(e.facts) == 0 {
		return e, nil
	}
	return e, moves.GatherNamed(ctx, f.w.store, e.names.Without(f.named), moves.Everything{
		Whole: true,
		Body: func(data []byte) error {
			e.named = append(e.named, pack.Record{Body: slices.Clone(data)})
			return nil
		},
		Secret: func(id, rule string, value []byte) error {
			e.named = append(e.named, pack.Record{Secret: &pack.Secret{ID: id, Rule: rule, Value: slices.Clone(value)}})
			return nil
		},
		Environ: func(id string, variables []string) error {
			e.named = append(e.named, pack.Record{Environ: &pack.Environ{ID: id, Variables: variables}})
			return nil
		},
	})
}

// add reads what is new of one run.
func (f *family) add(ctx context.Context, e *entry, run string) error {
	head, err := f.w.store.Head(ctx, run)
	if err != nil {
		return err
	}
	var st stand
	if have := f.stands[run]; have != nil {
		st = *have
	}
	if head.Seq == st.facts {
		return nil
	}
	if !st.thread {
		t, err := f.thread(ctx, head.Thread)
		if err != nil {
			return err
		}
		e.named = append(e.named, pack.Record{Thread: t})
		st.thread = true
	}
	at := len(e.facts)
	e.facts = append(e.facts, pack.Record{})
	err = db.EachStored(ctx, f.w.store, run, st.facts, head.Seq, func(s db.Stored) error {
		fact := Fact(s)
		st.digest = pack.Chain(st.digest, &fact)
		e.names.Add(s.Body)
		if s.Long {
			e.named = append(e.named, pack.Record{Body: slices.Clone(s.Body)})
		}
		e.facts = append(e.facts, pack.Record{Fact: &fact})
		return nil
	})
	st.facts = head.Seq
	e.after[run] = st
	e.facts[at].Run = &pack.Run{ID: run, Thread: head.Thread, Facts: st.facts, Digest: st.digest}
	return err
}

// thread is the record of a thread, with the key with which its calls are recognised.
func (f *family) thread(ctx context.Context, id string) (*pack.Thread, error) {
	t, err := f.w.store.Thread(ctx, id)
	if err != nil {
		return nil, err
	}
	key, err := db.LineageKey(f.w.store, id)
	if err != nil {
		return nil, fmt.Errorf("read the key of thread %s: %w", id, err)
	}
	return &pack.Thread{ID: t.ID, KeyOf: t.KeyOf, Key: key, Folder: t.Folder, Created: t.Created}, nil
}
