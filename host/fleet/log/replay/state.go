package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"agent/fleet/log"
	"agent/fleet/seal"
	"agent/host/pack"
	"agent/host/witness/line"
)

// State is how far a log is, and what it holds.
type State struct {
	Root  string
	Place int64     // the last one; 0 for an empty log
	By    string    // who wrote it
	Epoch int64     // that it has
	At    time.Time // by the clock of who wrote it
	Why   string
	Fence bool // it only keeps others from going on
	Over  bool // the run was ended by a fence, and nobody may go on with it

	Claimed int64    // the highest epoch of an entry with facts
	Order   []string // the runs of the family, in the order in which they began
	Runs    map[string]line.Stand
	Threads map[string]string // of the runs

	known  map[string]bool   // threads
	bodies map[[32]byte]bool // by their SHA-256
	ended  string            // by whom, when and why
	digest []byte            // of the last entry's records
}

// NewState is that of an empty log.
func NewState(root string) *State {
	return &State{Root: root, Runs: map[string]line.Stand{}, Threads: map[string]string{}, known: map[string]bool{}, bodies: map[[32]byte]bool{}}
}

// EpochError says that an entry is of a driver whose time is over.
type EpochError struct{ Epoch, Over int64 }

func (e *EpochError) Error() string {
	return fmt.Sprintf("epoch %d is over: the log has epoch %d; claim the run anew", e.Epoch, e.Over)
}

// Fenced says who has the run, as the answer to a driver.
func (s *State) Fenced() *line.Fenced {
	return &line.Fenced{Place: s.Place, By: s.By, Epoch: s.Epoch, At: s.At}
}

// Mine says whether the last entry is this one.
func (s *State) Mine(e seal.Entry) bool {
	sum, err := seal.Digest(e.Records)
	return err == nil && !s.Fence && s.By == e.By && s.Epoch == e.Epoch && bytes.Equal(s.digest, sum)
}

// CatchUp reads what the log has beyond the state.
func (s *State) CatchUp(ctx context.Context, l log.Log, open *seal.Sealer, each func(place int64, e seal.Entry) error) error {
	last, err := l.Last(ctx, s.Root)
	if err != nil {
		return err
	}
	if last < s.Place {
		return &seal.DamageError{Root: s.Root, Place: s.Place, What: fmt.Sprintf("it was there, and now the log ends with place %d: was it restored from a copy?", last)}
	}
	return Each(ctx, l, open, s.Place+1, last, func(place int64, e seal.Entry) error {
		if err := s.Add(place, e); err != nil {
			return &seal.DamageError{Root: s.Root, Place: place, What: err.Error()}
		}
		if each == nil {
			return nil
		}
		return each(place, e)
	})
}

// Add takes in the entry of the next place.
func (s *State) Add(place int64, e seal.Entry) error {
	c, err := s.Check(place, e)
	if err != nil {
		return err
	}
	c.Apply(s)
	return nil
}

// Change is what an entry changes in a state.
type Change struct {
	Place  int64
	Entry  seal.Entry
	digest []byte

	runs    map[string]line.Stand
	order   []string // the runs of the entry
	threads map[string]string
	known   map[string]bool
	bodies  map[[32]byte]bool
}

// Apply takes the entry in, which is in the log now. The state is the one that it was checked with.
func (c *Change) Apply(s *State) {
	e := c.Entry
	s.Place, s.By, s.Epoch, s.At, s.Why, s.Fence, s.digest = c.Place, e.By, e.Epoch, e.At, e.Why, e.Fence(), c.digest
	if e.Over && !s.Over {
		s.Over, s.ended = true, fmt.Sprintf("%s at %s: %s", e.By, e.At.Format(time.RFC3339), e.Why)
	}
	if !s.Fence {
		s.Claimed = max(s.Claimed, e.Epoch)
	}
	for _, id := range c.order {
		if _, there := s.Runs[id]; !there {
			s.Order = append(s.Order, id)
		}
		s.Runs[id] = c.runs[id]
		s.Threads[id] = c.threads[id]
	}
	for id := range c.known {
		s.known[id] = true
	}
	for name := range c.bodies {
		s.bodies[name] = true
	}
}

