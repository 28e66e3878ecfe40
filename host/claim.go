package host

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"

	"agent/db"
	"agent/recovery"
	"agent/tools/ofd"
)

// FinishedError says that a run has ended and cannot be driven.
type FinishedError struct{ State *recovery.State }

func (e *FinishedError) Error() string {
	return fmt.Sprintf("claim run %s: it is %s", e.State.Created.Run, e.State.Status)
}

// ErrFolder says that a run's workspace cannot be used. Nothing was run.
var ErrFolder = errors.New("the run's folder cannot be used")

// folding reads a run's journal as who drives it sees it. lost are secrets that cannot be given back.
type folding func(ctx context.Context, run string) (s *recovery.State, lost []db.Lost, err error)

// claimTries bounds how often a claim starts over because the run was marked between its reading and its claim.
const claimTries = 10

// claim takes the lock, reads the journal, and drives the run, which record claims first. The one fact that is written without
// the lock is the mark of a look; a claim that meets it reads the journal again. read folds it.
func (h *Host) claim(ctx context.Context, run string, read folding, record func(context.Context, *driver) error) (out Outcome, err error) {
	err = h.holding(run, func(lock *ofd.File) error {
		for try := 1; ; try++ {
			d, err := h.open(ctx, run, read, lock)
			if err == nil {
				out, err = d.drive(ctx, func(ctx context.Context) error { return record(ctx, d) })
			}
			if out.Run != "" || !errors.Is(err, db.ErrLostRace) || try == claimTries {
				return err
			}
		}
	})
	return out, err
}

// open folds the run's journal under its lock.
func (h *Host) open(ctx context.Context, run string, read folding, lock *ofd.File) (*driver, error) {
	head, err := h.Store.Head(ctx, run)
	if err != nil {
		return nil, err
	}
	s, lost, err := read(ctx, run)
	if err != nil {
		return nil, h.corrupt(ctx, head, err)
	}
	if s.Status.Terminal() {
		return nil, &FinishedError{s}
	}
	if s.Seq != head.Seq {
		return nil, fmt.Errorf("claim run %s: its journal changed while it was read: %w", run, db.ErrLostRace)
	}
	d, err := h.newDriver(s, head, lock)
	if err == nil {
		d.lost = lost
	}
	return d, err
}

// corrupt leaves a run whose journal does not match its digests as interrupted, with the cause; nothing of it runs.
func (h *Host) corrupt(ctx context.Context, head db.Head, err error) error {
	var bad *db.CorruptError
	if !errors.As(err, &bad) {
		return err
	}
	if _, markErr := h.Store.MarkInterrupted(ctx, head, recovery.CauseCorrupt, bad.Error(), h.Now()); markErr != nil {
		return errors.Join(err, markErr)
	}
	return err
}

// claimed records run.claimed together with what changed since the run was last driven.
func (d *driver) claimed(ctx context.Context, t Changes) error {
	s := d.state
	if err := t.possible(s); err != nil {
		return err
	}
	created := s.Created.With(t.claim(s, recovery.RunClaimed{}))
	if err := checkFolder(created); err != nil {
		return err
	}
	if err := d.enter(ctx, created); err != nil {
		return err
	}
	if err := d.h.takeThreadResolutions(ctx, s.Created.Thread, s.Created.Run); err != nil {
		return err
	}
	unknown, err := d.h.Store.Doubts(ctx, s.Created.Thread, s.Created.Run)
	if err != nil {
		return err
	}
	body := t.claim(s, d.judge().claimFact(s, unknown))
	notes := slices.Concat(d.env.Notes, d.judge().changes(s), lostNotes(d.lost), t.notes(s))
	d.record(body)
	for _, n := range notes {
		d.record(recovery.RunNoted{Text: n})
	}
	d.recordAll(t.messages(s, body, d.h.Who))
	return d.flush(ctx)
}

func (j judge) claimFact(s *recovery.State, unknown []recovery.Unknown) recovery.RunClaimed {
	disk := j.disk()
	return recovery.RunClaimed{
		Epoch: s.Epoch + 1, Disk: &disk, PID: j.Self.PID, Boot: j.Self.Boot, Host: j.Self.Host,
		Version: j.Version, ToolsHash: j.tools.Digest(), Unknown: unknown,
	}
}

