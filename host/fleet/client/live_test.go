package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"agent/fleet/client"
	"agent/fleet/custody"
	"agent/fleet/seal"
)

// serverVariable names the program that is Temporal's server; without it the tests on one are left
// out.
const serverVariable = "AGENT_FLEET_TEMPORAL_SERVER"

// engine is a server of the tests.
type engine struct {
	address, folder string
}

// newEngine starts a server. Extra are further arguments.
func newEngine(t *testing.T, extra ...string) *engine {
	t.Helper()
	program := os.Getenv(serverVariable)
	if program == "" {
		t.Skipf("%s names no server", serverVariable)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{address: l.Addr().String(), folder: t.TempDir()}
	_, port, _ := net.SplitHostPort(e.address)
	_ = l.Close()
	cmd := exec.Command(program, append([]string{"-port", port, "-db", filepath.Join(e.folder, "engine.db")}, extra...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "is ready") {
			return e
		}
	}
	t.Fatal("the server did not become ready")
	return nil
}

func (e *engine) options(key seal.Key) client.Options {
	return client.Options{Address: e.address, Namespace: "default", Key: key, Identity: "test"}
}

// hosts are workers whose drivers are scripts.
type hosts struct {
	t      *testing.T
	client *client.Client

	mu    sync.Mutex
	drive func(ctx context.Context, host string, d custody.Drive) (custody.Report, error)
	fence []custody.Fence
	free  []string // the host that takes the next offer comes first
}

func newHosts(t *testing.T, c *client.Client, names ...string) *hosts {
	t.Helper()
	h := &hosts{t: t, client: c, free: names}
	h.worker(custody.CustodyQueue, func(w worker.Worker) {
		w.RegisterWorkflow(custody.Custody)
		w.RegisterWorkflow(custody.Scheduled)
		w.RegisterActivityWithOptions(func(_ context.Context, f custody.Fence) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.fence = append(h.fence, f)
			return nil
		}, activity.RegisterOptions{Name: custody.ActivityFence})
	})
	h.worker(custody.Pool(nil), func(w worker.Worker) {
		w.RegisterActivityWithOptions(func(_ context.Context, o custody.Offer) (custody.Taken, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			for _, name := range h.free {
				if !contains(o.Not, name) {
					return custody.Taken{Host: name, Queue: custody.HostQueue + name}, nil
				}
			}
			return custody.Taken{}, errors.New("this host has no free slot: " + canary)
		}, activity.RegisterOptions{Name: custody.ActivityOffer})
	})
	for _, name := range names {
		h.worker(custody.HostQueue+name, func(w worker.Worker) {
			w.RegisterActivityWithOptions(func(context.Context, custody.Offer) (custody.Taken, error) {
				return custody.Taken{Host: name, Queue: custody.HostQueue + name}, nil
			}, activity.RegisterOptions{Name: custody.ActivityOffer})
			w.RegisterActivityWithOptions(func(ctx context.Context, d custody.Drive) (custody.Report, error) {
				h.mu.Lock()
				drive := h.drive
				h.mu.Unlock()
				return drive(ctx, name, d)
			}, activity.RegisterOptions{Name: custody.ActivityDrive})
		})
	}
	return h
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func (h *hosts) worker(queue string, register func(worker.Worker)) {
	h.t.Helper()
	w := worker.New(h.client.Engine(), queue, worker.Options{WorkerStopTimeout: time.Second})
	register(w)
	if err := w.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(w.Stop)
}

// drives has the hosts drive by a function from now on.
func (h *hosts) drives(f func(ctx context.Context, host string, d custody.Drive) (custody.Report, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drive = f
}

const canary = "CANARY-5d41402abc"

var (
	publish = custody.Report{Status: "waiting", Facts: 20, Place: 5, Turn: 2, Exit: 3, Request: &custody.Request{
		ID: "p-aaaa1111", Kind: "confirm_action", Text: canary, Choices: []string{"yes", "no"}, Place: "2.0 confirm_action"}}
	done = custody.Report{Status: "completed", Facts: 40, Place: 9, Turn: 4, Text: canary}
)

// testKey is a key that is no secret: it opens the histories that the workflow's tests replay.
func testKey(t *testing.T) seal.Key {
	t.Helper()
	k, err := seal.ReadFile(keyFile(t))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// keyFile has the test key, as a file that its owner alone can read.
func keyFile(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../custody/testdata/histories/key")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func connected(t *testing.T, e *engine) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), e.options(testKey(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func (h *hosts) start(r custody.Run) string {
	h.t.Helper()
	r.Prompt, r.By = canary, "ada"
	s, err := h.client.Start(h.t.Context(), r)
	if err != nil {
		h.t.Fatal(err)
	}
	return s.Run
}

// until waits until a run has a status.
func (h *hosts) until(run, status string) client.Row {
	h.t.Helper()
	row, err := h.client.Wait(within(h.t, 2*time.Minute), run, 20*time.Millisecond, func(r client.Row) bool { return r.Status == status }, func(client.Row) {})
	if err != nil {
		h.t.Fatalf("wait until run %s is %s: %v; it is %+v", run, status, err, row)
	}
	return row
}

// save keeps the history of a run where the tests of the workflow replay it, if that is asked for.
func (h *hosts) save(run, name string) {
	h.t.Helper()
	folder := os.Getenv("AGENT_FLEET_SAVE_HISTORIES")
	if folder == "" {
		return
	}
	b, err := h.client.History(h.t.Context(), run)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+".json"), b, 0o644)
	}
	if err != nil {
		h.t.Error(err)
	}
}

