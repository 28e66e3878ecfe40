package replay

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"agent/fleet/log"
	"agent/fleet/seal"
	"agent/host/pack"
)

// Summary says what a pack from the log holds.
type Summary struct {
	ID    string    `json:"id"`    // of the pack
	Root  string    `json:"root"`  // the run at the top
	Place int64     `json:"place"` // the last one of the log that is in it
	Epoch int64     `json:"epoch"` // of the last entry
	By    string    `json:"by"`    // who wrote the last entry
	At    time.Time `json:"at"`
	Why   string    `json:"why"`
	Fence bool      `json:"fence,omitempty"` // the last entry is a fence
	Over  bool      `json:"over,omitempty"`  // the run was ended by a fence
	Facts int64     `json:"facts"`
	Runs  []Packed  `json:"runs"` // in the order in which they began
}

// Packed is a run in a pack.
type Packed struct {
	Run    string `json:"run"`
	Thread string `json:"thread"`
	Facts  int64  `json:"facts"`
	Digest []byte `json:"digest"`
}

// Pack writes a pack of everything that the log of a root has, sealed to a store: the runs go on
// there. The log is read twice, so that of contents and bodies only the lists of files are held.
func Pack(ctx context.Context, l log.Log, k seal.Key, namespace, root string, to pack.Address, w io.Writer) (Summary, error) {
	p := &packer{log: l, open: k.Sealer(namespace, root), state: NewState(root), facts: map[string][]pack.Record{}, threads: map[string]*pack.Thread{}}
	sum, err := p.pack(ctx, k, to, w)
	if err != nil {
		return sum, fmt.Errorf("make a pack of run %s from the log: %w", root, err)
	}
	return sum, nil
}

type packer struct {
	log   log.Log
	open  *seal.Sealer
	state *State
	host  string // that wrote the last facts

	facts   map[string][]pack.Record
	threads map[string]*pack.Thread
	order   []string // of the threads

	w       *pack.Writer
	written map[string]bool
	late    []pack.Record // what has to stand behind the contents: lists last
}

func (p *packer) pack(ctx context.Context, k seal.Key, to pack.Address, w io.Writer) (sum Summary, err error) {
	if err := p.state.CatchUp(ctx, p.log, p.open, p.collect); err != nil {
		return sum, err
	}
	s := p.state
	if len(s.Order) == 0 {
		return sum, fmt.Errorf("there is no fact in it")
	}
	sum = Summary{ID: newID(), Root: s.Root, Place: s.Place, Epoch: s.Epoch, By: s.By, At: s.At, Why: s.Why, Fence: s.Fence, Over: s.Over}
	for _, run := range s.Order {
		stand := s.Runs[run]
		sum.Runs = append(sum.Runs, Packed{run, s.Threads[run], stand.Facts, stand.Digest})
		sum.Facts += stand.Facts
	}
	h := pack.Header{ID: sum.ID, From: k.Fleet(), Move: true, Made: time.Now().UTC().Truncate(time.Second)}
	if p.w, err = pack.NewWriter(w, h, &to); err != nil {
		return sum, err
	}
	about := pack.About{Thread: s.Threads[s.Root], Host: p.host, By: "agent-fleet", Agent: "agent-fleet", Whole: true, Runs: len(sum.Runs), Facts: sum.Facts}
	if err := p.w.Write(pack.Record{About: &about}); err != nil {
		return sum, err
	}
	if err := p.named(ctx); err != nil {
		return sum, err
	}
	for _, run := range sum.Runs {
		if err := p.run(run); err != nil {
			return sum, err
		}
	}
	return sum, p.w.Close()
}

// newID is an id for a pack: letters that are not mistaken for others.
func newID() string {
	const letters = "0123456789abcdefghjkmnpqrstvwxyz"
	b := make([]byte, 8)
	rand.Read(b) // never fails: crypto/rand ends the process instead
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return "m-" + string(b)
}

// collect holds what has to be known before the pack is begun.
func (p *packer) collect(_ int64, e seal.Entry) error {
	if !e.Fence() {
		p.host = e.By
	}
	run := ""
	for _, r := range e.Records {
		switch {
		case r.Thread != nil:
			if p.threads[r.Thread.ID] == nil {
				p.order = append(p.order, r.Thread.ID)
			}
			p.threads[r.Thread.ID] = r.Thread
		case r.Run != nil:
			run = r.Run.ID
		case r.Fact != nil:
			p.facts[run] = append(p.facts[run], r)
		}
	}
	return nil
}

// named writes what the facts name, each once.
func (p *packer) named(ctx context.Context) error {
	for _, id := range p.order {
		if err := p.w.Write(pack.Record{Thread: p.threads[id]}); err != nil {
			return err
		}
	}
	p.written = map[string]bool{}
	err := Each(ctx, p.log, p.open, 1, p.state.Place, func(_ int64, e seal.Entry) error {
		for _, r := range e.Records {
			if err := p.one(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range p.late {
		if err := p.w.Write(r); err != nil {
			return err
		}
	}
	return nil
}

// one writes what facts name, unless it was written. Lists of files wait for what they name.
func (p *packer) one(r pack.Record) error {
	name := ""
	switch {
	case r.Kept != nil:
		name = "kept " + r.Kept.Name
	case r.Body != nil:
		name = "body " + string(pack.Name(r.Body))
	case r.Secret != nil:
		name = "secret " + r.Secret.ID
	case r.Environ != nil:
		name = "environment " + r.Environ.ID
	}
	if name == "" || p.written[name] {
		return nil
	}
	p.written[name] = true
	if r.Kept != nil && r.Kept.List {
		p.late = append(p.late, r)
		return nil
	}
	return p.w.Write(r)
}

func (p *packer) run(r Packed) error {
	head := pack.Run{ID: r.Run, Thread: r.Thread, Facts: r.Facts, Digest: r.Digest}
	if err := p.w.Write(pack.Record{Run: &head}); err != nil {
		return err
	}
	for _, f := range p.facts[r.Run] {
		if err := p.w.Write(f); err != nil {
			return err
		}
	}
	return nil
}
