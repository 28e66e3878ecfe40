package db

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"agent/db/blob"
	"agent/db/dbsqlc"
	"agent/db/keep"
	"agent/db/sqlitefile"
	"agent/db/vault"
	"agent/recovery"
	"agent/recovery/journal"
)

// Head is what a writer last saw of a run. It is what the next write is conditional on.
type Head struct {
	No     int64 // the run's number, half of its facts' keys
	Run    string
	Thread string
	Epoch  int64
	Seq    int64  // of the last fact
	Turns  int    // answers of the model so far
	Digest []byte // of the last fact
	Status recovery.Status
}

// ThreadRef names the thread of a new run.
type ThreadRef struct {
	ID     string
	Folder string // of a new thread: where it works
	New    bool   // the thread is created with the run
}

// AppendOptions is what is written in the same transaction as the facts.
type AppendOptions struct {
	Kept    []keep.Row      // contents that the facts name; from Contents.Stage
	Consume []int64         // messages of the run's inbox that the facts take up
	State   *recovery.State // the journal's fold with the facts applied; the rows beside the journal follow it
	Status  recovery.Status // where the run stands after them, for a caller without a fold; empty: from the facts
}

// Create writes a new run: its row, its first facts (the first is journal.RunCreated) and, when
// asked, its thread, in one transaction. A thread whose latest run has not ended gives
// *ThreadBusyError, a start key that a run has *StartKeyError, one that a removed run had
// *PrunedError, an id that exists or did ErrIDTaken. Like Append it fills in events.
func (s *Store) Create(ctx context.Context, thread ThreadRef, events []journal.Event) (Head, error) {
	if !s.file.Writable() {
		return Head{}, fmt.Errorf("create run: %w", ErrReadOnly)
	}
	if len(events) == 0 || events[0].Body.Kind() != journal.KindRunCreated {
		return Head{}, errors.New("create run: its first fact is not run.created")
	}
	created := events[0].Body.(journal.RunCreated)
	run := created.Run
	if thread.Folder != created.Folder {
		thread.Folder = s.Redact(thread.Folder)
	} else {
		thread.Folder = "" // as it is stored of the run
	}
	var h Head
	err := s.record(Head{Run: run}, events, func(b batch) error {
		if b.facts[0].body.(journal.RunCreated).StartKey != created.StartKey {
			return ErrSecretKey
		}
		return s.write(ctx, func(t *tx) error {
			var err error
			if h, err = s.createRun(t, thread, b); sqlitefile.IsTaken(err) {
				return ErrIDTaken
			}
			if err != nil {
				return err
			}
			return ended(s, t, h)
		})
	})
	if err != nil {
		return Head{}, fmt.Errorf("create run %s: %w", run, err)
	}
	return h, nil
}

// batch is facts as they are stored, with what goes beside them.
type batch struct {
	facts []fact
	blobs []blob.Row
}

// record encodes events and has them written. Where another secret was found to have the name of
// one of theirs, they are encoded once more, with a longer name.
func (s *Store) record(h Head, events []journal.Event, write func(batch) error) error {
	said := make([]journal.Body, len(events))
	for i, e := range events {
		said[i] = e.Body
	}
	for try := 1; ; try++ {
		var b batch
		var err error
		if b.facts, err = s.prepare(h, events); err == nil {
			b.blobs, err = s.stage(b.facts)
		}
		if err == nil {
			s.file.KeepBallast()
			err = write(b)
		}
		if errors.Is(err, vault.ErrNameTaken) && try < vault.Names() {
			for i := range events {
				events[i].Body = said[i]
			}
			continue
		}
		if err == nil {
			for i := range b.facts {
				s.vault.Stored(h.Run, b.facts[i].secrets)
			}
		}
		return err
	}
}

func (s *Store) createRun(t *tx, ref ThreadRef, b batch) (Head, error) {
	ctx := context.Background()
	facts, c := b.facts, b.facts[0].body.(journal.RunCreated)
	if t.Again {
		if r, err := t.q.GetRun(ctx, c.Run); err == nil {
			h := Head{No: r.No, Run: r.ID, Thread: r.Thread, Status: recovery.StatusQueued}
			return s.replayed(t, r, h, facts)
		} else if !errors.Is(err, sql.ErrNoRows) {
			return Head{}, err
		}
	}
	if r, err := startedWith(ctx, t.q, c.StartKey); err != nil {
		return Head{}, err
	} else if r != nil {
		return Head{}, &StartKeyError{Run: r.ID}
	}
	if ref.Folder == "" {
		ref.Folder = c.Folder
	}
	if at, err := pruned(ctx, t.q, c.Run); err != nil {
		return Head{}, err
	} else if !at.IsZero() {
		return Head{}, ErrIDTaken
	}
	err := s.openThread(t, ref, c, facts[0].row.Time)
	if err != nil {
		return Head{}, err
	}
	row, err := runParams(ctx, t.q, c, facts[0].row.Time)
	if err != nil {
		return Head{}, err
	}
	no, err := t.q.CreateRun(ctx, row)
	if err != nil {
		return Head{}, err
	}
	h := Head{No: no, Run: c.Run, Thread: c.Thread, Status: recovery.StatusQueued}
	prev := h.Digest
	for i := range facts {
		prev = facts[i].chain(no, prev)
	}
	return s.appendFacts(t, h, b, AppendOptions{})
}