func TestAFleetIsKnownByItsKey(t *testing.T) {
	e := newEngine(t, "-namespace", "default,bare", "-search-attributes", "", "-list-attributes", "")
	ctx, key := within(t, time.Minute), seal.NewKey()
	refused := func(o client.Options, words ...string) {
		t.Helper()
		c, err := client.Connect(ctx, o)
		if err == nil {
			c.Close()
			t.Fatalf("connected with %+v", o)
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("the refusal does not name %q: %v", w, err)
			}
		}
	}
	o := e.options(key)
	refused(o, "AgentHost, AgentQuestion, AgentRepo, AgentStatus, AgentUser", "agent-fleet setup")
	missing := o
	missing.Namespace = "nowhere"
	refused(missing, "no namespace nowhere", "agent-fleet setup --engine "+e.address+" --namespace nowhere")
	nobody := o
	nobody.Address = "127.0.0.1:1"
	refused(nobody, "127.0.0.1:1", "--engine")
	for range 2 { // the second time there is nothing to do
		c, err := client.Setup(ctx, o, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	other := o
	other.Key = seal.NewKey()
	refused(other, key.Fleet(), other.Key.Fleet(), "--key-file")
	c, err := client.Setup(ctx, missing, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestAQuestionOnAServer(t *testing.T) {
	e := newEngine(t)
	c := connected(t, e)
	h := newHosts(t, c, "h-1")
	h.drives(func(_ context.Context, _ string, d custody.Drive) (custody.Report, error) {
		if d.Step.Answer != nil {
			return done, nil
		}
		return publish, nil
	})
	asked := custody.Run{Key: "build 7", Git: "https://ada:secret@example.org/r.git@0123456"}
	run := h.start(asked)
	if again := h.start(asked); again != run {
		t.Errorf("the same key began %s and %s", run, again)
	}
	asked.Labels = []string{"linux"}
	asked.Prompt, asked.By = canary, "ada"
	if _, err := c.Start(t.Context(), asked); !errors.As(err, new(*client.KeyReusedError)) {
		t.Errorf("another request with the key gave %v", err)
	}
	row := h.until(run, "waiting")
	if row.Host != "h-1" || row.Request.Text != canary || row.Repo != "https://example.org/r.git" || row.By != "ada" {
		t.Errorf("it is %+v", row)
	}
	if _, err := c.Answer(t.Context(), custody.Answer{Request: "p-aaaa1111", Text: "perhaps", By: "ada"}); !errors.As(err, new(*client.RefusedError)) {
		t.Errorf("an answer that is none gave %v", err)
	}
	if _, err := c.Answer(t.Context(), custody.Answer{Request: "p-zzzz9999", Text: "yes"}); err == nil {
		t.Error("a question that nobody asked was answered")
	}
	h.race(50)
	h.until(run, "completed")
	late := custody.Answer{Request: "p-aaaa1111", Text: "neither", By: "zoe"}
	if _, err := c.Answer(t.Context(), late); !errors.As(err, new(*client.AnsweredError)) {
		t.Errorf("an answer after the end gave %v", err)
	}
	out, err := c.Outcome(t.Context(), run)
	if err != nil || out.Text != canary || out.Host != "h-1" {
		t.Errorf("it ended as %+v: %v", out, err)
	}
	if rows, err := c.List(t.Context(), false); err != nil || len(rows) != 1 || rows[0].Status != "completed" || rows[0].Next != "" || rows[0].Reason != "" {
		t.Errorf("the list is %+v: %v", rows, err)
	}
	h.save(run, "question")
	e.holds(t, canary)
}

// race has many people answer at once: one answer is taken, and all who gave it are told so.
func (h *hosts) race(n int) {
	h.t.Helper()
	var wait sync.WaitGroup
	var mu sync.Mutex
	taken, refused := map[string]int{}, map[string]int{}
	for i := range n {
		wait.Go(func() {
			text := []string{"yes", "no"}[i%2]
			_, err := h.client.Answer(h.t.Context(), custody.Answer{Request: "p-aaaa1111", Text: text, By: fmt.Sprint("person ", i)})
			mu.Lock()
			defer mu.Unlock()
			var first *client.AnsweredError
			switch {
			case err == nil:
				taken[text]++
			case errors.As(err, &first):
				refused[first.First.Text]++
			default:
				h.t.Errorf("answer: %v", err)
			}
		})
	}
	wait.Wait()
	if len(taken) != 1 || len(refused) != 1 {
		h.t.Errorf("taken: %v, refused for: %v", taken, refused)
	}
	for text, n := range taken {
		if n == 0 || refused[text] == 0 {
			h.t.Errorf("taken: %v, refused for: %v", taken, refused)
		}
	}
}

// holds fails if the engine has a text in the clear.
func (e *engine) holds(t *testing.T, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(e.folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the engine has no files: %v", err)
	}
	known := false
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		known = known || strings.Contains(string(b), "p-aaaa1111")
		if strings.Contains(string(b), text) {
			t.Errorf("%s holds %s in the clear", filepath.Base(f), text)
		}
	}
	if !known {
		t.Error("the engine's files do not even hold an id: the wrong files were looked at")
	}
}

// untilLetGo drives until the workflow lets go, as a worker does.
func untilLetGo(ctx context.Context) (custody.Report, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		activity.RecordHeartbeat(ctx, custody.Progress{Facts: 9, Turn: 3, Call: "shell", Log: 2, Later: canary})
		select {
		case <-ctx.Done():
			return custody.Report{}, ctx.Err()
		case <-tick.C:
		}
	}
}

func TestAMoveOnAServer(t *testing.T) {
	e := newEngine(t)
	h := newHosts(t, connected(t, e), "h-1", "h-2")
	h.drives(func(ctx context.Context, host string, d custody.Drive) (custody.Report, error) {
		switch {
		case d.Step.Hand:
			return custody.Report{Status: "interrupted", Cause: "shutdown", Facts: 12, Place: 3, Turn: 4, Handed: true}, nil
		case host == "h-2":
			return done, nil
		}
		return untilLetGo(ctx)
	})
	run := h.start(custody.Run{})
	row, err := h.client.Wait(within(t, time.Minute), run, 20*time.Millisecond, func(r client.Row) bool { return r.Progress != nil }, func(client.Row) {})
	if err != nil || row.Progress.Call != "shell" || row.Host != "h-1" {
		t.Fatalf("it is %+v: %v", row, err)
	}
	if _, err := h.client.Move(t.Context(), run, custody.Move{To: "h-9", By: "ada"}); err == nil || !strings.Contains(err.Error(), "h-9") {
		t.Errorf("a move to nowhere gave %v", err)
	}
	if _, err := h.client.Move(t.Context(), run, custody.Move{To: "h-2", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	if row := h.until(run, "completed"); row.Host != "h-2" {
		t.Errorf("it is %+v", row)
	}
	if _, err := h.client.Resume(t.Context(), run); !errors.As(err, new(*client.RefusedError)) {
		t.Errorf("a run that has ended was resumed: %v", err)
	}
	h.save(run, "move")
	e.holdsOnly(t)
}

func (e *engine) holdsOnly(t *testing.T) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(e.folder, "*"))
	for _, f := range files {
		if b, err := os.ReadFile(f); err != nil || strings.Contains(string(b), canary) {
			t.Errorf("%s holds a canary: %v", f, err)
		}
	}
}

func TestAHostThatVanishesOnAServer(t *testing.T) {
	e := newEngine(t)
	h := newHosts(t, connected(t, e), "h-1", "h-2")
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	h.drives(func(ctx context.Context, host string, d custody.Drive) (custody.Report, error) {
		if host == "h-1" {
			activity.RecordHeartbeat(ctx, custody.Progress{Facts: 9, Turn: 3, Log: 2})
			<-release // not another word
			return custody.Report{}, errors.New("too late")
		}
		if !d.Step.Resume {
			t.Errorf("%s was asked for %+v", host, d.Step)
		}
		return done, nil
	})
	run := h.start(custody.Run{Away: -1})
	if row := h.until(run, "completed"); row.Host != "h-2" {
		t.Errorf("it is %+v", row)
	}
	h.save(run, "vanished")
}

func TestACancelOnAServer(t *testing.T) {
	e := newEngine(t)
	h := newHosts(t, connected(t, e), "h-1")
	h.drives(func(ctx context.Context, _ string, d custody.Drive) (custody.Report, error) {
		if d.Step.Cancel {
			return custody.Report{Status: "cancelled", Exit: 6, Facts: 12}, nil
		}
		return untilLetGo(ctx)
	})
	run := h.start(custody.Run{})
	h.until(run, "running")
	for range 2 {
		if err := h.client.Cancel(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		h.until(run, "cancelled")
	}
	if err := h.client.Cancel(t.Context(), "r-00000000"); !errors.As(err, new(*client.UnknownRunError)) {
		t.Errorf("a run that nobody began was cancelled: %v", err)
	}
	h.save(run, "cancel")
}

func TestALongRunOnAServer(t *testing.T) {
	e := newEngine(t)
	h := newHosts(t, connected(t, e), "h-1")
	const questions = 135
	n := 0
	h.drives(func(_ context.Context, _ string, d custody.Drive) (custody.Report, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if n++; n > questions {
			return done, nil
		}
		r := publish
		q := *r.Request
		q.ID, r.Request, r.Facts = fmt.Sprintf("p-%08d", n), &q, int64(20*n)
		return r, nil
	})
	run := h.start(custody.Run{Key: "long"})
	for i := 1; i <= questions; i++ {
		id := fmt.Sprintf("p-%08d", i)
		_, err := h.client.Wait(within(t, time.Minute), run, 5*time.Millisecond, func(r client.Row) bool {
			return r.Request != nil && r.Request.ID == id
		}, func(client.Row) {})
		if err != nil {
			t.Fatalf("wait for %s: %v", id, err)
		}
		if _, err := h.client.Answer(t.Context(), custody.Answer{Request: id, Text: "yes", By: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	h.until(run, "completed")
	if again := h.start(custody.Run{Key: "long"}); again != run {
		t.Errorf("the key began %s and %s", run, again)
	}
	d, err := h.client.Engine().DescribeWorkflow(t.Context(), custody.RunWorkflow+run, "")
	if err != nil || d.WorkflowExecution.RunID == "" || d.WorkflowExecutionMetadata.HistoryLength > 2100 {
		t.Fatalf("its history: %+v: %v", d, err)
	}
	h.save(run, "long")
}

func TestAScheduleOnAServer(t *testing.T) {
	e := newEngine(t)
	h := newHosts(t, connected(t, e), "h-1")
	h.drives(func(context.Context, string, custody.Drive) (custody.Report, error) { return publish, nil })
	ctx := within(t, time.Minute)
	s := client.Schedule{Name: "often", Cron: []string{"@every 1s"}, Zone: "UTC", Run: custody.Run{Prompt: canary, By: "ada"}}
	if err := h.client.AddSchedule(ctx, s); err != nil {
		t.Fatal(err)
	}
	if err := h.client.AddSchedule(ctx, s); err == nil || !strings.Contains(err.Error(), "schedule rm often") {
		t.Errorf("the same schedule once more gave %v", err)
	}
	var rows []client.Row
	for len(rows) == 0 || rows[0].Status != "waiting" {
		var err error
		if rows, err = h.client.List(ctx, false); err != nil {
			t.Fatal(err)
		}
	}
	all, err := h.client.Schedules(ctx)
	for err == nil && len(all) == 0 { // the list is a little behind
		all, err = h.client.Schedules(ctx)
	}
	if err != nil || len(all) != 1 || all[0].Name != "often" {
		t.Errorf("the schedules are %+v: %v", all, err)
	}
	if err := h.client.RemoveSchedule(ctx, "often"); err != nil {
		t.Fatal(err)
	}
	if rows, err = h.client.List(ctx, true); err != nil || len(rows) != 1 {
		t.Errorf("while its run waited a schedule began others: %+v: %v", rows, err)
	}
	if err := h.client.RemoveSchedule(ctx, "often"); err == nil {
		t.Error("a schedule was removed twice")
	}
}
