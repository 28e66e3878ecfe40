package page

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/host/app"
	"agent/host/model/modeltest"
	"agent/host/serve/servetest"
	"agent/scripts/testkit/testbin"
)

const (
	patience = time.Minute // for one thing to happen
	model    = "anthropic/claude-test"
)

// world is a state folder with a workspace, a model on loopback, and the program that serves them.
type world struct {
	t      *testing.T
	dir    string
	home   string
	folder string // the workspace
	model  *modeltest.Server
	page   string // where the page is
	server *exec.Cmd
}

func newWorld(t *testing.T, script modeltest.Script) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, home: filepath.Join(dir, "state"), folder: filepath.Join(dir, "work")}
	t.Cleanup(w.remove)
	for _, d := range []string{w.folder, filepath.Join(dir, "home")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if w.model, err = modeltest.Start(modeltest.Options{Script: script}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.model.Close() }) // what is held there is of no use any more
	return w
}

// remove ends the runs that are under way, by name, and then removes the folder.
func (w *world) remove() {
	w.stop(os.Interrupt)
	var list struct {
		Runs []struct{ ID, Status string }
	}
	if text, err := w.command("ls", "--all", "--json").Output(); err == nil && json.Unmarshal(text, &list) == nil {
		for _, r := range list.Runs {
			switch r.Status {
			case "running", "waiting", "queued":
				_ = w.command("cancel", r.ID).Run() // it may have ended meanwhile
			}
		}
	}
	if err := os.RemoveAll(w.dir); err != nil {
		w.t.Logf("remove %s: %v", w.dir, err)
	}
}

func (w *world) command(args ...string) *exec.Cmd {
	c := exec.Command(testbin.Agent(w.t), args...)
	c.Dir = w.folder
	c.Env = []string{
		"AGENT_HOME=" + w.home, "HOME=" + filepath.Join(w.dir, "home"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8", "USER=anna",
		"ANTHROPIC_API_KEY=" + modeltest.DefaultKey, "ANTHROPIC_BASE_URL=" + w.model.URL(), "AGENT_MODEL=" + model,
	}
	return c
}

// agent runs a command to its end and returns what it printed.
func (w *world) agent(args ...string) string {
	w.t.Helper()
	var out, complaints bytes.Buffer
	c := w.command(args...)
	c.Stdout, c.Stderr = &out, &complaints
	if err := c.Run(); err != nil {
		w.t.Fatalf("agent %s: %v\n%s%s", strings.Join(args, " "), err, &out, &complaints)
	}
	return out.String() + complaints.String()
}

var runID = regexp.MustCompile(`r-[0-9a-z]{8}`)

var pending = regexp.MustCompile(`p-[0-9a-z]{8}`)

// run starts a run in the background and returns its id.
func (w *world) run(prompt string, flags ...string) string {
	w.t.Helper()
	args := append([]string{"run", "--detach", "--model", model}, flags...)
	return runID.FindString(w.agent(append(args, prompt)...))
}

// waiting starts a run that asks, and returns its id once it waits for the answer.
func (w *world) waiting(prompt string) string {
	w.t.Helper()
	run := w.run(prompt)
	w.eventually("run "+run+" waits", func() bool { return w.status(run) == "waiting" })
	return run
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)

// serve starts the server, at the port where it was before if there was one.
func (w *world) serve(flags ...string) *world {
	w.t.Helper()
	port := "0"
	if w.page != "" {
		_, port, _ = net.SplitHostPort(strings.TrimPrefix(w.page, "http://"))
	}
	c := w.command(append([]string{"serve", "--web", "--port", port}, flags...)...)
	said, err := c.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.server = c
	lines := bufio.NewScanner(said)
	var all []string
	for lines.Scan() {
		all = append(all, lines.Text())
		if w.page = address.FindString(lines.Text()); w.page != "" {
			go func() { _, _ = io.Copy(io.Discard, said) }() // it goes on printing
			return w
		}
	}
	w.t.Fatalf("the server does not say where its page is:\n%s", strings.Join(all, "\n"))
	return nil
}

// stop ends the server.
func (w *world) stop(how os.Signal) {
	if w.server == nil {
		return
	}
	_ = w.server.Process.Signal(how)
	_ = w.server.Wait() // it was asked to end, or killed
	w.server = nil
}

func (w *world) kill() { w.stop(syscall.SIGKILL) }

// link is where a person is sent to log in.
func (w *world) link() string {
	w.t.Helper()
	link := regexp.MustCompile(`http://\S+#login=\S+`).FindString(w.agent("web", "--no-open", "--port", "0"))
	if link == "" {
		w.t.Fatal("agent web prints no link")
	}
	return link
}

// token asks the server as a program does.
func (w *world) ask(method, path string, body any) (int, map[string]any) {
	w.t.Helper()
	token, err := os.ReadFile(filepath.Join(w.home, "token"))
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := http.NewRequest(method, w.page+path, bytes.NewReader(text))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer a.Body.Close()
	var v map[string]any
	if err := json.NewDecoder(a.Body).Decode(&v); err != nil {
		w.t.Fatalf("%s %s: %d: %v", method, path, a.StatusCode, err)
	}
	return a.StatusCode, v
}

// journals writes into the state folder as whoever drives runs does; no server may be up.
func (w *world) journals(write func(ctx context.Context, j *servetest.Journals) error) {
	w.t.Helper()
	env := map[string]string{"AGENT_HOME": w.home, "HOME": filepath.Join(w.dir, "home")}
	a := &app.App{Env: func(k string) string { return env[k] }, Version: "test", Notice: func(string) {}, Complaints: io.Discard}
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	folder, err := a.Open(ctx, app.Drive)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := folder.Begin(ctx, app.Drive); err != nil {
		w.t.Fatal(err)
	}
	if err := write(ctx, servetest.New(folder.Store)); err != nil {
		w.t.Fatal(err)
	}
	folder.End()
	if err := folder.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// eventually waits for something outside the browser.
func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); !ok(); {
		select {
		case <-tick.C:
		case <-late:
			w.t.Fatalf("still not so: %s", what)
		}
	}
}

func (w *world) status(run string) string {
	_, v := w.ask("GET", "/v1/runs/"+run, nil)
	r, _ := v["run"].(map[string]any)
	return fmt.Sprint(r["status"])
}

func (w *world) touch(name string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.folder, name), nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
}
