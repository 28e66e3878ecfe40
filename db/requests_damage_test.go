package db

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agent/recovery/journal"
)

// A question that was cut or changed on disk is never shown as if it had been asked: a list names
// it and still holds the others, and whoever asks for it alone is refused.
func TestChangedQuestionIsNotShown(t *testing.T) {
	cases := map[string]string{
		"a letter of it":      "UPDATE journal SET body = replace(body, 'delete', 'create') WHERE id = (1 << 24) | 4",
		"its end is cut off":  "UPDATE journal SET body = substr(body, 1, length(body) - 9) WHERE id = (1 << 24) | 4",
		"its digest":          "UPDATE journal SET digest = zeroblob(16) WHERE id = (1 << 24) | 4",
		"the digest before":   "UPDATE journal SET digest = zeroblob(16) WHERE id = (1 << 24) | 3",
		"its fact is gone":    "DELETE FROM journal WHERE id = (1 << 24) | 4",
		"another's question":  "UPDATE pending_requests SET run_no = 2, opened_seq = 4, status = 'expired', closed_at = 1 WHERE id = 'p-askaskas'",
		"its kind":            "UPDATE pending_requests SET kind = 'twin' WHERE id = 'p-askaskas'",
		"how long it is open": "UPDATE pending_requests SET expires_at = 7 WHERE id = 'p-askaskas'",
		"its place":           "UPDATE pending_requests SET opened_seq = 3 WHERE id = 'p-askaskas'",
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, dir := context.Background(), stateDir(t)
			s, err := Open(ctx, dir, Options{NoBallast: true})
			if err != nil {
				t.Fatal(err)
			}
			ask(t, s, startRun(t, s, "r-askaskas"), "p-askaskas", func(r *journal.Request) { r.Message = "delete it all?" })
			ask(t, s, startRun(t, s, "r-otheroth"), "p-otheroth")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			tamper(t, dir, change)
			s = openStore(t, dir)
			rows, err := s.Pending(ctx, true)
			if err != nil || len(rows) != 2 {
				t.Fatalf("%d questions, %v", len(rows), err)
			}
			for _, r := range rows {
				if hurt := r.ID == "p-askaskas"; hurt != (r.Damaged != nil) || hurt != (r.Request.Message == "") {
					t.Errorf("%s is shown as %+v, damaged: %v", r.ID, r.Request, r.Damaged)
				}
			}
			if p, err := s.PendingByID(ctx, "p-askaskas"); !errors.As(err, new(*CorruptError)) || p.Request.Message == "create it all?" {
				t.Errorf("alone it is %+v, %v", p.Request, err)
			}
			if run, err := s.Run(ctx, "r-askaskas"); err != nil || run.Pending != nil && run.Pending.Damaged == nil {
				t.Errorf("with its run it is %+v, %v", run.Pending, err)
			}
		})
	}
}

// The answer that stands with a question is the one that the run's owner took.
func TestChangedAnswerIsNotShown(t *testing.T) {
	ctx, dir := context.Background(), stateDir(t)
	s, err := Open(ctx, dir, Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	h := ask(t, s, startRun(t, s, "r-askaskas"), "p-askaskas")
	appendAll(t, s, h, events(journal.RequestAnswered{ID: "p-askaskas", Answer: []byte(`{"go": "no"}`), By: "ana"}), AppendOptions{})
	if p, err := s.PendingByID(ctx, "p-askaskas"); err != nil || !strings.Contains(string(p.Answer), "no") {
		t.Fatalf("%s, %v", p.Answer, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tamper(t, dir, `UPDATE pending_requests SET answer = '{"go": "yes"}'`)
	s = openStore(t, dir)
	if p, err := s.PendingByID(ctx, "p-askaskas"); !errors.As(err, new(*CorruptError)) {
		t.Errorf("the answer is %s, %v", p.Answer, err)
	}
}
