// Package undo reads what runs changed in their workspace, works out what a rewind would take back,
// and makes the run that does it. It touches no file: the call of that run does, and is recorded,
// asked about and resumed like any other.
package undo

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"agent/db"
	"agent/db/family"
	"agent/host/drive"
	"agent/host/drive/fold"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/recovery/workspace"
)

// History is what the runs of a thread did from a position on, each with the runs below it.
type History struct {
	At     journal.Position
	Thread string
	Folder string
	Runs   []Run // roots, in their order; the first one is that of the position
	Steps  []workspace.Step
	Before int // how many of the steps are up to the position
	Known  []Known
}

// Known is a fact that says where git stood, or what was in the workspace. They are in the order in
// which they were recorded.
type Known struct {
	Later bool // than the position
	Time  time.Time
	Fact  journal.Body // journal.FilesBase, FilesChanged with a Head, CallStarted with Marks or CommitSeen of a call
}

// Run is one root.
type Run struct {
	ID     string
	Prompt string
	Status recovery.Status
	Rewind bool // it took back what others did
	Flow   bool
	Turns  int
	Base   *journal.FilesBase // what it kept; nil: it never came to a call that may write anywhere
	Stands []Effect
	Moves  []journal.HeadMove
	Made   []journal.CommitSeen // commits that its calls made
	Blind  []string             // calls that may have changed files and were not looked at, in a few words
	Work   map[int]Work
	Phases map[string]string // of a flow: the phase that each run below it is a part of
}

// Work is what one turn of a root did, with all that runs below it did for it.
type Work struct {
	Steps  []workspace.Step
	Stands []Effect
}

// Effect is a call that acted outside of the workspace, as far as is known.
type Effect struct {
	Run, Call string
	Place     journal.Place
	Tool      string
	Args      []byte
	Unknown   bool // it may or may not have happened
}

