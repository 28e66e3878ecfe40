package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/db/dbtest"
	"agent/recovery"
	"agent/recovery/journal"
)

// ask opens a question in a run that has just started.
func ask(t *testing.T, s *Store, h Head, id string, change ...func(*journal.Request)) Head {
	t.Helper()
	return appendAll(t, s, h, events(dbtest.Question(id, change...)), AppendOptions{})
}

// PEND-01, PEND: an open question can be listed, shown and answered from anywhere, exactly once,
// and the owner takes it up exactly once.
func TestAnswerOnce(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	h := ask(t, s, startRun(t, s, "r-askaskas"), "p-askaskas")
	open, err := s.Pending(ctx, false)
	if err != nil || len(open) != 1 || open[0].Request.Message != "go on?" || open[0].Run != h.Run || open[0].Kind != journal.RequestMaxTurns {
		t.Fatalf("%+v %v", open, err)
	}
	if p, err := s.Answered(ctx, h.Run); err != nil || p != nil {
		t.Fatalf("%+v %v", p, err)
	}
	if rows, err := s.Alive(ctx); err != nil || len(rows) != 0 {
		t.Errorf("a run that waits for a person is looked at: %+v %v", rows, err)
	}

	var first, conflicts atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			p, err := s.Answer(ctx, "p-askaskas", json.RawMessage(`"yes"`), fmt.Sprintf("person %d", i))
			var conflict *ConflictError
			switch {
			case err == nil && p.Status == RequestResolved:
				first.Add(1)
			case errors.As(err, &conflict) && string(conflict.First.Answer) == `"yes"` && conflict.First.By != "":
				conflicts.Add(1)
			default:
				t.Error(p, err)
			}
		})
	}
	wg.Wait()
	if first.Load() != 1 || conflicts.Load() != 7 {
		t.Fatalf("%d answers counted and %d were conflicts", first.Load(), conflicts.Load())
	}
	if _, err := s.CancelRequest(ctx, "p-askaskas", "x"); !errors.As(err, new(*ConflictError)) {
		t.Errorf("an answered question was cancelled: %v", err)
	}
	if rows, err := s.Alive(ctx); err != nil || len(rows) != 1 {
		t.Errorf("a run with an answer is not looked at: %+v %v", rows, err)
	}
	p, err := s.Answered(ctx, h.Run)
	if err != nil || p == nil {
		t.Fatal(p, err)
	}
	taken := events(journal.RequestAnswered{ID: p.ID, Answer: p.Answer, By: p.By})
	next := appendAll(t, s, h, taken, AppendOptions{})
	if next.Status != recovery.StatusRunning {
		t.Errorf("the run is %s", next.Status)
	}
	if p, err := s.Answered(ctx, h.Run); err != nil || p != nil {
		t.Errorf("it is still there: %+v %v", p, err)
	}
	if got, err := s.PendingByID(ctx, "p-askaskas"); err != nil || got.ConsumedSeq != next.Seq || !got.Closed.Equal(p.Closed) {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := s.Append(ctx, next, events(journal.RequestAnswered{ID: p.ID, Answer: p.Answer}), AppendOptions{}); !errors.Is(err, ErrLostRace) {
		t.Errorf("an answer was taken up twice: %v", err)
	}
}