// checkFolder stops before anything runs when the workspace is gone.
func checkFolder(c recovery.RunCreated) error {
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
func (d *driver) enter(ctx context.Context, c recovery.RunCreated) error {
	env, err := d.h.envOf(ctx, c)
	if err != nil {
		return err
	}
	d.use(env)
	return d.setRules(c.Folder)
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
		files = append([]recovery.Instruction{{Path: c.Source, Digest: c.Digest}}, files...)
	}
	for _, f := range files {
		if now, err := fileDigest(f.Path); err != nil {
			notes = append(notes, fmt.Sprintf("%s cannot be read any more; the recorded text counts", f.Path))
		} else if now != f.Digest {
			notes = append(notes, fmt.Sprintf("%s was edited since; the recorded text counts", f.Path))
		}
	}
	return notes
}

// reading is how the facts of a run are read: as others may see them, or with the secrets in their places.
type reading func(run string) iter.Seq2[recovery.Event, error]

// State reads a run's journal and folds it, with what the thread's earlier runs said: as others may see it, with placeholders
// for its secrets.
func (h *Host) State(ctx context.Context, run string) (*recovery.State, error) {
	return h.whole(ctx, run, h.shown(ctx))
}

// trueState is State for who drives the run: with its secrets. lost are those that cannot be given back.
func (h *Host) trueState(ctx context.Context, run string) (s *recovery.State, lost []db.Lost, err error) {
	s, err = h.whole(ctx, run, h.restored(ctx, func(l db.Lost) { lost = append(lost, l) }))
	return s, lost, err
}

// ownState is trueState without what the thread said before, for who asks the model nothing: damage there is no obstacle.
func (h *Host) ownState(ctx context.Context, run string) (s *recovery.State, lost []db.Lost, err error) {
	s, err = h.fold(run, h.restored(ctx, func(l db.Lost) { lost = append(lost, l) }), nil)
	return s, lost, err
}

// Verify reads a run's journal and folds it; a fact that does not match or cannot follow is a *db.CorruptError. lost are secrets
// that cannot be given back.
func (h *Host) Verify(ctx context.Context, run string, lost func(db.Lost)) error {
	_, err := h.fold(run, h.restored(ctx, lost), nil)
	return err
}

func (h *Host) shown(ctx context.Context) reading {
	return func(run string) iter.Seq2[recovery.Event, error] { return h.Store.Load(ctx, run, 0) }
}

func (h *Host) restored(ctx context.Context, lost func(db.Lost)) reading {
	return func(run string) iter.Seq2[recovery.Event, error] { return h.Store.Restored(ctx, run, 0, lost) }
}

func ignoreLost(db.Lost) {}

func (h *Host) whole(ctx context.Context, run string, read reading) (*recovery.State, error) {
	return h.fold(run, read, func(c recovery.RunCreated) ([]recovery.Message, error) {
		if c.Previous == "" {
			return nil, nil
		}
		return h.transcript(ctx, c.Thread, c.Run, read)
	})
}

// fold reads and folds facts. What the thread said before is known once the run's first fact is, and before its second.
func (h *Host) fold(run string, read reading, earlier func(recovery.RunCreated) ([]recovery.Message, error)) (*recovery.State, error) {
	s := &recovery.State{Acting: h.judge().acting}
	for e, err := range read(run) {
		if err != nil {
			return nil, err
		}
		if err := s.Apply(e); err != nil {
			return nil, &db.CorruptError{Run: run, Seq: e.Seq, What: err.Error()}
		}
		if e.Seq == 1 && earlier != nil {
			if s.Earlier, err = earlier(s.Created); err != nil {
				return nil, err
			}
		}
	}
	if s.Status == recovery.StatusNone {
		return nil, &db.CorruptError{Run: run, Seq: 1, What: "the journal is empty"}
	}
	return s, nil
}

// transcript is what the runs of a thread said, up to but without the run named until.
func (h *Host) transcript(ctx context.Context, thread, until string, read reading) ([]recovery.Message, error) {
	rows, err := h.Store.ThreadRuns(ctx, thread)
	if err != nil {
		return nil, err
	}
	var out []recovery.Message
	for _, row := range rows {
		if row.ID == until {
			break
		}
		s, err := h.fold(row.ID, read, nil)
		if err != nil {
			return nil, err
		}
		said, alone := s.Transcript()
		if alone {
			out = nil
		}
		out = append(out, said...)
	}
	return out, nil
}
