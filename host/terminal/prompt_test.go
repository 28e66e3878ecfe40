package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/host/terminal/terminaltest"
	"agent/recovery/journal"
)

// keyboard is a console whose input is a pipe.
type keyboard struct {
	*os.File // read end
	shown    terminaltest.Tape
	prompted chan struct{} // closed when an answer is asked for
	once     sync.Once
}

func (k *keyboard) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("answer (")) {
		k.once.Do(func() { close(k.prompted) })
	}
	return k.shown.Write(p)
}

// typed makes a terminal and what types on it.
func typed(t *testing.T) (term *Prompt, k *keyboard, keys *os.File, dropped *int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() }) // some tests close them
	k = &keyboard{File: r, prompted: make(chan struct{})}
	dropped = new(int)
	return NewPrompt(k, func() { *dropped++ }), k, w, dropped
}

func ask(q journal.Question) journal.Request { return journal.Request{ID: "p-1", Question: q} }

// A wrong answer is explained and asked for again; the whole question stands above, with what each
// answer does.
func TestAskUntilItIsAnAnswer(t *testing.T) {
	term, k, keys, dropped := typed(t)
	q := yesNo()
	q.Message = "run this?\n  rm -rf /\x1b[2K"
	q.Hints = []string{"runs it once", "does not"}
	if _, err := keys.WriteString("perhaps\n\nY\r\n"); err != nil {
		t.Fatal(err)
	}
	got, err := term.Ask(t.Context(), "", ask(q))
	if err != nil || string(got) != "true" {
		t.Fatalf("%s, %v", got, err)
	}
	equal(t, k.shown.String(), `? run this?
    rm -rf /\x1b[2K
    yes  runs it once
    no   does not
  (Ctrl-D leaves it open; then: agent answer p-1)
answer (yes/no):   "perhaps" is no answer to this: say yes or no
answer (yes/no):   "" is no answer to this: say yes or no
answer (yes/no): `)
	if *dropped != 1 {
		t.Errorf("what was typed before was dropped %d times", *dropped)
	}
}

// The end of the input leaves the question open, also behind half a line. // issue, behaviour 8
func TestEndOfInputLeavesItOpen(t *testing.T) {
	for _, before := range []string{"", "ye"} {
		term, _, keys, _ := typed(t)
		if _, err := keys.WriteString(before); err != nil {
			t.Fatal(err)
		}
		if err := keys.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := term.Ask(t.Context(), "", ask(yesNo())); !errors.Is(err, ErrLeftOpen) {
			t.Errorf("after %q: %v", before, err)
		}
	}
}

// When the context ends, as Ctrl-C and an answer from elsewhere make it, the question ends at once
// and what was half typed is dropped. // PEND-04
func TestAskEndsWithItsContext(t *testing.T) {
	term, k, keys, dropped := typed(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	gone := errors.New("answered elsewhere")
	if _, err := keys.WriteString("ye"); err != nil {
		t.Fatal(err)
	}
	go func() {
		<-k.prompted
		cancel(gone)
	}()
	if _, err := term.Ask(ctx, "", ask(yesNo())); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	if !strings.HasSuffix(k.shown.String(), "\n") || *dropped != 2 {
		t.Errorf("dropped %d times, shown %q", *dropped, k.shown.String())
	}
	// Nobody reads any more: the next line belongs to whoever comes next.
	if err := k.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.WriteString("next"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	if n, err := k.Read(b); err != nil || !strings.HasSuffix(string(b[:n]), "next") {
		t.Errorf("read %q, %v", b[:n], err)
	}
}

func yesNo() journal.Question {
	return journal.Question{Kind: journal.RequestConfirm, Message: "Go on?", Schema: json.RawMessage(`{"type":"boolean"}`), Choices: []string{"yes", "no"}}
}

// What would be started is shown, and asked about until there is an answer.
func TestAskTrust(t *testing.T) {
	term, k, keys, dropped := typed(t)
	if _, err := keys.WriteString("perhaps\nYes\n"); err != nil {
		t.Fatal(err)
	}
	const shown = "/work/.mcp.json came with this folder and names MCP servers.\n"
	yes, err := term.Trust(t.Context(), shown, "/work/.mcp.json")
	if err != nil || !yes || *dropped == 0 {
		t.Fatalf("%v %v, dropped %d", yes, err, *dropped)
	}
	const want = `? /work/.mcp.json came with this folder and names MCP servers.
  yes  starts them, now and in every later run here, until the file or what they start from changes
  no   goes on without them, and does not ask again until the file changes
  (Ctrl-D goes on without them this time)
answer (yes/no):   say yes or no
answer (yes/no): `
	if got := k.shown.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
