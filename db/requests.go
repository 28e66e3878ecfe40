package db

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agent/db/dbsqlc"
	"agent/recovery/journal"
)

// Statuses of a pending request.
const (
	RequestOpen      = "open"
	RequestResolved  = "resolved"
	RequestCancelled = "cancelled"
	RequestExpired   = "expired"
)

// RequestStatuses lists the statuses of a pending request.
func RequestStatuses() []string {
	return []string{RequestOpen, RequestResolved, RequestCancelled, RequestExpired}
}

// PendingRow is a question to a person.
type PendingRow struct {
	ID      string
	Run     string
	Thread  string
	Kind    journal.RequestKind
	Status  string
	Request journal.Request // what is asked
	Answer  json.RawMessage
	By      string
	Opened  time.Time
	Expires time.Time // zero: never
	Closed  time.Time // zero while it is open

	OpenedSeq   int64
	ConsumedSeq int64 // the fact by which the run's owner took the end; 0 until then

	// Damaged says, in a list, that the record of the question cannot be read or does not match its
	// digest or this row. Then Request holds nothing that was asked.
	Damaged error
}

// Requests are the questions to persons. Each gets its end exactly once, from anybody.
type Requests struct{ Journal }

// Pending lists the open requests, or every one, from the oldest to the newest.
func (s Requests) Pending(ctx context.Context, all bool) ([]PendingRow, error) {
	var out []PendingRow
	err := s.read(ctx, "list pending requests", func(q *dbsqlc.Queries) error {
		list := q.OpenRequests
		if all {
			list = q.AllRequests
		}
		rows, err := list(ctx)
		if err != nil {
			return err
		}
		out, err = s.pendingRows(ctx, q, rows)
		return err
	})
	return out, err
}

// PendingByID reads one request. The id is whole.
func (s Requests) PendingByID(ctx context.Context, id string) (PendingRow, error) {
	var out PendingRow
	err := s.read(ctx, "read request "+id, func(q *dbsqlc.Queries) error {
		var err error
		out, err = s.requestByID(ctx, q, id)
		return err
	})
	return out, err
}

// Answered is the run's request that has its end (answered, cancelled, expired) and whose owner has
// not taken it up yet; nil when there is none. It is as others may see it; AnswerFor is for the
// owner.
func (s Requests) Answered(ctx context.Context, run string) (*PendingRow, error) {
	var out *PendingRow
	err := s.read(ctx, "look for an answer for run "+run, func(q *dbsqlc.Queries) error {
		r, err := q.UnconsumedRequestOfRun(ctx, run)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		p, err := s.pendingRow(ctx, q, r)
		out = &p
		return err
	})
	return out, err
}

// AnswerFor is Answered for the run's owner: the answer has its true values.
func (s Requests) AnswerFor(ctx context.Context, run string) (*PendingRow, error) {
	p, err := s.Answered(ctx, run)
	if err != nil || p == nil {
		return p, err
	}
	answer, err := s.RestoreText(ctx, string(p.Answer))
	if err != nil {
		return nil, err
	}
	if p.Answer != nil {
		p.Answer = json.RawMessage(answer)
	}
	p.By, err = s.RestoreText(ctx, p.By)
	return p, err
}

// Answer gives a request its answer, exactly once, whatever the run's status: whoever comes second
// gets *ConflictError with the first answer. One that was open for too long becomes expired and
// gives *ExpiredError. The run's owner takes the answer up (RequestAnswered) when it sees it.
func (s Requests) Answer(ctx context.Context, id string, answer json.RawMessage, by string) (PendingRow, error) {
	data, secrets, err := s.vault.Encode(answer)
	if err != nil {
		return PendingRow{}, fmt.Errorf("answer %s: %w", id, err)
	}
	by, more, err := s.vault.EncodeText(by)
	if err != nil {
		return PendingRow{}, fmt.Errorf("answer %s: %w", id, err)
	}
	text, secrets := string(data), append(secrets, more...)
	out, err := s.end(ctx, "answer", id, func(t *tx, now int64) (int64, error) {
		if err := s.vault.Add(t.q, secrets); err != nil {
			return 0, err
		}
		return t.q.ResolveRequest(context.Background(), &text, by, &now, id)
	})
	if err == nil {
		s.vault.Stored(out.Run, secrets)
	}
	return out, err
}

