package flow

import (
	"context"
	"fmt"

	"agent/host/child"
	"agent/host/drive"
	"agent/host/flow/artifact"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// Engine carries out the flows of one process.
type Engine struct {
	Carrier *child.Carrier
	Denied  []string // folders in which no artifact may lie
}

// Open folds the journal of a flow; none of it where the run is about to be created. It is
// drive.Process.Flows.
func (e *Engine) Open(c journal.RunCreated, facts []journal.Event) (drive.Flow, error) {
	def, err := flow.Defined(c)
	if err != nil {
		return nil, err
	}
	f := &carrying{engine: e, def: def, children: newChildren(e.Carrier)}
	return f, f.Again(facts)
}

// carrying is one flow that is driven here. Its driver's goroutine alone calls it.
type carrying struct {
	engine *Engine
	def    *flow.Definition
	s      *flow.State
	folder *artifact.Folder
	copies *artifact.Copies
	past   before
	asks   map[string]*journal.Request // about work that an earlier flow of the thread did, by instance
	looked *journal.ArtifactsChecked   // since the claim, of all that counts; nil: nothing was

	children *children
}

// State is the run's.
func (f *carrying) State() *recovery.State { return f.s.Run }

// Apply folds one more fact.
func (f *carrying) Apply(e journal.Event) error { return f.s.Apply(e) }

// Again folds the whole journal anew.
func (f *carrying) Again(facts []journal.Event) (err error) {
	f.s, err = flow.Fold(f.def, facts)
	return err
}

// Close waits until no child is driven here.
func (f *carrying) Close() {
	f.children.going.Wait()
	if f.folder != nil {
		f.folder.Close()
	}
}

// Step does what is next.
func (f *carrying) Step(ctx context.Context, h drive.Hands) error {
	w, err := f.world(ctx, h.Process())
	if err != nil {
		return err
	}
	switch a := flow.Next(f.s, w).(type) {
	case flow.Done, flow.Claim:
		return h.Leave(ctx)
	case flow.Record:
		if there, err := reuseGated(ctx, f, h, a); there || err != nil {
			return err
		}
		f.record(h, a.Facts...)
		return nil
	default:
		if ctx.Err() != nil {
			f.children.going.Wait() // children first
			return h.ShutDown(ctx)
		}
		if err := h.FullDisk(ctx); err != nil {
			return err
		}
		return f.perform(ctx, h, a)
	}
}

// record keeps facts for the next commit, with the contents that they name.
func (f *carrying) record(h drive.Hands, facts ...journal.Body) {
	switch facts[len(facts)-1].(type) {
	case journal.RunCompleted, journal.RunFailed, journal.RunCancelled:
		fault.Hit(fault.BeforeTerminal)
	}
	if f.copies != nil {
		h.Keep(f.copies.Rows())
	}
	h.Record(facts...)
	for _, b := range facts {
		if end, ok := b.(journal.FlowPhaseEnded); ok && flow.Without(f.s, end) != "" {
			h.Record(journal.RunNoted{Text: flow.Without(f.s, end)})
		}
	}
}

func (f *carrying) perform(ctx context.Context, h drive.Hands, action flow.Action) error {
	if err := f.open(h.Process()); err != nil && f.s.Run.Stopping == nil {
		return err // what is only to end needs no folder: nothing is taken any more
	}
	switch a := action.(type) {
	case flow.AskPerson:
		if len(a.Drive) > 0 {
			return f.await(ctx, h, flow.Await{Runs: a.Drive})
		}
		return h.Ask(ctx, a.Request)
	case flow.Check:
		return f.check(ctx, h, a)
	case flow.Restore:
		return f.restore(ctx, h, a)
	case flow.EndChildren:
		return f.endChildren(ctx, h, a)
	case flow.Collect:
		return f.collect(ctx, h, a)
	case flow.List:
		return f.list(ctx, h, a)
	case flow.Start:
		return f.start(ctx, h, a)
	case flow.Await:
		return f.await(ctx, h, a)
	case flow.Park:
		return f.park(ctx, h, a)
	case flow.Complete:
		return f.complete(ctx, h, a)
	}
	return fmt.Errorf("drive flow %s: action %T is not known", f.s.Run.Created.Run, action)
}

// open makes the workspace and the copies ready, once.
func (f *carrying) open(p *drive.Process) error {
	if f.folder != nil {
		return nil
	}
	contents, err := p.Store.Contents()
	if err != nil {
		return err
	}
	c := f.s.Run.Created
	if f.folder, err = artifact.Open(c.Folder, f.engine.Denied, c.Run); err != nil {
		return err
	}
	f.copies = &artifact.Copies{Contents: contents, Room: artifact.FlowLimit - flow.Copied(f.s)}
	return nil
}

// complete ends the flow with the answer of its last phase.
func (f *carrying) complete(ctx context.Context, h drive.Hands, a flow.Complete) error {
	text := ""
	if a.Run != "" {
		s, err := drive.Alone(context.WithoutCancel(ctx), h.Process(), a.Run)
		if err != nil {
			return fmt.Errorf("read run %s: %w", a.Run, err)
		}
		if s.Status == recovery.StatusCompleted { // a person may keep what a run left that did not come to its end
			text = s.Final
		}
	}
	f.record(h, journal.RunCompleted{Text: text})
	return nil
}

// unreadable leaves the flow where something of the workspace cannot be read or taken: nothing is
// lost, and a person puts it right.
func (f *carrying) unreadable(ctx context.Context, h drive.Hands, err error) error {
	if ctx.Err() != nil {
		return nil // the next step leaves
	}
	f.children.going.Wait()
	return h.Interrupt(ctx, journal.CauseArtifact, err.Error())
}
