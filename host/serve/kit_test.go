package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agent/host/app"
	"agent/host/serve/servetest"
	"agent/recovery/journal"
)

const patience = time.Minute

// childHome names the state folder that this binary serves when a test starts it again.
const childHome = "SERVE_TEST_HOME"

func TestMain(m *testing.M) {
	if code, ok := servetest.Hidden(os.Args); ok {
		os.Exit(code)
	}
	if home := os.Getenv(childHome); home != "" {
		os.Exit(child(home))
	}
	if to := os.Getenv(connectTo); to != "" {
		os.Exit(connectAs(to))
	}
	os.Exit(m.Run())
}

func newApp(home string) *app.App {
	env := map[string]string{"AGENT_HOME": home, "HOME": filepath.Dir(home)}
	return &app.App{Env: func(k string) string { return env[k] }, Version: "test", Notice: func(string) {}, Complaints: io.Discard}
}

// child serves until it is killed or asked to end.
func child(home string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := newApp(home)
	folder, err := a.Open(ctx, app.Drive)
	if err == nil {
		err = folder.Begin(ctx, app.Drive)
	}
	var s *Server
	if err == nil {
		s, err = New(Options{App: a, Folder: folder, Say: func(string, ...any) { fmt.Println("up") }})
	}
	if err == nil {
		err = s.Serve(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	folder.End()
	if err := folder.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// world is a state folder and, where it is served, its server in this process.
type world struct {
	t      *testing.T
	home   string
	app    *app.App
	folder *app.Folder
	s      *Server
	token  string
	stop   func()

	carrier  Carrier
	take     time.Duration // instead of takeWait
	saying   sync.Mutex
	said     []string
	finished []string // runs that the server had ended by others
	journals *servetest.Journals
}

// newWorld makes a state folder with a short path.
func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return openWorld(t, filepath.Join(dir, "state"))
}

func openWorld(t *testing.T, home string) *world {
	t.Helper()
	w := &world{t: t, home: home, app: newApp(home)}
	var err error
	if w.folder, err = w.app.Open(t.Context(), app.Drive); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.folder.End()
		if err := w.folder.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := w.folder.Begin(t.Context(), app.Drive); err != nil {
		t.Fatal(err)
	}
	w.journals = servetest.New(w.folder.Store)
	return w
}

// serve starts the server.
func (w *world) serve() *world {
	w.t.Helper()
	up := make(chan struct{})
	var once sync.Once
	s, err := New(Options{App: w.app, Folder: w.folder,
		Say: func(format string, args ...any) {
			w.saying.Lock()
			w.said = append(w.said, fmt.Sprintf(format, args...))
			w.saying.Unlock()
			once.Do(func() { close(up) })
		},
		Carrier: w.carrier, take: w.take,
		Finish: func(run string) error { w.finished = append(w.finished, run); return nil },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.s, w.token = s, readFile(w.t, filepath.Join(w.home, tokenName))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	w.stop = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(w.stop)
	select {
	case <-up:
	case err := <-ended:
		ended <- nil // for stop, which waits for it
		w.t.Fatal(err)
	}
	return w
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// client speaks through the socket.
func client(home string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(home, socketName))
	}}}
}

// reply is an answer, read.
type reply struct {
	status int
	header http.Header
	text   string
	line   bool // of a stream
}

// json reads what stands at a path of names, such as "run status".
func (r reply) json(t *testing.T, path string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(r.text), &v); err != nil {
		t.Fatalf("%s: %v", r.text, err)
	}
	for name := range strings.FieldsSeq(path) {
		m, ok := v.(map[string]any)
		if !ok {
			t.Fatalf("%s: no %s", r.text, path)
		}
		v = m[name]
	}
	return v
}

// ask sends a request with the credential; change may alter it.
func (w *world) ask(method, path, body string, change ...func(*http.Request)) reply {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.token)
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, c := range change {
		c(r)
	}
	c := client(w.home)
	a, err := c.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	got := reply{status: a.StatusCode, header: a.Header, text: string(text)}
	asDescribed(w.t, r, got)
	return got
}

// refused expects a refusal with a status and a code, in the form of all refusals.
func (w *world) refused(r reply, status int, code string) {
	w.t.Helper()
	if r.status != status || r.header.Get("Content-Type") != "application/problem+json" || r.json(w.t, "code") != code || len(r.json(w.t, "next").([]any)) == 0 {
		w.t.Errorf("got %d %s %s, want %d with the code %s", r.status, r.header.Get("Content-Type"), r.text, status, code)
	}
}