// Check says whether an entry can take the next place.
func (s *State) Check(place int64, e seal.Entry) (*Change, error) {
	if place != s.Place+1 {
		return nil, fmt.Errorf("place %d cannot be taken: the log ends with place %d", place, s.Place)
	}
	c := &Change{Place: place, Entry: e, runs: map[string]line.Stand{}, threads: map[string]string{}, known: map[string]bool{}, bodies: map[[32]byte]bool{}}
	var err error
	if c.digest, err = seal.Digest(e.Records); err != nil {
		return nil, err
	}
	if e.Fence() {
		return c, nil
	}
	if s.Over {
		return nil, fmt.Errorf("run %s was ended by %s", s.Root, s.ended)
	}
	over := e.Epoch < s.Claimed || e.Epoch == s.Claimed && s.Claimed > 0 && (s.Fence || s.By != e.By)
	if over || e.Epoch < 1 {
		return nil, &EpochError{e.Epoch, max(s.Claimed, 0)}
	}
	if err := c.records(s, e.Records); err != nil {
		return nil, err
	}
	if _, there := s.Runs[s.Root]; !there && len(c.order) > 0 && c.order[0] != s.Root {
		return nil, fmt.Errorf("the first facts of the log have to be those of run %s", s.Root)
	}
	return c, nil
}

// records checks what an entry brings.
func (c *Change) records(s *State, all []pack.Record) error {
	for i := range all {
		if members(&all[i]) != 1 {
			return fmt.Errorf("record %d has not one member", i+1)
		}
	}
	for i := 0; i < len(all); i++ {
		r := all[i]
		switch {
		case r.Run != nil:
			n := 0
			for i+1+n < len(all) && all[i+1+n].Fact != nil {
				n++
			}
			if err := c.run(s, r.Run, all[i+1:i+1+n]); err != nil {
				return err
			}
			i += n
		case r.Fact != nil:
			return errors.New("a fact stands before its run")
		case r.About != nil || r.End != nil:
			return errors.New("what begins or ends a pack has no place in a log")
		case len(c.order) > 0:
			return errors.New("what facts name stands behind a run")
		case r.Thread != nil:
			c.known[r.Thread.ID] = true
		case r.Body != nil:
			c.bodies[[32]byte(pack.Name(r.Body))] = true
		}
	}
	if len(c.order) == 0 {
		return errors.New("it brings no fact")
	}
	return nil
}

// run checks the new facts of a run.
func (c *Change) run(s *State, r *pack.Run, facts []pack.Record) error {
	if err := log.CheckRoot(r.ID); err != nil {
		return err
	}
	if _, twice := c.runs[r.ID]; twice {
		return fmt.Errorf("run %s stands in it twice", r.ID)
	}
	if !s.known[r.Thread] && !c.known[r.Thread] {
		return fmt.Errorf("run %s is of thread %.40q, which no entry brought", r.ID, r.Thread)
	}
	before := s.Runs[r.ID]
	if t, there := s.Threads[r.ID]; there && t != r.Thread {
		return fmt.Errorf("run %s changed its thread", r.ID)
	}
	if len(facts) == 0 {
		return fmt.Errorf("run %s has no new fact", r.ID)
	}
	if want := before.Facts + int64(len(facts)); r.Facts != want {
		return fmt.Errorf("run %s has %d facts, and %d are in the log with the new ones", r.ID, r.Facts, want)
	}
	digest := before.Digest
	for _, f := range facts {
		if h := f.Fact.Hash; h != nil {
			if len(h) != 32 || !s.bodies[[32]byte(h)] && !c.bodies[[32]byte(h)] {
				return fmt.Errorf("a fact of run %s has a body that no entry brought", r.ID)
			}
		}
		digest = pack.Chain(digest, f.Fact)
	}
	if !bytes.Equal(digest, r.Digest) {
		return fmt.Errorf("the facts of run %s do not go on from those in the log", r.ID)
	}
	c.runs[r.ID] = line.Stand{Facts: r.Facts, Digest: digest}
	c.threads[r.ID] = r.Thread
	c.order = append(c.order, r.ID)
	return nil
}

func members(r *pack.Record) (n int) {
	for _, is := range []bool{r.About != nil, r.Thread != nil, r.Kept != nil, r.Body != nil, r.Secret != nil, r.Environ != nil, r.Run != nil,
		r.Fact != nil, r.End != nil} {
		if is {
			n++
		}
	}
	return n
}
