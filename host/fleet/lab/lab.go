package lab

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Lab is a fleet.
type Lab struct {
	testing.TB
	Programs
	Dir    string
	LogURL string // of the fleet's log
	IP     string // of the engine
	Port   int

	engine *process
	mu     sync.Mutex
	hosts  map[string]*Host
}

// New begins a fleet that has an engine and no hosts yet, with its log in a folder.
func New(tb testing.TB) *Lab {
	tb.Helper()
	dir, err := os.MkdirTemp("/tmp", "fl") // the path of a socket is short
	if err != nil {
		tb.Fatal(err)
	}
	l := &Lab{TB: tb, Programs: find(), Dir: dir, IP: "127.0.0.1", hosts: map[string]*Host{}}
	tb.Cleanup(l.clean)
	key := make([]byte, 32)
	rand.Read(key)
	l.write("key", base64.StdEncoding.EncodeToString(key)+"\n")
	for _, name := range []string{"log", "effects", "books", "config/agent"} {
		if err := os.MkdirAll(l.path(name), 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	l.LogURL, l.Port = "dir:"+l.path("log"), freePort(tb)
	return l
}

// OneHost begins a fleet that has an engine and one host, h-01, whose worker has the arguments.
func OneHost(tb testing.TB, args ...string) (*Lab, *Host) {
	tb.Helper()
	l := New(tb)
	l.StartEngine()
	return l, l.Host("h-01", args...)
}

func (l *Lab) path(name ...string) string { return filepath.Join(append([]string{l.Dir}, name...)...) }

func (l *Lab) write(name, text string) {
	l.Helper()
	if err := os.WriteFile(l.path(name), []byte(text), 0o600); err != nil {
		l.Fatal(err)
	}
}

func freePort(tb testing.TB) int {
	tb.Helper()
	s, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer s.Close()
	return s.Addr().(*net.TCPAddr).Port
}

// clean ends every process, and keeps the folder of a test that failed.
func (l *Lab) clean() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.hosts {
		h.end()
	}
	if l.engine != nil {
		l.engine.kill()
	}
	if l.Failed() {
		l.Logf("everything is in %s", l.Dir)
		return
	}
	if err := os.RemoveAll(l.Dir); err != nil {
		l.TB.Log(err)
	}
}

// Address is where the engine listens.
func (l *Lab) Address() string { return net.JoinHostPort(l.IP, strconv.Itoa(l.Port)) }

// StartEngine starts the engine and waits until it answers.
func (l *Lab) StartEngine(args ...string) {
	l.Helper()
	all := append([]string{"-ip", l.IP, "-port", strconv.Itoa(l.Port), "-db", l.path("engine.db")}, args...)
	l.engine = start(l, "engine", exec.Command(l.Server, all...))
	l.engine.says("temporal-server is ready", time.Minute)
}

// KillEngine ends the engine as a crash does.
func (l *Lab) KillEngine() { l.engine.kill() }

// Call runs a command of agent-fleet, and gives its output and exit code.
func (l *Lab) Call(args ...string) (out, errs string, code int) {
	l.Helper()
	cmd := exec.Command(l.Fleet, args...)
	cmd.Env = append(os.Environ(), "AGENT_FLEET_ENGINE="+l.Address(), "AGENT_FLEET_KEY="+l.path("key"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		l.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// Run is a run as agent-fleet describes it.
type Run struct {
	ID      string `json:"run_id"`
	Existed bool   `json:"existed"` // it was there under its key
	Status  string `json:"status"`
	Exit    int    `json:"exit_code"`
	Host    string `json:"host"`
	Reason  string `json:"reason"`
	Text    string `json:"text"`
	Unknown []any  `json:"unknown"`

	Progress *struct {
		Log int64 `json:"log"` // the last place
	} `json:"progress"`
	Asked *struct {
		ID   string `json:"id"`
		Kind string `json:"kind"`
		Text string `json:"text"`
	} `json:"pending_request"`
}

// Ended reports whether nothing more becomes of it.
func (r Run) Ended() bool {
	return r.Status == "completed" || r.Status == "failed" || r.Status == "cancelled"
}

// Asks reports whether it waits for an answer.
func (r Run) Asks() bool { return r.Asked != nil }

// Rests reports whether it does nothing more without an answer.
func (r Run) Rests() bool { return r.Asks() || r.Ended() }

// Begin has the fleet carry out a runbook of steps, and gives the run's id. A step is a command, or
// a question if it begins with a question mark.
func (l *Lab) Begin(name string, steps []string, args ...string) string {
	l.Helper()
	var book strings.Builder
	book.WriteString(Runbook + "# " + name + "\n")
	for i, step := range steps {
		if q, ok := strings.CutPrefix(step, "?"); ok {
			fmt.Fprintf(&book, "\n- confirm_action %q\n", q)
			continue
		}
		fmt.Fprintf(&book, "\n```sh\necho %s.%d >> %s; %s\n```\n", name, i+1, l.path("effects", name), step)
	}
	r, errs, code := l.Ask(l.Book(name, book.String()), append([]string{"--key", name}, args...)...)
	if r.ID == "" {
		l.Fatalf("begin %s: exit %d: %s", name, code, errs)
	}
	return r.ID
}

// InStep is Begin for a run that is in one of its steps when its id is given: its line is written,
// and what the step does then goes on.
func (l *Lab) InStep(step int, name string, steps []string, args ...string) string {
	l.Helper()
	id := l.Begin(name, steps, args...)
	l.UntilEffect(name, step, time.Minute)
	return id
}

// Runbook is what a runbook begins with.
const Runbook = "---\nagent: runbook\n---\n"

// Book writes a runbook, and names its file.
func (l *Lab) Book(name, text string) string {
	l.Helper()
	l.write("books/"+name+".md", text)
	return l.path("books", name+".md")
}

// Ask asks for a run of the runbook in a file; it is no run if that was refused.
func (l *Lab) Ask(file string, args ...string) (r Run, errs string, code int) {
	l.Helper()
	out, errs, code := l.Call(append([]string{"run", "--json", "--runbook", "--mode", "yolo", "-f", file}, args...)...)
	if json.Unmarshal([]byte(out), &r) != nil {
		return Run{}, errs, code
	}
	return r, errs, code
}

// Show describes a run.
func (l *Lab) Show(id string) (r Run, ok bool) {
	l.Helper()
	out, _, _ := l.Call("show", "--json", id)
	return r, json.Unmarshal([]byte(out), &r) == nil && r.ID == id
}

// Do has agent-fleet carry out a command, and fails the test if it does not.
func (l *Lab) Do(args ...string) (out string) {
	l.Helper()
	out, errs, code := l.Call(args...)
	if code != 0 {
		l.Fatalf("agent-fleet %s: exit %d: %s", strings.Join(args, " "), code, errs)
	}
	return out
}

// Try is Do for a command that may be refused.
func (l *Lab) Try(args ...string) (errs string, code int) {
	l.Helper()
	_, errs, code = l.Call(args...)
	return errs, code
}

// Until waits until a run is as it should be.
func (l *Lab) Until(id, what string, limit time.Duration, is func(Run) bool) Run {
	l.Helper()
	var r Run
	ok := Wait(limit, func() bool {
		now, known := l.Show(id)
		if known {
			r = now
		}
		return known && is(now)
	})
	if !ok {
		l.Fatalf("run %s is not %s after %s: %+v", id, what, limit, r)
	}
	return r
}

// Wait looks until something is so.
func Wait(limit time.Duration, is func() bool) bool {
	t := time.NewTicker(200 * time.Millisecond)
	defer t.Stop()
	for end := time.Now().Add(limit); ; <-t.C {
		if is() {
			return true
		}
		if time.Now().After(end) { // time: a module of its own, which the kit of the others is not in
			return false
		}
	}
}

// Effects counts what the commands of a run did: how often each step.
func (l *Lab) Effects(name string) map[string]int {
	l.Helper()
	out := map[string]int{}
	b, err := os.ReadFile(l.path("effects", name))
	if err != nil && !os.IsNotExist(err) {
		l.Fatal(err)
	}
	for line := range strings.FieldsSeq(string(b)) {
		out[line]++
	}
	return out
}

// UntilEffect waits until a step was done.
func (l *Lab) UntilEffect(name string, step int, limit time.Duration) {
	l.Helper()
	key := fmt.Sprintf("%s.%d", name, step)
	if !Wait(limit, func() bool { return l.Effects(name)[key] > 0 }) {
		l.Fatalf("step %s was not done within %s: %v", key, limit, l.Effects(name))
	}
}

// Once fails the test where a step was done twice, or one that should have been done was not.
func (l *Lab) Once(name string, steps ...int) {
	l.Helper()
	got := l.Effects(name)
	for key, n := range got {
		if n > 1 {
			l.Errorf("%s was done %d times", key, n)
		}
	}
	for _, step := range steps {
		if got[fmt.Sprintf("%s.%d", name, step)] == 0 {
			l.Errorf("step %d of %s was not done: %v", step, name, got)
		}
	}
}
