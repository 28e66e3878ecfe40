package db

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agent/db/dbsqlc"
	"agent/db/sqlitefile"
	"agent/db/vault"
	"agent/recovery"
	"agent/recovery/journal"
)

// projection is what a batch changes in the run's own row.
type projection struct {
	epoch      int64
	turns      int64
	calls      int64
	unknown    int64
	keepClaims int64 // 0 when something was brought forward
	claims     int64 // claims after that
	doubted    bool  // a fact may have made a call a started one again without being about it
	status     recovery.Status
	acts       bool // a call starts
}

// rowsError says that a run's rows do not agree with its journal, seen where the fence has said
// that nobody else wrote.
type rowsError struct{ error }

func (e rowsError) Unwrap() error { return e.error }

// mismatch puts a rowsError into what a person is shown: nothing was written, and doctor compares
// rows and journals.
func (s *Store) mismatch(run string, err error) error {
	if !errors.As(err, new(rowsError)) {
		return err
	}
	return &CorruptError{
		Path: s.file.Path(), Run: run, What: "its rows do not agree with its journal", Err: err, Remedy: "see what differs with `agent doctor`",
	}
}

// newProjection reads a batch before it is written. Where the caller gave its fold, that says how
// the run stands.
func newProjection(h Head, facts []fact, o AppendOptions) (projection, error) {
	p, err := readBatch(h, facts, o)
	if o.State != nil {
		p.keepClaims, p.claims, p.status = 0, int64(o.State.Fruitless)+1, o.State.Status
	}
	if o.Status != "" {
		p.status = o.Status
	}
	return p, err
}

func readBatch(h Head, facts []fact, o AppendOptions) (projection, error) {
	p := projection{epoch: h.Epoch, keepClaims: 1, status: h.Status}
	if facts[0].seq == 1 {
		p.status = recovery.StatusNone // its row is there already
	}
	for _, f := range facts {
		to, may := recovery.StatusAfter(p.status, f.body.Kind())
		if !may && (o.Status == "" || h.Status.Terminal()) {
			return p, rowsError{fmt.Errorf("write %s: the run is %s", f.body.Kind(), p.status)}
		}
		switch b := f.body.(type) {
		case journal.RunClaimed:
			if b.Epoch != p.epoch+1 {
				return p, rowsError{fmt.Errorf("claim with epoch %d after %d", b.Epoch, p.epoch)}
			}
			p.epoch, p.doubted = b.Epoch, true
			if b.MovedOn {
				p.progress()
			}
			p.claims++
		case journal.ModelAnswered:
			p.turns++
			p.calls += int64(len(b.Calls))
			p.progress()
		case journal.ContextCompacted:
			p.progress()
		case journal.CallStarted:
			p.acts = true
		case journal.CallSettled:
			if b.Result.Outcome == journal.OutcomeUnknown {
				p.unknown++
			}
			p.progress()
		case journal.RequestAnswered:
			p.doubted = true
			p.progress()
		case journal.RequestClosed:
			p.doubted = true
		case journal.CallJudged:
			if b.Verdict == journal.VerdictAttach {
				p.progress()
			}
		}
		p.status = to
	}
	return p, nil
}

func (p *projection) progress() { p.keepClaims, p.claims = 0, 0 }

// project writes what a fact says into the tables that are read without a journal.
func (s *Store) project(t *tx, h Head, f *fact, next []fact) error {
	ctx := context.Background()
	switch b := f.body.(type) {
	case journal.RunClaimed:
		return claimed(t, h, b)
	case journal.RunInterrupted:
		return t.q.SetRunInterrupted(ctx, string(b.Cause), FirstWords(b.Detail, detailLimit), h.No)
	case journal.RunRestored:
		err := t.q.SetRunInterrupted(ctx, string(journal.CauseRestored), FirstWords(b.Reason, detailLimit), h.No)
		if err == nil && b.Folder != "" {
			err = t.q.SetRunFolder(ctx, b.Folder, h.No)
		}
		return err
	case journal.RunExported:
		return t.q.SetRunInterrupted(ctx, string(journal.CauseMoved), FirstWords("to "+b.Store(), detailLimit), h.No)
	case journal.RunStopping:
		return t.q.SetRunStopReason(ctx, FirstWords(b.Reason, detailLimit), h.No)
	case journal.RunFailed:
		return t.q.SetRunStopReason(ctx, FirstWords(b.Reason, detailLimit), h.No)
	case journal.RunCancelled:
		return t.q.SetRunStopReason(ctx, FirstWords(b.Reason, detailLimit), h.No)
	case journal.ModelAnswered:
		return proposed(t, h, f, b, next)
	case journal.CallJudged:
		return judged(t, h, b)
	case journal.CallStarted:
		if f.projected {
			return nil // with its answer
		}
		return changedOne(b.Place)(t.q.StartCall(ctx, dbsqlc.StartCallParams{
			Attempt: int64(b.Attempt), Seq: f.seq, Now: f.row.Time, RunNo: h.No, Turn: int64(b.Turn), Idx: int64(b.Index),
		}))
	case journal.CallSettled:
		if f.projected {
			return nil // with others of its turn
		}
		return settled(t, h, f, b, next)
	case journal.CallResolved:
		return resolvedCall(t, h, b)
	case journal.RequestOpened:
		return opened(t, h, f, b.Request)
	case journal.RequestAnswered:
		if b.Mode != "" {
			if err := t.q.SetRunMode(ctx, string(b.Mode), h.No); err != nil {
				return err
			}
		}
		return s.answered(t, h, f, b)
	case journal.RequestClosed:
		return s.closedRequest(t, h, f, b)
	case journal.FilesChanged:
		return filesChanged(t, h, b)
	case journal.CommitSeen:
		return commitSeen(t, h, f, b)
	}
	return nil
}

