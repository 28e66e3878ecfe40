package drive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"agent/db"
	"agent/db/family"
	"agent/host/drive/bind"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools/ofd"
)

// FinishedError says that a run has ended and cannot be driven.
type FinishedError struct{ State *recovery.State }

func (e *FinishedError) Error() string {
	return fmt.Sprintf("claim run %s: it is %s", e.State.Created.Run, e.State.Status)
}

// MovedError says that a run went to another store: it is driven there, and nothing of it here.
type MovedError struct{ Run, To string }

func (e *MovedError) Error() string {
	return fmt.Sprintf("claim run %s: it went to another store (%s) and goes on there; if it was never taken there, take it back: agent resume --reclaim %s", e.Run, e.To, e.Run)
}

// moved is *MovedError for a run that went to another store.
func moved(s *recovery.State) error {
	if s.Moved == nil {
		return nil
	}
	return &MovedError{s.Created.Run, s.Moved.Store()}
}

// ErrFolder says that a run's workspace cannot be used. Nothing was run.
var ErrFolder = errors.New("the run's folder cannot be used")

// ClaimTries bounds how often a claim starts over because the run was marked between its reading
// and its claim.
const ClaimTries = 10

// claim takes the lock, reads the journal, and drives the run, which record claims first. The one
// fact that is written without the lock is the mark of Reconcile; a claim that meets it reads the
// journal again. read folds it.
func (p *Process) claim(ctx context.Context, run string, read folding, record func(context.Context, *driver) error) (out Outcome, err error) {
	err = Holding(p, run, func(lock *ofd.File) error {
		for try := 1; ; try++ {
			d, err := p.open(ctx, run, read, lock)
			if err == nil {
				out, err = d.drive(ctx, func(ctx context.Context) error { return record(ctx, d) })
			}
			var answered *db.ConflictError // the question that the claim closes, in the same moment
			if out.Run != "" || !errors.Is(err, db.ErrLostRace) && !errors.As(err, &answered) || try == ClaimTries {
				return err
			}
		}
	})
	return out, err
}

// open folds the run's journal under its lock. Step 2.
func (p *Process) open(ctx context.Context, run string, read folding, lock *ofd.File) (*driver, error) {
	head, err := p.Store.Head(ctx, run)
	if err != nil {
		return nil, err
	}
	s, lost, err := read(ctx, run)
	if err != nil {
		return nil, p.corrupt(ctx, head, err)
	}
	if s.Status.Terminal() {
		return nil, &FinishedError{s}
	}
	if err := errors.Join(moved(s), p.InCustody(s.Created)); err != nil {
		return nil, err
	}
	if s.Seq != head.Seq {
		return nil, fmt.Errorf("claim run %s: its journal changed while it was read: %w", run, db.ErrLostRace)
	}
	d, err := p.newDriver(s, head, lock)
	if err != nil {
		return nil, err
	}
	d.policy.lost = lost
	_, err = d.refold(ctx, s)
	return d, err
}

// corrupt leaves a run whose journal does not match its digests as interrupted, with the cause;
// nothing of it runs.
func (p *Process) corrupt(ctx context.Context, head db.Head, err error) error {
	var bad *db.CorruptError
	if !errors.As(err, &bad) {
		return err
	}
	if _, markErr := p.Store.MarkInterrupted(ctx, head, journal.CauseCorrupt, bad.Error(), p.Now()); markErr != nil {
		return errors.Join(err, markErr)
	}
	return err
}

// claimed records run.claimed together with what changed since the run was last driven. Step 1.
func (d *driver) claimed(ctx context.Context, t Changes) error {
	s := d.state
	if err := t.possible(s); err != nil {
		return err
	}
	created := s.Created.With(t.claim(s, journal.RunClaimed{}))
	if err := checkFolder(created); err != nil {
		return err
	}
	if err := d.enter(ctx, created); err != nil {
		return err
	}
	if err := TakeThreadResolutions(ctx, d.p, s.Created); err != nil {
		return err
	}
	unknown, err := d.p.Doubts(ctx, s.Created)
	if err != nil {
		return err
	}
	body := t.claim(s, d.judge().claimFact(s, unknown))
	if body.MovedOn, err = family.Moved(ctx, d.p.Store, s.Created.Run); err != nil {
		return err
	}
	notes := slices.Concat(d.env.Notes, d.judge().changes(s), lostNotes(d.policy.lost), t.notes(s))
	d.record(body)
	again, err := d.p.askedAnew(ctx, s.Open)
	if err != nil {
		return err
	}
	if again != nil {
		d.record(again)
	}
	if t.Redo != "" {
		fact, err := d.flow.Redo(t.Redo)
		if err != nil {
			return &RefusedChangeError{s.Created.Run, err.Error()}
		}
		d.record(fact)
	}
	for _, n := range notes {
		d.record(journal.RunNoted{Text: n})
	}
	d.recordAll(t.messages(s, body, d.p.Who))
	return d.calls.flush(ctx)
}