// Append writes facts at the end of a run's journal, with their projections, in one transaction. It
// is conditional on h: when status, epoch or last sequence number are others by now, nothing is
// written and the error is ErrLostRace. A journal.RunClaimed among the facts moves the epoch by
// one. Facts that answer a request fail with *ConflictError when it was answered otherwise, and the
// completion of a run with ErrMessageWaits while a message for its model was not taken.
//
// Append fills in what the caller left open (Seq, Time) and replaces each body in events by what
// was stored of it, with placeholders for secrets: that is what others may see. Once it returns
// without an error the facts survive SIGKILL and power loss. After *CommitError nobody knows
// whether they are kept, and nothing more is written; after any other error none of them is, and
// the store goes on.
func (s *Store) Append(ctx context.Context, h Head, events []journal.Event, o AppendOptions) (Head, error) {
	if !s.file.Writable() {
		return h, fmt.Errorf("append to run %s: %w", h.Run, ErrReadOnly)
	}
	if len(events) == 0 {
		return h, nil
	}
	next := h
	err := s.record(h, events, func(b batch) error {
		return s.write(ctx, func(t *tx) error {
			if t.Again {
				if r, err := t.q.GetRunByNo(context.Background(), h.No); err != nil {
					return err
				} else if r.LastSeq >= b.facts[len(b.facts)-1].seq {
					next, err = s.replayed(t, r, h, b.facts)
					return err
				}
			}
			var err error
			if next, err = s.appendFacts(t, h, b, o); err == nil && !h.Status.Terminal() {
				err = errors.Join(unheard(t, next), ended(s, t, next))
			}
			return err
		})
	})
	if err = s.mismatch(h.Run, err); err != nil {
		return h, fmt.Errorf("append to run %s: %w", h.Run, err)
	}
	return next, nil
}

// replayed is for facts that a commit has kept although it reported an error. That they are ours,
// the digest says.
func (s *Store) replayed(t *tx, r dbsqlc.Run, h Head, facts []fact) (Head, error) {
	last := &facts[len(facts)-1]
	prev := h.Digest
	for i := range facts {
		prev = facts[i].chain(r.No, prev)
	}
	have, err := t.q.GetDigest(context.Background(), last.row.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return h, ErrLostRace
	}
	if err != nil {
		return h, err
	}
	if !bytes.Equal(have, last.row.Digest) || r.LastSeq != last.seq {
		return h, ErrLostRace
	}
	h.No, h.Epoch, h.Seq, h.Digest, h.Turns = r.No, r.Epoch, r.LastSeq, have, int(r.Turns)
	h.Status = recovery.Status(r.Status)
	return h, nil
}

// appendFacts is the transaction of Append: fence, rows, projections.
func (s *Store) appendFacts(t *tx, h Head, b batch, o AppendOptions) (Head, error) {
	ctx, facts := context.Background(), b.facts
	p, err := newProjection(h, facts, o)
	if err != nil {
		return h, err
	}
	last := &facts[len(facts)-1]
	n, err := t.q.AdvanceRun(ctx, dbsqlc.AdvanceRunParams{
		Seq: last.seq, Epoch: p.epoch, Now: last.row.Time, Turns: p.turns, Calls: p.calls, Unknown: p.unknown,
		KeepClaims: p.keepClaims, Claims: p.claims,
		No: h.No, OldSeq: h.Seq, OldEpoch: h.Epoch, OldStatus: string(h.Status),
	})
	if err != nil {
		return h, err
	}
	if n == 0 {
		return h, ErrLostRace
	}
	if err := addBodies(t, b.blobs, o.Kept); err != nil {
		return h, err
	}
	for i := range facts {
		if err := s.vault.Add(t.q, facts[i].secrets); err != nil {
			return h, err
		}
		if r := facts[i].environment; r != nil {
			if err := t.q.AddEnvironment(ctx, r.ID, r.Sealed); err != nil {
				return h, err
			}
		}
	}
	if err := addFacts(t, facts); err != nil {
		return h, err
	}
	for i := range facts {
		if err := s.project(t, h, &facts[i], facts[i+1:]); err != nil {
			return h, err
		}
	}
	if p.doubted {
		if err := looked(t, h, o.State); err != nil {
			return h, err
		}
	}
	for _, id := range o.Consume {
		if err := consumeMessage(t, id, h.No, last.seq); err != nil {
			return h, err
		}
	}
	if err := setStatus(t, h, p.status, last); err != nil {
		return h, err
	}
	stands := h.Epoch == p.epoch && h.Status == p.status && !p.acts
	h.Epoch, h.Seq, h.Digest, h.Status, h.Turns = p.epoch, last.seq, last.row.Digest, p.status, h.Turns+int(p.turns)
	t.Note(markOf(h, !stands))
	return h, nil
}