func claimed(t *tx, h Head, b journal.RunClaimed) error {
	ctx := context.Background()
	model, detached := "", int64(0)
	if b.Model != nil {
		model = b.Model.Name
	}
	if b.Detached {
		detached = 1
	}
	err := t.q.SetRunClaimed(ctx, dbsqlc.SetRunClaimedParams{
		Pid: int64(b.PID), Boot: b.Boot, Host: b.Host, Version: b.Version, Tools: b.ToolsHash, Mode: string(b.Mode), Model: model, Folder: b.Folder,
		Detached: detached, No: h.No,
	})
	if err != nil || b.Limits == nil {
		return err
	}
	return t.q.SetRunMaxTurns(ctx, int64(b.Limits.MaxTurns), h.No)
}

// changedOne turns the count of changed rows into an error about a call.
func changedOne(p journal.Place) func(int64, error) error { return changed(p, 1) }

// changed is changedOne for several calls of a turn, of which p is the first.
func changed(p journal.Place, calls int) func(int64, error) error {
	return func(n int64, err error) error {
		if err == nil && int(n) != calls {
			err = rowsError{errors.New("there is no such call without a result")}
		}
		if err != nil {
			return fmt.Errorf("call %s: %w", p, err)
		}
		return nil
	}
}

// judged puts a call that is to run once more back before its start.
func judged(t *tx, h Head, b journal.CallJudged) error {
	if b.Verdict != journal.VerdictRun && b.Verdict != journal.VerdictAgain {
		return nil
	}
	return setPhase(t, h, b.Place, journal.PhaseProposed)
}

func setPhase(t *tx, h Head, p journal.Place, phase journal.Phase) error {
	return changedOne(p)(t.q.SetCallPhase(context.Background(), string(phase), h.No, int64(p.Turn), int64(p.Index)))
}

// looked brings the calls of the last turn to what the fold says after a claim, or after the end of
// a question that was open over one: both may change how calls stand without a fact about them.
func looked(t *tx, h Head, s *recovery.State) error {
	if s == nil || len(s.Turns) == 0 {
		return nil
	}
	for _, c := range s.Turns[len(s.Turns)-1].Calls {
		if c.Phase == journal.PhaseSettled {
			continue
		}
		if err := setPhase(t, h, c.Place, c.Phase); err != nil {
			return err
		}
	}
	return nil
}

// resolvedCall keeps a person's decision beside the call. One about another run's call counts for
// this run only: that run keeps it in its own journal.
func resolvedCall(t *tx, h Head, b journal.CallResolved) error {
	if b.Run != "" && b.Run != h.Run {
		return nil
	}
	p := dbsqlc.ResolveCallParams{Resolved: string(b.Word), RunNo: h.No, Turn: int64(b.Turn), Idx: int64(b.Index)}
	n, err := t.q.ResolveCall(context.Background(), p)
	if err == nil && n == 0 && b.Word == journal.WordRun { // of a call that a person settled before, it counts nothing
		p.Happened = 1
		if n, err = t.q.ResolveCall(context.Background(), p); n > 0 {
			return err
		}
	}
	if err != nil {
		return fmt.Errorf("call %s: %w", b.Place, err)
	}
	if n == 0 {
		return rowsError{fmt.Errorf("call %s: its outcome is not unknown", b.Place)}
	}
	if !b.Word.Settles() {
		return nil
	}
	return t.q.AddRunUnknown(context.Background(), -1, h.No)
}

func opened(t *tx, h Head, f *fact, r journal.Request) error {
	p := dbsqlc.AddRequestParams{
		ID: r.ID, RunNo: h.No, Kind: string(r.Kind), OpenedAt: f.row.Time, OpenedSeq: f.seq,
	}
	if r.Expires != nil {
		at := r.Expires.UnixMicro()
		p.ExpiresAt = &at
	}
	if err := t.q.AddRequest(context.Background(), p); err != nil {
		if sqlitefile.IsTaken(err) {
			return fmt.Errorf("open request %s: %w", r.ID, ErrIDTaken)
		}
		return fmt.Errorf("open request %s: %w", r.ID, err)
	}
	return nil
}

const (
	wordsLimit  = 200  // of a prompt in its run's row, characters
	detailLimit = 1000 // of a reason in its run's row, characters
)

// FirstWords is the beginning of a text. A placeholder that begins in it is whole.
func FirstWords(s string, limit int) string {
	n := 0
	for i := range s {
		if n < limit {
			n++
			continue
		}
		if at := strings.LastIndex(s[:i], vault.Placeholder); at >= 0 && !strings.Contains(s[at:i], "]") {
			if end := strings.IndexByte(s[at:], ']'); end >= 0 && end < 200 {
				return s[:at+end+1]
			}
		}
		return s[:i]
	}
	return s
}
