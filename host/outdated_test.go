package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"agent/db"
	"agent/host"
	"agent/host/drive"
	"agent/host/drive/bind"
	"agent/host/permission"
	"agent/recovery"
	"agent/recovery/journal"
)

// A question that an older version asked offers answers whose rules would grant less now than was
// said. They are refused, with what to do; yes, no and never count; whoever claims the run asks
// anew. What was answered before counts as it was.
func TestQuestionsOfOlderVersions(t *testing.T) {
	word := func(text string) json.RawMessage { return json.RawMessage(`"` + text + `"`) }
	for _, tt := range []struct {
		name  string
		do    func(t *testing.T, h *host.Host, run, question string)
		calls int
	}{
		{"its yes counts", func(t *testing.T, h *host.Host, _, question string) {
			if _, err := h.Answer(t.Context(), question, word("yes"), h.GoOnHere); err != nil {
				t.Error(err)
			}
		}, 1},
		{"its no counts", func(t *testing.T, h *host.Host, _, question string) {
			if _, err := h.Answer(t.Context(), question, word("no"), h.GoOnHere); err != nil {
				t.Error(err)
			}
		}, 0},
		{"what it offers beside them is refused, and it is asked anew", func(t *testing.T, h *host.Host, run, question string) {
			for _, answer := range []string{journal.AnswerAlways, journal.AnswerPrefix, journal.AnswerRun} {
				_, err := h.Answer(t.Context(), question, word(answer), h.GoOnHere)
				var old *host.OutdatedError
				if !errors.As(err, &old) || err.Error() != question+" was asked by an older version: answer yes, no or never, or agent resume "+run {
					t.Errorf("%s: %v", answer, err)
				}
			}
			out, err := h.Resume(t.Context(), run, drive.Changes{}, nil)
			if err != nil || out.Status != recovery.StatusWaiting || out.Request.ID == question || !slices.Equal(out.Request.Choices, []string{"yes", "never", "no"}) {
				t.Fatalf("%+v, %+v, %v", out.Status, out.Request, err)
			}
			if row, err := h.Store.PendingByID(t.Context(), question); err != nil || row.Status != db.RequestCancelled {
				t.Errorf("the first question is %s, %v", row.Status, err)
			}
			if _, err := h.Answer(t.Context(), out.Request.ID, word("yes"), h.GoOnHere); err != nil {
				t.Error(err)
			}
		}, 1},
		{"an answer that was given before is a yes", func(t *testing.T, h *host.Host, run, question string) {
			if _, err := h.Store.Answer(t.Context(), question, word(journal.AnswerPrefix), "ana"); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Resume(t.Context(), run, drive.Changes{}, nil); err != nil {
				t.Error(err)
			}
		}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls := 0
			h := newHost(t, scripted{[]string{"acts"}}, fake{"acts", journal.EffectWriteExternal, func(context.Context) (journal.Result, error) {
				calls++
				return journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes}, nil
			}})
			run, question := leftByAnOlderVersion(t, h)
			tt.do(t, h, run, question)
			if s, err := h.State(t.Context(), run); err != nil || s.Status != recovery.StatusCompleted || calls != tt.calls {
				t.Errorf("%+v after %d calls, want %d: %v", s.Status, calls, tt.calls, err)
			}
		})
	}
}

// leftByAnOlderVersion writes the journal of a run that waits for an answer to such a question.
func leftByAnOlderVersion(t *testing.T, h *host.Host) (run, question string) {
	t.Helper()
	run, question = drive.NewID("r"), drive.NewID("p")
	thread := drive.NewID("t")
	fp, err := h.Store.Fingerprint(thread, "acts", json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	rules := "[[allow]]\ntool = \"shell\"\ncommand = \"a *\"\nfolder = \"/w\"\n"
	at := journal.Place{Turn: 1}
	var offers []journal.Offer
	for _, answer := range []string{journal.AnswerAlways, journal.AnswerPrefix, journal.AnswerRun, journal.AnswerNever} {
		offers = append(offers, journal.Offer{Answer: answer, Says: "runs it", Rules: rules})
	}
	bodies := []journal.Body{
		journal.RunCreated{
			Run: run, Thread: thread, Prompt: "go", Folder: folder, Model: "scripted", Mode: journal.ModeAsk,
			Version: "test", ToolsHash: h.Env.Tools.Digest(),
		},
		journal.RunClaimed{Epoch: 1, PID: 1},
		journal.ModelRequested{},
		journal.ModelAnswered{Stop: journal.AnswerCalls, Calls: []journal.Proposal{{
			ID: drive.NewID("c"), Tool: "acts", Args: json.RawMessage(`{}`), Fingerprint: fp,
			Effect: journal.EffectWriteExternal, Decision: journal.DecisionAsk, Why: "it may change anything", Offers: offers,
		}}},
		journal.RequestOpened{Request: journal.Request{
			ID: question, Call: &at, Binding: bind.To{
				Call: []string{"acts", fp}, Folder: folder, Mode: journal.ModeAsk, Rules: permission.Policy{}.Digest(), Tools: h.Env.Tools.Digest(),
			}.String(),
			Rules: map[string]string{"always": rules, "always-prefix": rules, "always-run": rules, "never": rules},
			Question: journal.Question{
				Kind: journal.RequestPermission, Message: "acts wants to act", Choices: []string{"yes", "always", "always-prefix", "always-run", "never", "no"},
			},
		}},
	}
	var events []journal.Event
	for i, b := range bodies {
		events = append(events, journal.Event{Seq: int64(i) + 1, Turn: min(1, i/2), Time: time.Now(), Body: b})
	}
	if _, err := h.Store.Create(t.Context(), db.ThreadRef{ID: thread, Folder: "/", New: true}, events); err != nil {
		t.Fatal(err)
	}
	return run, question
}
