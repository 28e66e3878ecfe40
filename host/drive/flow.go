package drive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agent/db"
	"agent/db/keep"
	"agent/host/drive/fold"
	"agent/recovery"
	"agent/recovery/journal"
)

// Flow decides and performs what a run does that is a flow: its journal holds no turns of a model,
// and its parts are carried out by runs below it. It belongs to one driver.
type Flow interface {
	State() *recovery.State                  // of the run, which Apply changes
	Apply(e journal.Event) error             // folds one more fact
	Again(facts []journal.Event) error       // folds the whole journal anew
	Step(context.Context, Hands) error       // does what is next; the driver asks again until it says to leave
	Redo(phase string) (journal.Body, error) // what a person decides who wants a phase done again
	// Plan is how it stands. A dry one changes nothing, but folds what would be recorded; then says
	// what would come next.
	Plan(ctx context.Context, p *Process, dry bool) (plan FlowPlan, then string, err error)
	Close() // waits until nothing that it began is under way in this process
}

// Hands are what a flow does with its journal and with who drives it. What they return is returned
// by Flow.Step where it is not nil.
type Hands struct{ d *driver }

// Process is the process that drives the flow.
func (h Hands) Process() *Process { return h.d.p }

// Record folds facts and keeps them for the next commit.
func (h Hands) Record(facts ...journal.Body) { h.d.recordAll(facts) }

// Keep takes contents along with the next commit.
func (h Hands) Keep(rows []keep.Row) { h.d.kept = append(h.d.kept, rows...) }

// Commit makes durable what is recorded.
func (h Hands) Commit(ctx context.Context) error { return h.d.calls.flush(ctx) }

// Leave commits and ends the driving: there is nothing to do, or nothing may be done here.
func (h Hands) Leave(ctx context.Context) error { return errors.Join(h.d.calls.flush(ctx), errLeave) }

// Interrupt leaves the run for a reason with a remedy.
func (h Hands) Interrupt(ctx context.Context, c journal.Cause, detail string) error {
	return h.d.leave(ctx, c, detail)
}

// ShutDown leaves the run where the context has ended.
func (h Hands) ShutDown(ctx context.Context) error { return h.d.shutDown(ctx) }

// Writing has what the flow itself writes at a path of the workspace be one of the changes that can
// be taken back. What lies there is durable before, where something does.
func (h Hands) Writing(ctx context.Context, path string, write func() error) error {
	keeper := h.d.p.Files
	if keeper == nil {
		return write()
	}
	c := FilesCall{Created: h.d.state.Created, Paths: []string{path}, Host: true}
	before, err := keeper.Before(ctx, c)
	if err != nil {
		return err
	}
	h.d.take(before)
	if len(before.Kept) > 0 {
		if err := h.Commit(ctx); err != nil {
			return err
		}
	}
	err = write()
	h.d.take(keeper.After(context.WithoutCancel(ctx), c, nil))
	return err
}

// Left says whether a step has ended the driving: who has something under way waits for it first.
func Left(err error) bool { return errors.Is(err, errLeave) }

// FullDisk leaves the run where only the reserve on the disk is left; nil where there is room.
func (h Hands) FullDisk(ctx context.Context) error {
	if h.d.calls.full == nil && !h.d.p.Store.DiskFull() {
		return nil
	}
	h.d.calls.full = errDiskFull
	return h.d.stopOnFullDisk(ctx)
}

// Doubts has the guard know what runs below left unknown.
func (h Hands) Doubts(ctx context.Context) error { return h.d.calls.takeIn(ctx) }

// Ask puts the open question to a person here, or leaves the run to wait for the answer.
func (h Hands) Ask(ctx context.Context, r *journal.Request) error { return h.d.questions.ask(ctx, r) }

// Wait commits, and waits for something to happen: to what the flow began, in the inbox, to the
// open question, or to the run's time.
func (h Hands) Wait(ctx context.Context, happened <-chan struct{}) error {
	if err := h.d.calls.flush(ctx); err != nil {
		return err
	}
	limit, stop := h.d.deadline()
	defer stop()
	select {
	case <-happened:
	case <-h.d.inbox.waker.C():
		if _, err := h.d.inbox.takeAnswer(ctx); err != nil {
			return err
		}
		return h.d.inbox.readInbox(ctx)
	case <-limit:
		h.d.timeIsUp()
	case <-ctx.Done():
	}
	return nil
}

// refold folds the journal of a flow as the flow reads it; the state of any other run is the one
// that is given.
func (d *driver) refold(ctx context.Context, s *recovery.State) (*recovery.State, error) {
	if s.Created.Flow == nil {
		return s, nil
	}
	facts, err := d.p.flowFacts(ctx, s)
	if err != nil {
		return nil, err
	}
	if d.flow == nil {
		d.flow, err = d.p.Flows(s.Created, facts)
	} else {
		err = d.flow.Again(facts) // what it has under way goes on
	}
	if err != nil {
		return nil, unfolded(s.Created.Run, err)
	}
	d.state = d.flow.State()
	d.state.Earlier, d.state.Acting = s.Earlier, s.Acting
	return d.state, nil
}

// unfolded is why a flow cannot be read although its facts match their digests: they contradict
// each other, or a newer binary wrote them, which is no damage.
func unfolded(run string, err error) error {
	if errors.As(err, new(*journal.UnknownFactError)) {
		return fmt.Errorf("read the flow %s: %w", run, err)
	}
	return &db.CorruptError{Run: run, Seq: 1, What: err.Error()}
}

// flowFacts reads the journal of a flow with its secrets, up to where its run was folded.
func (p *Process) flowFacts(ctx context.Context, s *recovery.State) ([]journal.Event, error) {
	run := s.Created.Run
	if p.Flows == nil {
		return nil, fmt.Errorf("claim run %s: it is a flow, and this program carries none out", run)
	}
	facts, err := fold.Facts(p.Reader().Restored(ctx, ignoreLost)(run))
	if err == nil && int64(len(facts)) != s.Seq {
		err = fmt.Errorf("claim run %s: its journal changed while it was read: %w", run, db.ErrLostRace)
	}
	return facts, err
}

// dryRunFlow is DryRun of a flow.
func (p *Process) dryRunFlow(ctx context.Context, s *recovery.State, t Changes, lost []db.Unrecoverable) (plan Plan, err error) {
	j := p.judge()
	notes := slices.Concat(j.changes(s), lostNotes(lost), t.notes(s))
	facts, err := p.flowFacts(ctx, s)
	if err != nil {
		return plan, err
	}
	if j.flow, err = p.Flows(s.Created, facts); err != nil {
		return plan, unfolded(s.Created.Run, err)
	}
	defer j.flow.Close()
	s = j.flow.State()
	if err := j.imagineClaim(ctx, s, t); err != nil {
		return plan, err
	}
	var redone []journal.Rewound
	if t.Redo != "" {
		fact, err := j.flow.Redo(t.Redo)
		if err == nil {
			err = j.imagine(s, fact)
		}
		if err != nil {
			return plan, &RefusedChangeError{s.Created.Run, err.Error()}
		}
		if r, ok := fact.(journal.PhaseRewound); ok {
			redone = r.Phases
		}
	}
	plan = Plan{Run: s.Created.Run, Prompt: opening(p.Store.Redact(s.Created.Prompt))}
	for _, n := range notes {
		plan.Notes = append(plan.Notes, p.Store.Redact(n))
	}
	flow, then, err := j.flow.Plan(ctx, p, true)
	flow.Redone = slices.Concat(redone, flow.Redone)
	plan.Flow, plan.Then = &flow, p.Store.Redact(then)
	return plan, err
}