// Read reads a thread from a position on. before says that the steps up to it are wanted too.
func Read(ctx context.Context, p *drive.Process, at journal.Position) (*History, error) {
	row, err := p.Store.Run(ctx, at.Run)
	if err != nil {
		return nil, err
	}
	if row.Root != "" {
		return nil, &RefusedError{at, fmt.Sprintf("run %s is a part of run %s, and only the whole can be taken back", row.ID, row.Root),
			[]view.Fix{{Does: "take back the whole", Command: "agent rewind " + row.Root + "@0"}}}
	}
	rows, err := p.Store.ThreadRuns(ctx, row.Thread)
	if err != nil {
		return nil, err
	}
	from := slices.IndexFunc(rows, func(r db.RunRow) bool { return r.ID == row.ID })
	if from < 0 {
		return nil, fmt.Errorf("read thread %s: run %s is not in it", row.Thread, row.ID)
	}
	h := &History{At: at, Thread: row.Thread}
	for i, r := range rows[from:] {
		turn := 0
		if i == 0 {
			turn = at.Turn
		}
		if err := h.add(ctx, p, r, turn); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// add takes in a root and all runs below it.
func (h *History) add(ctx context.Context, p *drive.Process, row db.RunRow, after int) error {
	s, err := drive.Alone(ctx, p, row.ID)
	if err != nil {
		return err
	}
	if row.ID == h.At.Run {
		h.Folder = s.Created.Folder
	}
	r := reading{History: h, run: Run{
		ID: row.ID, Prompt: row.Prompt, Status: s.Status, Rewind: s.Created.Rewind != nil, Flow: s.Created.Flow != nil, Turns: len(s.Turns),
		Work: map[int]Work{},
	}, after: after, until: math.MaxInt, turns: map[string]int{}}
	if err := r.take(ctx, p, row.ID, 0); err != nil {
		return err
	}
	below, err := family.Below(ctx, p.Store, row.ID)
	if err != nil {
		return err
	}
	for _, b := range below {
		r.phase(b)
		if err := r.take(ctx, p, b.ID, r.turns[b.ID]); err != nil {
			return err
		}
	}
	r.end()
	return nil
}

// reading is the journals of one family on their way into a history.
type reading struct {
	*History
	run   Run
	after int
	until int
	only  bool           // what is outside of these turns is left out
	turns map[string]int // of runs below: the root's turn whose call made them
	steps []numbered
}

// end puts what was read into the history, in the order in which it was seen.
func (r *reading) end() {
	slices.SortStableFunc(r.Known, func(a, b Known) int { return a.Time.Compare(b.Time) })
	slices.SortStableFunc(r.steps, func(a, b numbered) int { return cmp.Compare(a.look, b.look) })
	for _, s := range r.steps {
		r.Steps = append(r.Steps, s.Step)
		w := r.run.Work[s.turn]
		w.Steps = append(w.Steps, s.Step)
		r.run.Work[s.turn] = w
		if !s.later {
			r.Before++
		}
	}
	r.Runs = append(r.Runs, r.run)
}

type numbered struct {
	workspace.Step
	look  int64
	later bool // than the position
	turn  int  // of the root
}

// take reads one run's journal. at is the turn of the root that it is a part of; 0 for the root
// itself.
func (r *reading) take(ctx context.Context, p *drive.Process, run string, at int) error {
	facts, err := fold.Facts(p.Reader().Restored(ctx, func(db.Unrecoverable) {})(run)) // what is lost was reported at the claims
	if err != nil {
		return err
	}
	one := calls{made: map[journal.Place]journal.Proposal{}}
	for _, e := range facts {
		turn := e.Turn
		if run != r.run.ID {
			turn = at
		}
		taken := (turn > r.after || r.after == 0) && turn <= r.until
		one.see(e)
		if places(e.Body) {
			r.Known = append(r.Known, Known{taken, e.Time, e.Body})
		}
		switch b := e.Body.(type) {
		case journal.CallStarted:
			if b.Child != "" {
				r.turns[b.Child] = turn
			}
		case journal.FlowPhaseStarted:
			r.turns[b.Run] = turn
		case journal.CallSettled:
			if taken {
				r.effect(run, turn, one.proposal(b.Place), b)
			}
		case journal.FilesBase:
			if r.run.Base == nil || b.Mode == journal.KeepTools {
				r.run.Base = &b
			}
		case journal.FilesChanged:
			r.changed(run, turn, taken, e, b)
		case journal.CommitSeen:
			if taken && b.During != nil {
				r.run.Made = append(r.run.Made, b)
			}
		}
	}
	return nil
}

// places says whether a fact is one of those in History.Known.
func places(b journal.Body) bool {
	switch b := b.(type) {
	case journal.FilesBase:
		return true
	case journal.FilesChanged:
		return b.Head != nil
	case journal.CallStarted:
		return b.Marks != nil
	case journal.CommitSeen:
		return b.During != nil
	}
	return false
}

// changed takes in what one look found.
func (r *reading) changed(run string, turn int, taken bool, e journal.Event, b journal.FilesChanged) {
	if r.only && !taken {
		return
	}
	if b.Head != nil && taken {
		r.run.Moves = append(r.run.Moves, *b.Head)
	}
	for _, c := range b.Changes {
		if !c.Proof.Ours() && c.Before.Same(c.After) {
			continue // it was only looked at
		}
		s := workspace.Step{Run: run, Turn: turn, During: b.During, Shared: len(b.Shared) > 0, Time: e.Time, Change: c}
		if b.During != nil && run != r.run.ID {
			s.Turn = b.During.Turn
		}
		s.Take = taken && c.Proof.Ours()
		r.steps = append(r.steps, numbered{s, b.Look, taken, turn})
	}
}

// effect takes in a call that acted elsewhere.
func (r *reading) effect(run string, turn int, c journal.Proposal, b journal.CallSettled) {
	acted := b.Result.Applied == journal.AppliedYes || b.Result.Applied == journal.AppliedUnknown
	if c.Effect != journal.EffectWriteExternal || !acted || b.Result.Child != nil {
		return
	}
	e := Effect{Run: run, Call: c.ID, Place: b.Place, Tool: c.Tool, Args: c.Args, Unknown: b.Result.Applied == journal.AppliedUnknown}
	r.run.Stands = append(r.run.Stands, e)
	w := r.run.Work[turn]
	w.Stands = append(w.Stands, e)
	r.run.Work[turn] = w
}

// calls are the calls of a run by their places.
type calls struct {
	made map[journal.Place]journal.Proposal
}

func (c *calls) see(e journal.Event) {
	if a, ok := e.Body.(journal.ModelAnswered); ok {
		for i, p := range a.Calls {
			c.made[journal.Place{Turn: e.Turn, Index: i}] = p
		}
	}
}

func (c *calls) proposal(at journal.Place) journal.Proposal {
	at.Attempt = 0
	return c.made[at]
}

// RefusedError says that nothing can be taken back to a position, and what to do instead.
type RefusedError struct {
	At   journal.Position
	Why  string
	Next []view.Fix
}

func (e *RefusedError) Error() string { return fmt.Sprintf("rewind to %s: %s", e.At, e.Why) }

// Fixes is what there is to do instead.
func (e *RefusedError) Fixes() []view.Fix { return e.Next }
