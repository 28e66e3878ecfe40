package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"agent/db"
	"agent/host"
	"agent/host/drive"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/journal"
)

// unknownCall is the one call of a run that has ended, of which nobody knows whether it happened.
func unknownCall(t *testing.T, h *host.Host) db.CallRow {
	t.Helper()
	out, _ := start(t, h)
	calls, err := h.Store.Calls(t.Context(), out.Run)
	if err != nil || len(calls) != 1 || calls[0].Outcome != journal.OutcomeUnknown {
		t.Fatalf("%+v, %v", calls, err)
	}
	return calls[0]
}

// leaveWord puts a word on the call into its run's inbox, as a process does that says it at the
// same moment.
func leaveWord(t *testing.T, h *host.Host, c db.CallRow, w journal.Word, by string) {
	t.Helper()
	body, err := json.Marshal(journal.CallResolved{Place: journal.Place{Turn: c.Turn, Index: c.Index}, Word: w, By: by})
	if err == nil {
		_, err = h.Store.PutInbox(t.Context(), c.Run, db.MessageRuling, body, by)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Words on one unknown call that are said at the same moment: each is in the journal or its speaker
// hears the first word, and none stays in the inbox (DESIGN 1, never lost and never silent).
func TestWordsAtTheSameMoment(t *testing.T) {
	const happened, leave = journal.WordHappened, journal.WordLeave
	boom := func(context.Context) (journal.Result, error) { panic("boom") }
	for _, c := range []struct {
		name     string
		said     journal.Word // by anna, on record already
		waits    journal.Word // by anna, in the inbox
		word     journal.Word // by the tester, who saw the call before all that
		conflict bool
	}{
		{name: "alone", word: leave},
		{name: "leave after leave", waits: leave, word: leave},
		{name: "happened after leave", waits: leave, word: happened},
		{name: "leave after happened", waits: happened, word: leave, conflict: true},
		{name: "happened twice", waits: happened, word: happened, conflict: true},
		{name: "leave after a recorded happened", said: happened, word: leave, conflict: true},
		{name: "both after a recorded happened", said: happened, waits: leave, word: leave, conflict: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost(t, scripted{[]string{"boom"}}, fake{"boom", journal.EffectWriteExternal, boom})
			call := unknownCall(t, h)
			if c.said != "" {
				h.Who = "anna"
				if err := h.RecordResolution(t.Context(), call, c.said); err != nil {
					t.Fatal(err)
				}
			}
			if c.waits != "" {
				leaveWord(t, h, call, c.waits, "anna")
			}
			h.Who = "tester"
			err := h.RecordResolution(t.Context(), call, c.word)
			var resolved *host.ResolvedError
			if errors.As(err, &resolved) != c.conflict || !c.conflict && err != nil {
				t.Fatalf("%v", err)
			}
			if c.conflict && !strings.Contains(err.Error(), "anna decided already that it happened, on ") {
				t.Errorf("the first word is not shown: %v", err)
			}
			if rows, err := h.Store.Inbox(t.Context(), call.Run); err != nil || len(rows) > 0 {
				t.Errorf("in the inbox: %+v, %v", rows, err)
			}
			var mine bool
			for e, err := range h.Store.Load(t.Context(), call.Run, 0) {
				if err != nil {
					t.Fatal(err)
				}
				b, ok := e.Body.(journal.CallResolved)
				mine = mine || ok && b.By == "tester" && b.Word == c.word
			}
			if mine == c.conflict {
				t.Errorf("the word is in the journal: %v", mine)
			}
		})
	}
}

// Who stops a call has decided on it before its outcome is known: the word waits for the outcome,
// whoever looks meanwhile, and is let go in silence where that is known. // issue 17, part 2
func TestWordBeforeTheOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		end  func() (journal.Result, error)
		want int // decisions in the journal
	}{
		"unknown": {func() (journal.Result, error) { panic("boom") }, 1},
		"known": {func() (journal.Result, error) {
			return journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes}, nil
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			stop, cancel := context.WithCancelCause(t.Context())
			act := func(ctx context.Context) (journal.Result, error) {
				if stop.Err() != nil {
					return c.end()
				}
				cancel(drive.ErrShutdown)
				<-ctx.Done()
				return journal.Result{}, ctx.Err()
			}
			tool := &runnerTool{fake: fake{"act", journal.EffectWriteExternal, act}}
			tool.sighting = recovery.ProcessEvidence{State: recovery.ProcessRunning}
			h := newHost(t, scripted{[]string{"act"}}, tool)
			var warned []string
			h.Hub.ObserveOnly(func(e *stream.Event) bool {
				if e.Warn {
					warned = append(warned, e.Note)
				}
				return false
			})
			out, err := h.Start(stop, host.StartRequest{Prompt: "go", Folder: t.TempDir(), Model: "scripted", Mode: journal.ModeYolo})
			if err == nil {
				err = host.StopRunning(t.Context(), h, out.Run)
			}
			if err == nil {
				err = drive.TakeResolutions(t.Context(), &h.Process, out.Run, 0)
			}
			if rows, inbox := h.Store.Inbox(t.Context(), out.Run); err != nil || inbox != nil || len(rows) != 1 {
				t.Fatalf("in the inbox: %+v, %v", rows, errors.Join(err, inbox))
			}
			out, err = h.Resume(t.Context(), out.Run, drive.Changes{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			words := 0
			for e, err := range h.Store.Load(t.Context(), out.Run, 0) {
				if err != nil {
					t.Fatal(err)
				}
				if b, ok := e.Body.(journal.CallResolved); ok && b.Word == journal.WordLeave && b.By == "tester" {
					words++
				}
			}
			rows, err := h.Store.Inbox(t.Context(), out.Run)
			if err != nil || words != c.want || len(rows) > 0 || len(out.Undecided) > 0 || len(warned) > 0 {
				t.Errorf("%d words, in the inbox %+v, undecided %+v, warned %q, %v", words, rows, out.Undecided, warned, err)
			}
		})
	}
}
