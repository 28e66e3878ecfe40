package drive

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/db"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/journal"
)

// secretOf is a secret that a pattern finds; it is put together so that it stands in no file.
func secretOf() string { return "ghp_" + "a8F3kLm9Qx2ZtR7vB1nYc5WdE6uJhT0pKs4G"[:36] }

func guarded(t *testing.T) (*Process, *stream.Observer) {
	t.Helper()
	store, err := db.Open(t.Context(), filepath.Join(t.TempDir(), "state"), db.Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	h := &Process{Store: store, Hub: stream.NewHub(), Now: time.Now}
	h.Guard()
	return h, h.Hub.Observe(0)
}

// seen is what an observer gets until the hub closes.
func seen(t *testing.T, h *Process, obs *stream.Observer) (all []stream.Event) {
	t.Helper()
	h.Hub.Close()
	for {
		e, err := obs.Next(t.Context())
		if err != nil {
			return all
		}
		all = append(all, e)
	}
}

// SEC: whatever the pieces are in which a text comes, observers see no secret of it; they see
// everything else, in its order, and before the fact that ends it.
func TestTheGateHoldsSecretsBack(t *testing.T) {
	said := "I use " + secretOf() + " and go on"
	for size := 1; size <= len(said); size += 3 {
		h, obs := guarded(t)
		call := journal.Place{Turn: 1}
		for at := 0; at < len(said); at += size {
			piece := said[at:min(at+size, len(said))]
			h.Hub.Publish(stream.Event{Run: "r-a", Turn: 1, Text: piece})
			h.Hub.Publish(stream.Event{Run: "r-a", Call: &call, Output: []byte(piece)})
		}
		h.Hub.Publish(stream.Event{Run: "r-a", Fact: &journal.Event{Seq: 1, Turn: 1, Body: journal.ModelAnswered{}}})
		h.Hub.Publish(stream.Event{Run: "r-a", Fact: &journal.Event{Seq: 2, Turn: 1, Body: journal.CallSettled{Place: call}}})
		h.Note("r-a", "%s", said)
		want := h.Store.Redact(said)
		var text, output string
		for _, e := range seen(t, h, obs) {
			switch {
			case e.Fact != nil && e.Fact.Seq == 1 && text != want, e.Fact != nil && e.Fact.Seq == 2 && output != want:
				t.Errorf("in pieces of %d: before its fact there are %q and %q", size, text, output)
			case e.Note != "" && e.Note != want:
				t.Errorf("a note is %q", e.Note)
			}
			text, output = text+e.Text, output+string(e.Output)
		}
		if text != want || output != want || strings.Contains(want, secretOf()) {
			t.Errorf("in pieces of %d: %q and %q, want %q", size, text, output, want)
		}
	}
}

// What an answer that starts over left behind is not shown with the next one.
func TestTheGateForgetsWhatIsVoid(t *testing.T) {
	h, obs := guarded(t)
	h.Hub.Publish(stream.Event{Run: "r-a", Turn: 1, Text: "half a wo"})
	h.Hub.Publish(stream.Event{Run: "r-a", Turn: 1, Void: true})
	h.Hub.Publish(stream.Event{Run: "r-a", Turn: 1, Text: "a word "})
	var text string
	for _, e := range seen(t, h, obs) {
		if text += e.Text; e.Void {
			text = ""
		}
	}
	if text != "a word " {
		t.Errorf("%q", text)
	}
}

// A call that was never started is not carried out with a placeholder in the place of a secret that
// is gone.
func TestNothingRunsWithAPlaceholder(t *testing.T) {
	h, _ := guarded(t)
	args := json.RawMessage(`{"command":"echo x"}`)
	fp, err := h.Store.Fingerprint("t-1", "shell", args)
	if err != nil {
		t.Fatal(err)
	}
	whole := &recovery.Call{Proposal: &journal.Proposal{Tool: "shell", Args: args, Fingerprint: fp}}
	broken := &recovery.Call{Proposal: &journal.Proposal{Tool: "shell", Args: json.RawMessage(`{"command":"echo [secret:a:b]"}`), Fingerprint: fp}}
	rec := &recorder{p: h, state: &recovery.State{Created: journal.RunCreated{Thread: "t-1"}}}
	pol := &policy{recorder: rec, lost: []db.Unrecoverable{{ID: "b", Why: "gone"}}}
	if err := pol.entire(whole); err != nil {
		t.Error(err)
	}
	if err := pol.entire(broken); err == nil {
		t.Error("a call runs with a placeholder in its arguments")
	}
}