// askedAnew is the end of an open question that an older version asked, with answers that would
// grant less now than was promised: it is put again without them. Nil where there is none.
func (p *Process) askedAnew(ctx context.Context, r *journal.Request) (journal.Body, error) {
	if r == nil || !recovery.Outdated(*r) {
		return nil, nil
	}
	row, err := p.Store.PendingByID(ctx, r.ID)
	if err != nil || row.Status != db.RequestOpen {
		return nil, err // what was answered counts as it was
	}
	return journal.RequestClosed{ID: r.ID, Status: db.RequestCancelled, Reason: "an older version asked it, and it is asked anew", Again: true}, nil
}

func (j judge) claimFact(s *recovery.State, unknown []journal.Unknown) journal.RunClaimed {
	disk := j.disk()
	return journal.RunClaimed{
		Epoch: s.Epoch + 1, Disk: &disk, PID: j.Self.PID, Boot: j.Self.Boot, Host: j.Self.Host,
		Version: j.Version, ToolsHash: j.tools.Digest(), Unknown: unknown, Detached: j.Detached, Why: j.Why,
	}
}

// checkFolder stops before anything runs when the workspace is gone.
func checkFolder(c journal.RunCreated) error {
	info, err := os.Stat(c.Folder)
	if err == nil && info.IsDir() {
		return nil
	}
	why := "is not a folder"
	if err != nil {
		why = "is not there any more"
	}
	return fmt.Errorf("resume run %s: %w: %s %s; put it back and run: agent resume %s; or say where it is now: agent resume --dir FOLDER %s",
		c.Run, ErrFolder, c.Folder, why, c.Run, c.Run)
}

// enter gives the driver the environment that its run has from now on.
func (d *driver) enter(ctx context.Context, c journal.RunCreated) error {
	env, err := d.p.EnvFor(ctx, c)
	if err != nil {
		return err
	}
	d.use(env)
	return d.policy.setRules(c.Folder)
}

// changes says what is different from when the run was created.
func (j judge) changes(s *recovery.State) []string {
	var notes []string
	c := s.Created
	if c.Version != j.Version {
		notes = append(notes, fmt.Sprintf("the run was started by agent %s, this is %s", c.Version, j.Version))
	}
	if c.ToolsHash != j.tools.Digest() {
		notes = append(notes, "the tools differ from those that the run was started with")
	}
	files := c.Setup.Instructions
	if c.Source != "" {
		files = append([]journal.Instruction{{Path: c.Source, Digest: c.Digest}}, files...)
	}
	for _, f := range files {
		if now, err := bind.FileDigest(f.Path); err != nil {
			notes = append(notes, fmt.Sprintf("%s cannot be read any more; the recorded text counts", f.Path))
		} else if now != f.Digest {
			notes = append(notes, fmt.Sprintf("%s was edited since; the recorded text counts", f.Path)+editedFlow(c, f.Path))
		}
	}
	return notes
}

// editedFlow is how to go on with the edited file of a flow; "" for any other file.
func editedFlow(c journal.RunCreated, path string) string {
	if len(c.Flow) == 0 || path != c.Source {
		return ""
	}
	command := fmt.Sprintf("agent cancel %s && agent run --thread %s -f %s", c.Run, c.Thread, shellWord(path))
	if c.Task != "" {
		command += " " + shellWord(c.Task)
	}
	return "; to go on with the edited one, reusing what it leaves unchanged: " + command
}

// Claim takes a run over and drives it on. shown gets what is replayed before anything runs; each
// further decision is a fact that observers see.
func Claim(ctx context.Context, p *Process, run string, t Changes, shown func(Plan)) (Outcome, error) {
	return p.claim(ctx, run, p.unredacted, func(ctx context.Context, d *driver) error {
		if err := d.claimed(ctx, t); err != nil {
			return err
		}
		fault.Hit(fault.AfterClaim)
		d.calls.forgetLeftovers()
		if err := d.inbox.readInbox(ctx); err != nil {
			return err
		}
		if shown == nil {
			return nil
		}
		plan := d.judge().planFor(ctx, d.state, nil, false)
		if d.flow != nil {
			flow, _, err := d.flow.Plan(ctx, d.p, false)
			if err != nil {
				return err
			}
			plan.Flow = &flow
		}
		shown(plan)
		return nil
	})
}

// ClaimToEnd claims the run and ends it. A folder that is gone is no obstacle: nothing of the run
// is started any more.
func ClaimToEnd(ctx context.Context, p *Process, run string) (Outcome, error) {
	return p.claim(ctx, run, p.ownState, func(ctx context.Context, d *driver) error {
		if d.state.Created.Rewind != nil { // which files its call changed is known to its tool
			env, err := d.p.EnvFor(ctx, d.state.Created)
			if err != nil {
				return err
			}
			d.use(env)
		}
		d.record(d.judge().claimFact(d.state, nil))
		if err := d.calls.flush(ctx); err != nil {
			return err
		}
		if err := d.inbox.readInbox(ctx); err != nil {
			return err
		}
		return d.inbox.cancelled(ctx, p.Who)
	})
}

// lostNotes tells which secrets of a run cannot be given back.
func lostNotes(lost []db.Unrecoverable) []string {
	var notes []string
	seen := map[string]bool{}
	for _, l := range lost {
		if seen[l.ID] {
			continue
		}
		seen[l.ID] = true
		notes = append(notes, fmt.Sprintf("secret %s cannot be given back: %s; the model sees its placeholder, and no call that needs it is run again", l.ID, l.Why))
	}
	return notes
}
