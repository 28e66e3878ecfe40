package client_test

import (
	"bufio"
	"context"
	"errors"
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
	hand  string   // the host that carries out the workflows, where it has a free slot
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
		w.RegisterActivityWithOptions(func(context.Context, custody.Offer) (custody.Taken, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return custody.Taken{Host: h.hand}, nil
		}, activity.RegisterOptions{Name: custody.ActivityTake})
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
	w := worker.New(h.client.Engine(), queue, worker.Options{WorkerStopTimeout: time.Second}) // time: what its end waits for what a test left
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