// CancelRequest ends a request without an answer, exactly once, like Answer.
func (s Requests) CancelRequest(ctx context.Context, id, by string) (PendingRow, error) {
	by = s.Redact(by)
	return s.end(ctx, "cancel", id, func(t *tx, now int64) (int64, error) {
		return t.q.CloseRequest(context.Background(), RequestCancelled, by, &now, id)
	})
}

// Expire ends the requests whose time is over and says how many there were. Where there is none it
// writes nothing.
func (s Requests) Expire(ctx context.Context) (int, error) {
	now, over := s.now().UnixMicro(), false
	err := s.read(ctx, "look for requests whose time is over", func(q *dbsqlc.Queries) (err error) {
		over, err = q.RequestsAreOver(ctx, &now)
		return err
	})
	var n int64
	switch {
	case err != nil || !over:
		return 0, err
	case !s.file.Writable():
		err = ErrReadOnly
	default:
		err = s.write(ctx, func(t *tx) (err error) { n, err = t.q.ExpireRequests(context.Background(), &now); return err })
	}
	if err != nil {
		return 0, fmt.Errorf("expire requests: %w", err)
	}
	return int(n), nil
}

// end is the one way out of open: a compare-and-set on the request's row.
func (s Requests) end(ctx context.Context, doing, id string, set func(*tx, int64) (int64, error)) (PendingRow, error) {
	if !s.file.Writable() {
		return PendingRow{}, fmt.Errorf("%s %s: %w", doing, id, ErrReadOnly)
	}
	now := s.now()
	var out PendingRow
	var refused error // is reported although the transaction stands
	err := s.write(ctx, func(t *tx) error {
		out, refused = PendingRow{}, nil
		p, err := s.requestByID(context.Background(), t.q, id)
		if err != nil {
			return err
		}
		ours := t.Again && p.Closed.Equal(now)
		switch {
		case ours: // a commit that reported an error has kept it
		case p.Status != RequestOpen:
			refused = &ConflictError{First: p, Doing: doing}
			return nil
		case !p.Expires.IsZero() && !p.Expires.After(now):
			refused = &ExpiredError{Request: p, Doing: doing}
			at := now.UnixMicro()
			_, err := t.q.CloseRequest(context.Background(), RequestExpired, "", &at, id)
			return err
		default:
			if n, err := set(t, now.UnixMicro()); err != nil || n != 1 {
				return errors.Join(err, wrongCount(n))
			}
		}
		out, err = s.requestByID(context.Background(), t.q, id)
		return err
	})
	if err == nil && refused != nil {
		return out, refused // says itself what it is about
	}
	if err != nil {
		return out, fmt.Errorf("%s %s: %w", doing, id, err)
	}
	return out, nil
}

func wrongCount(n int64) error {
	if n == 1 {
		return nil
	}
	return fmt.Errorf("%d rows were changed instead of one", n)
}

// answered takes up the answer of a request: the one in its row, or the owner's own, which must
// then be the first.
func (s Requests) answered(t *tx, h Head, f *fact, b journal.RequestAnswered) error {
	ctx := context.Background()
	p, err := s.requestByID(ctx, t.q, b.ID)
	if err != nil {
		return err
	}
	if p.Status == RequestOpen {
		text := string(b.Answer)
		if _, err := t.q.ResolveRequest(ctx, &text, b.By, &f.row.Time, b.ID); err != nil {
			return err
		}
	} else if same, err := s.SameText(ctx, string(p.Answer), string(b.Answer)); err != nil {
		return err
	} else if p.Status != RequestResolved || !same {
		return &ConflictError{First: p}
	}
	return consume(t, h, f, p)
}

// compacted is JSON without the white space that the journal leaves out.
func compacted(text json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return string(text) // not JSON: it stands as it was written
	}
	return b.String()
}

// SameText compares stored texts by what they stand for: who wrote one may have known of a secret
// that the other did not.
func (s Journal) SameText(ctx context.Context, a, b string) (bool, error) {
	if a == b {
		return true, nil
	}
	a, err := s.RestoreText(ctx, a)
	if err != nil {
		return false, err
	}
	b, err = s.RestoreText(ctx, b)
	return a == b, err
}

// closedRequest takes up the end of a request that nobody answered.
func (s Requests) closedRequest(t *tx, h Head, f *fact, b journal.RequestClosed) error {
	ctx := context.Background()
	p, err := s.requestByID(ctx, t.q, b.ID)
	if err != nil {
		return err
	}
	if p.Status == RequestOpen {
		if _, err := t.q.CloseRequest(ctx, b.Status, "", &f.row.Time, b.ID); err != nil {
			return err
		}
	} else if p.Status == RequestResolved {
		return &ConflictError{First: p}
	}
	return consume(t, h, f, p)
}