// The owner's own answer, given at its terminal, counts only when it is the first.
func TestOwnersAnswer(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	h := ask(t, s, startRun(t, s, "r-ownowner"), "p-ownowner")
	other := ask(t, s, startRun(t, s, "r-otheroth"), "p-otheroth")

	appendAll(t, s, h, events(journal.RequestAnswered{ID: "p-ownowner", Answer: json.RawMessage(`true`), By: "owner"}), AppendOptions{})
	var conflict *ConflictError
	if _, err := s.Answer(ctx, "p-ownowner", json.RawMessage(`false`), "late"); !errors.As(err, &conflict) || conflict.First.By != "owner" {
		t.Errorf("%v", err)
	} else {
		at := conflict.First.Closed.Local().Format(time.DateTime)
		if want := "answer p-ownowner: owner answered it on " + at + " with yes"; err.Error() != want {
			t.Errorf("%q and not %q", err, want)
		}
	}
	_, err := s.CancelRequest(ctx, "p-ownowner", "late")
	if err == nil || !strings.HasPrefix(err.Error(), "cancel p-ownowner: owner answered it on ") {
		t.Errorf("%v", err)
	}

	if _, err := s.Answer(ctx, "p-otheroth", json.RawMessage(`false`), "early"); err != nil {
		t.Fatal(err)
	}
	_, err = s.Append(ctx, other, events(journal.RequestAnswered{ID: "p-otheroth", Answer: json.RawMessage(`true`), By: "owner"}), AppendOptions{})
	if !errors.As(err, &conflict) || string(conflict.First.Answer) != "false" {
		t.Errorf("%v", err)
	}
	_, err = s.Append(ctx, other, events(journal.RequestClosed{ID: "p-otheroth", Status: RequestCancelled, Reason: "run cancelled"}), AppendOptions{})
	if !errors.As(err, &conflict) {
		t.Errorf("an answer was thrown away: %v", err)
	}
	if got := loadAll(t, s, other.Run); len(got) != int(other.Seq) {
		t.Error("a refused batch left something")
	}
}