// run records a run with its claim.
func (w *world) run(id, prompt string) string {
	w.t.Helper()
	thread := "t" + id[1:]
	err := w.journals.Begin(w.t.Context(), id, thread,
		journal.Event{Body: journal.RunCreated{Run: id, Thread: thread, By: "anna", Prompt: prompt, Folder: "/w", Model: "m", Mode: journal.ModeAsk}},
		journal.Event{Body: journal.RunClaimed{Epoch: 1, PID: 1}},
		journal.Event{Turn: 1, Body: journal.ModelRequested{}})
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// hold drives a run as far as others can see.
func (w *world) hold(run string) (release func()) {
	w.t.Helper()
	lock, err := w.folder.Locks().Take(run)
	if err != nil {
		w.t.Fatal(err)
	}
	release = sync.OnceFunc(func() {
		if err := lock.Close(); err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(release)
	return release
}

func (w *world) add(run string, events ...journal.Event) {
	w.t.Helper()
	if err := w.journals.Add(context.Background(), run, events...); err != nil {
		w.t.Fatal(err)
	}
}

const fingerprint = "s1:0000000000000000000000000000000000000000000000000000000000000000"

func callID(run string, turn int) string { return fmt.Sprintf("c-%s%05d", run[len(run)-3:], turn) }

// turn are the facts of a turn with one call that prints a text, and the start of the next one.
func turn(run string, n int, text, output string) []journal.Event {
	place := journal.Place{Turn: n, Attempt: 1}
	return []journal.Event{
		{Turn: n, Body: journal.ModelAnswered{Blocks: []journal.Block{{Kind: journal.BlockText, Text: text}}, Stop: journal.AnswerCalls,
			Calls: []journal.Proposal{{ID: callID(run, n), Tool: "shell", Args: json.RawMessage(`{"command":"x"}`), Effect: journal.EffectRead, Fingerprint: fingerprint, Decision: journal.DecisionAllow}}}},
		{Turn: n, Body: journal.CallStarted{Place: place}},
		{Turn: n, Body: journal.CallSettled{Place: place, Fingerprint: fingerprint,
			Result: journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted, Content: output, Size: int64(len(output))}}},
		{Turn: n, Body: journal.TurnSettled{Checkpoint: fmt.Sprintf("%s@%d", run, n)}},
		{Turn: n + 1, Body: journal.ModelRequested{}},
	}
}

// question has a run wait, and returns the id of what it asks.
func (w *world) question(run string, expires time.Time) string {
	w.t.Helper()
	return w.asks(run, 1, expires, journal.Question{
		Kind: journal.RequestAskUser, Message: "which one?", Schema: json.RawMessage(`{"type":"string","enum":["first","second"]}`), Choices: []string{"first", "second"},
	})
}

func (w *world) asks(run string, n int, expires time.Time, q journal.Question) string {
	w.t.Helper()
	r := journal.Request{ID: "p" + run[1:], Opened: time.Now(), Question: q, Call: &journal.Place{Turn: n}, CallID: callID(run, n), Tool: "ask_user"}
	if !expires.IsZero() {
		r.Expires = &expires
	}
	w.add(run,
		journal.Event{Turn: n, Body: journal.ModelAnswered{Stop: journal.AnswerCalls, Calls: []journal.Proposal{
			{ID: r.CallID, Tool: "ask_user", Args: json.RawMessage(`{}`), Effect: journal.EffectRead, Fingerprint: fingerprint, Decision: journal.DecisionAllow, Question: &q},
		}}},
		journal.Event{Turn: n, Body: journal.RequestOpened{Request: r}})
	return r.ID
}

func (w *world) complete(run string, n int) {
	w.t.Helper()
	w.add(run,
		journal.Event{Turn: n, Body: journal.ModelAnswered{Blocks: []journal.Block{{Kind: journal.BlockText, Text: "done"}}, Stop: journal.AnswerEnd}},
		journal.Event{Turn: n, Body: journal.RunCompleted{Text: "done"}})
}

// event is a server-sent event.
type event struct{ id, kind, data string }

// parse takes whole events from the beginning of what came, and leaves the rest.
func parse(text []byte) (events []event, rest []byte) {
	for {
		block, after, whole := bytes.Cut(text, []byte("\n\n"))
		if !whole {
			return events, text
		}
		text = after
		var e event
		for line := range strings.SplitSeq(string(block), "\n") {
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.kind = value
			case "data":
				e.data += value
			}
		}
		if e.data != "" {
			events = append(events, e)
		}
	}
}

// stream opens a stream; read gives its next events until enough says so, or it ends.
type opened struct {
	t    *testing.T
	body io.ReadCloser
	rest []byte
	stop func()
}

func (w *world) stream(path string, header ...string) (*opened, *http.Response) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	r, err := http.NewRequestWithContext(ctx, "GET", "http://localhost"+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.token)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	a, err := client(w.home).Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	o := &opened{t: w.t, body: a.Body, stop: stop}
	w.t.Cleanup(o.close)
	return o, a
}

func (o *opened) close() { o.stop(); _ = o.body.Close() }

// until reads events up to one of a kind; without one, to the end.
func (o *opened) until(kind string) []event {
	o.t.Helper()
	var all []event
	buf := make([]byte, 4096)
	for {
		events, rest := parse(o.rest)
		o.rest = rest
		for i, e := range events {
			all = append(all, e)
			if e.kind == kind {
				var b bytes.Buffer
				for _, e := range events[i+1:] {
					fmt.Fprintf(&b, "id: %s\nevent: %s\ndata: %s\n\n", e.id, e.kind, e.data)
				}
				o.rest = append(b.Bytes(), rest...)
				return all
			}
		}
		n, err := o.body.Read(buf)
		o.rest = append(o.rest, buf[:n]...)
		if n == 0 && err != nil {
			if kind != "" || !errors.Is(err, io.EOF) {
				o.t.Fatalf("the stream ended before %q: %v", kind, err)
			}
			return all
		}
	}
}

func kinds(events []event) string {
	var list []string
	for _, e := range events {
		list = append(list, e.kind)
	}
	return strings.Join(list, " ")
}