func consume(t *tx, h Head, f *fact, p PendingRow) error {
	n, err := t.q.ConsumeRequest(context.Background(), &f.seq, p.ID, h.No)
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("take up the end of request %s: %w", p.ID, ErrLostRace)
	}
	return nil
}

func (s Journal) requestByID(ctx context.Context, q *dbsqlc.Queries, id string) (PendingRow, error) {
	r, err := q.GetRequest(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return PendingRow{}, &UnknownIDError{Kind: 'p', Text: id}
	}
	if err != nil {
		return PendingRow{}, err
	}
	return s.pendingRow(ctx, q, r)
}

// openRequests lists the open requests of runs.
func openRequests(ctx context.Context, q *dbsqlc.Queries, runs []int64) ([]dbsqlc.Request, error) {
	list, err := marshalNumbers(runs)
	if err != nil {
		return nil, err
	}
	return q.OpenRequestsOfRuns(ctx, list)
}

func (s Journal) pendingRows(ctx context.Context, q *dbsqlc.Queries, rows []dbsqlc.Request) ([]PendingRow, error) {
	out := make([]PendingRow, 0, len(rows))
	for _, r := range rows {
		p, err := s.pendingRow(ctx, q, r)
		if bad := (*CorruptError)(nil); errors.As(err, &bad) { // one question must not hide the others
			p.Damaged, p.Request, p.Answer = err, journal.Request{ID: p.ID}, nil
		} else if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// pendingRow reads what is asked from the journal, where it stands once.
func (s Journal) pendingRow(ctx context.Context, q *dbsqlc.Queries, r dbsqlc.Request) (PendingRow, error) {
	p := PendingRow{
		ID: r.ID, Run: r.Run, Thread: r.Thread, Kind: journal.RequestKind(r.Kind), Status: r.Status, By: r.AnsweredBy,
		Opened: timeOf(r.OpenedAt), Expires: timeOrZero(r.ExpiresAt), Closed: timeOrZero(r.ClosedAt), OpenedSeq: r.OpenedSeq,
	}
	if r.Answer != nil {
		p.Answer = json.RawMessage(*r.Answer)
	}
	if r.ConsumedSeq != nil {
		p.ConsumedSeq = *r.ConsumedSeq
	}
	body, err := s.bodyAt(ctx, q, r.Run, r.RunNo, r.OpenedSeq)
	if err != nil {
		return p, err
	}
	asked, ok := body.(journal.RequestOpened)
	if !ok {
		return p, s.corrupt(r.Run, r.OpenedSeq, "it is not the question of "+r.ID, nil)
	}
	p.Request = asked.Request
	if what := p.differs(); what != "" {
		return p, s.corrupt(r.Run, r.OpenedSeq, what, nil)
	}
	return p, s.sameEnd(ctx, q, r.RunNo, &p)
}

// differs says in what a row is not as its question stands in the journal; "" when it is.
func (p *PendingRow) differs() string {
	expires := time.Time{}
	if p.Request.Expires != nil {
		expires = p.Request.Expires.Truncate(time.Microsecond)
	}
	switch {
	case p.Request.ID != p.ID:
		return "it is the question of " + p.Request.ID + " and not of " + p.ID
	case p.Request.Kind != p.Kind:
		return fmt.Sprintf("its question %s is %s and not %s", p.ID, p.Request.Kind, p.Kind)
	case !expires.Equal(p.Expires):
		return "its question " + p.ID + " is open for another time"
	}
	return ""
}

// sameEnd compares an answer that the run's owner took with the fact by which it did. One that
// nobody took is only here.
func (s Journal) sameEnd(ctx context.Context, q *dbsqlc.Queries, no int64, p *PendingRow) error {
	if p.ConsumedSeq == 0 || p.Status != RequestResolved {
		return nil
	}
	body, err := s.bodyAt(ctx, q, p.Run, no, p.ConsumedSeq)
	if err != nil {
		return err
	}
	b, ok := body.(journal.RequestAnswered)
	same := ok && b.ID == p.ID
	if was, is := compacted(b.Answer), compacted(p.Answer); same && was != is {
		same, err = s.SameText(ctx, was, is)
		same = same || err != nil // a secret in it that cannot be restored leaves nothing to compare
	}
	if !same {
		return s.corrupt(p.Run, p.ConsumedSeq, "it is not the answer that stands with question "+p.ID, nil)
	}
	return nil
}