// A run has at most one open question, and ends together with it.
func TestOneOpenRequest(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	h := ask(t, s, startRun(t, s, "r-oneopeno"), "p-oneopeno")
	second := journal.RequestOpened{Request: journal.Request{ID: "p-secondse", Question: journal.Question{Kind: journal.RequestAskUser}}}
	if _, err := s.Append(ctx, h, events(second), AppendOptions{}); err == nil {
		t.Error("a second question was opened")
	}
	row, err := s.Run(ctx, h.Run)
	if err != nil || row.Pending == nil || row.Pending.ID != "p-oneopeno" || row.Status != recovery.StatusWaiting {
		t.Errorf("%+v %v", row, err)
	}
	h = appendAll(t, s, h, events(journal.RunStopping{Why: journal.StopCancelled}, journal.RunCancelled{Reason: "enough"}), AppendOptions{})
	if p, err := s.PendingByID(ctx, "p-oneopeno"); err != nil || p.Status != RequestCancelled || p.ConsumedSeq != h.Seq {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := s.Answer(ctx, "p-oneopeno", json.RawMessage(`1`), ""); !errors.As(err, new(*ConflictError)) {
		t.Errorf("%v", err)
	}
}

// PEND: a question with a time limit expires on its own, and only such a one.
func TestExpiry(t *testing.T) {
	ctx := context.Background()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	dir := stateDir(t)
	s := openStore(t, dir, func(o *Options) { o.Now = func() time.Time { return now } })
	expires := now.Add(time.Hour)
	h := ask(t, s, startRun(t, s, "r-expiring"), "p-expiring", func(r *journal.Request) { r.Expires = &expires })
	ask(t, s, startRun(t, s, "r-expiring2"), "p-expiring2", func(r *journal.Request) { r.Expires = &expires })
	ask(t, s, startRun(t, s, "r-everever"), "p-everever")
	now = now.Add(59 * time.Minute)
	if n, err := s.Expire(ctx); err != nil || n != 0 {
		t.Fatal(n, err)
	}
	now = now.Add(time.Minute)
	var late *ExpiredError
	if _, err := s.Answer(ctx, "p-expiring", json.RawMessage(`1`), "late"); !errors.As(err, &late) || !late.Request.Expires.Equal(expires) {
		t.Fatalf("%v", err)
	} else if want := "answer p-expiring: it expired on " + expires.Local().Format(time.DateTime); err.Error() != want {
		t.Errorf("%q and not %q", err, want)
	}
	if p, err := s.Answered(ctx, h.Run); err != nil || p == nil || p.Status != RequestExpired {
		t.Fatalf("%+v %v", p, err)
	}
	appendAll(t, s, h, events(journal.RequestClosed{ID: "p-expiring", Status: RequestExpired, Reason: "nobody answered"}), AppendOptions{})
	if n, err := s.Expire(ctx); err != nil || n != 1 {
		t.Errorf("%d requests expired (%v)", n, err)
	}
	reader, err := OpenRead(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if n, err := reader.Expire(ctx); err != nil || n != 0 {
		t.Errorf("where nothing is overdue, something is written: %d, %v", n, err)
	}
	open, err := s.Pending(ctx, false)
	if err != nil || len(open) != 1 || open[0].ID != "p-everever" {
		t.Errorf("%+v %v", open, err)
	}
	if all, err := s.Pending(ctx, true); err != nil || len(all) != 3 {
		t.Errorf("%+v %v", all, err)
	}
}

// RUN-02: a cancel is durable before it is acknowledged, left once, and taken up in the commit that
// journals it.
func TestInbox(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-inboxinb")
	id, err := s.PutInbox(ctx, h.Run, MessageCancel, json.RawMessage(`{"reason":"enough"}`), "person")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.PutInbox(ctx, h.Run, MessageCancel, json.RawMessage(`{"reason":"really"}`), "other"); err != nil || again != id {
		t.Errorf("a second cancel is %d and not %d (%v)", again, id, err)
	}
	word, err := s.PutInbox(ctx, h.Run, MessageRuling, json.RawMessage(`{"word":"happened"}`), "person")
	if err != nil || word == id {
		t.Fatal(word, err)
	}
	if again, err := s.PutInbox(ctx, h.Run, MessageRuling, json.RawMessage(`{"word":"happened"}`), "person"); err != nil || again != word {
		t.Errorf("the same word is %d and not %d (%v)", again, word, err)
	}
	rows, err := s.Inbox(ctx, h.Run)
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	if diff := cmp.Diff(InboxRow{ID: id, Kind: MessageCancel, Body: json.RawMessage(`{"reason":"enough"}`), By: "person", Posted: rows[0].Posted}, rows[0]); diff != "" {
		t.Error(diff)
	}
	next := appendAll(t, s, h, events(journal.RunStopping{Why: journal.StopCancelled, By: "person", Reason: "enough"}), AppendOptions{Consume: []int64{id}})
	if rows, err := s.Inbox(ctx, h.Run); err != nil || len(rows) != 1 || rows[0].ID != word {
		t.Errorf("%+v %v", rows, err)
	}
	if _, err := s.Append(ctx, next, events(journal.RunNoted{Text: "x"}), AppendOptions{Consume: []int64{id}}); !errors.Is(err, ErrLostRace) {
		t.Errorf("a message was taken up twice: %v", err)
	}
	if third, err := s.PutInbox(ctx, h.Run, MessageCancel, nil, ""); err != nil || third == id {
		t.Errorf("a cancel after one that was taken up is %d (%v)", third, err)
	}
	if _, err := s.PutInbox(ctx, "r-nowhere0", MessageCancel, nil, ""); !errors.As(err, new(*UnknownIDError)) {
		t.Errorf("%v", err)
	}
	if _, err := s.PutInbox(ctx, h.Run, "shout", nil, ""); err == nil {
		t.Error("a message of an unknown kind was left")
	}
}

// A run does not complete while a message for its model waits, and one that has ended takes none:
// of the two, one comes first.
func TestMessageAtTheEnd(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-tellatend")
	id, err := s.PutInbox(ctx, h.Run, MessageTell, json.RawMessage(`{"text":"wait"}`), "person")
	if err != nil {
		t.Fatal(err)
	}
	end := journal.RunCompleted{Text: "done"}
	if _, err := s.Append(ctx, h, events(end), AppendOptions{}); !errors.Is(err, ErrMessageWaits) {
		t.Errorf("the run completes over a message: %v", err)
	}
	if now, err := s.Head(ctx, h.Run); err != nil || now.Seq != h.Seq {
		t.Errorf("something was written: %+v, %v", now, err)
	}
	h = appendAll(t, s, h, events(journal.MessageAdded{Text: "wait", By: "person"}, end), AppendOptions{Consume: []int64{id}})
	var late *EndedError
	if _, err := s.PutInbox(ctx, h.Run, MessageTell, json.RawMessage(`{"text":"late"}`), "person"); !errors.As(err, &late) || late.Status != h.Status {
		t.Errorf("a message after the end: %v", err)
	}
	if rows, err := s.Inbox(ctx, h.Run); err != nil || len(rows) != 0 {
		t.Errorf("%+v %v", rows, err)
	}
}