// setStatus moves the run's status. A run that ends takes its open request with it.
func setStatus(t *tx, h Head, to recovery.Status, last *fact) error {
	if to == h.Status {
		return nil
	}
	var ended *int64
	if to.Terminal() {
		ended = &last.row.Time
		if err := t.q.CancelRequestsOfRun(context.Background(), ended, &last.seq, h.No); err != nil {
			return err
		}
	}
	return t.q.SetRunStatus(context.Background(), string(to), ended, h.No)
}

func consumeMessage(t *tx, id, no, seq int64) error {
	n, err := t.q.ConsumeMessage(context.Background(), &seq, id, no)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("take message %d: %w", id, ErrLostRace)
	}
	return nil
}

// MarkInterrupted appends the one fact that someone else than a run's owner may write: that it is
// gone. The caller has seen that the run's lock is free. It says false when the run has moved on
// since h, or has nothing to interrupt. An interrupted run only gets a new cause, and only
// journal.CauseCorrupt: its journal stays as it is.
func (s *Store) MarkInterrupted(ctx context.Context, h Head, cause journal.Cause, detail string, t time.Time) (bool, error) {
	var err error
	switch {
	case h.Status.Terminal(), h.Status == recovery.StatusInterrupted && cause != journal.CauseCorrupt:
		return false, nil
	case h.Status == recovery.StatusInterrupted:
		err = s.setCause(ctx, h, cause, detail)
	default:
		events := []journal.Event{{Turn: h.Turns, Time: t, Body: journal.RunInterrupted{Cause: cause, Detail: detail}}}
		_, err = s.Append(ctx, h, events, AppendOptions{})
	}
	if errors.Is(err, ErrLostRace) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("mark run as interrupted: %w", err)
	}
	return true, nil
}

func (s *Store) setCause(ctx context.Context, h Head, cause journal.Cause, detail string) error {
	if !s.file.Writable() {
		return ErrReadOnly
	}
	detail = s.Redact(detail)
	return s.write(ctx, func(t *tx) error {
		r, err := t.q.GetRunByNo(context.Background(), h.No)
		if err != nil {
			return err
		}
		if r.LastSeq != h.Seq || r.Epoch != h.Epoch || r.Status != string(h.Status) {
			return ErrLostRace
		}
		return t.q.SetRunInterrupted(context.Background(), string(cause), FirstWords(detail, detailLimit), h.No)
	})
}

// runParams are the columns of a run's row that its first fact gives. q reads the runs above it.
func runParams(ctx context.Context, q *dbsqlc.Queries, c journal.RunCreated, now int64) (dbsqlc.CreateRunParams, error) {
	p := dbsqlc.CreateRunParams{
		ID: c.Run, Thread: c.Thread, Previous: c.Previous, Folder: c.Folder, Words: FirstWords(c.Prompt, wordsLimit),
		Model: c.Model, Mode: string(c.Mode), MaxTurns: int64(c.Limits.MaxTurns), Version: c.Version, Tools: c.ToolsHash,
		StartKey: c.StartKey, StartDigest: c.StartDigest, Name: c.Name, RootThread: c.RootThread, Role: c.Role, CreatedAt: now,
	}
	var err error
	if c.Parent != "" {
		p.ParentNo, err = numberOfRun(ctx, q, c.Parent)
	}
	if c.Root != "" && err == nil {
		p.RootNo, err = numberOfRun(ctx, q, c.Root)
	}
	return p, err
}

func numberOfRun(ctx context.Context, q *dbsqlc.Queries, id string) (int64, error) {
	r, err := q.GetRun(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, &UnknownIDError{Kind: 'r', Text: id}
	}
	return r.No, err
}
