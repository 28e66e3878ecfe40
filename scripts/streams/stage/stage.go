//go:build linux

// Package stage is a state folder, a workspace, a model and the built binary, for programs that
// look at a server from outside.
package stage

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"agent/scripts/testkit/testbin"
	"agent/tools/process/procfs"
)

// Stage is one of them. Its methods are for one goroutine.
type Stage struct {
	Dir, Exe, Home, Work string
	Model                *Model
	Server               *exec.Cmd // nil while there is none
}

// New makes one in a folder that is removed at the end. An empty exe is the binary of the sources.
func New(ctx context.Context, exe string) (*Stage, error) {
	dir, err := os.MkdirTemp("", "streams-")
	if err != nil {
		return nil, err
	}
	w := &Stage{Dir: dir, Exe: exe, Home: filepath.Join(dir, "state"), Work: filepath.Join(dir, "work")}
	if exe == "" {
		var folder string
		folder, err = testbin.Make(testbin.Form{})
		w.Exe = filepath.Join(folder, testbin.Form{}.Program())
	}
	if err == nil {
		w.Model, err = StartModel()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	config := fmt.Sprintf("[providers.paced]\nkind = \"chat\"\nbase_url = %q\napi_key_env = \"PACED_KEY\"\n[serve]\ndrivers = 8\n", w.Model.URL)
	err = errors.Join(os.MkdirAll(filepath.Join(dir, ".config", "agent"), 0o700), os.Mkdir(w.Work, 0o700),
		os.WriteFile(filepath.Join(dir, ".config", "agent", "config.toml"), []byte(config), 0o600),
		os.WriteFile(filepath.Join(w.Work, "in.txt"), []byte("the file\n"), 0o600))
	return w, err
}

// Break builds a broken binary in the stage's folder, and has the stage use it: one in which a text
// of a file is another one.
func (w *Stage) Break(ctx context.Context, file, old, broken string) error {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "agent").Output()
	if err != nil {
		return fmt.Errorf("find the module: %v", err)
	}
	path := filepath.Join(strings.TrimSpace(string(root)), file)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), old) {
		return fmt.Errorf("%s has no %q to break", file, old)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: filepath.Join(w.Dir, "broken.go")}})
	if err != nil {
		return err
	}
	err = errors.Join(os.WriteFile(filepath.Join(w.Dir, "broken.go"), []byte(strings.ReplaceAll(string(text), old, broken)), 0o600),
		os.WriteFile(filepath.Join(w.Dir, "overlay.json"), overlay, 0o600))
	if err != nil {
		return err
	}

	w.Exe = filepath.Join(w.Dir, "agent")
	c := exec.CommandContext(ctx, "go", "build", "-tags", "urfave_cli_no_template", "-overlay", filepath.Join(w.Dir, "overlay.json"), "-o", w.Exe, "agent")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build a broken binary: %v\n%s", err, text)
	}
	return nil
}

// Close ends the server and the model, and removes the folder.
func (w *Stage) Close() error {
	w.Kill()
	err := w.EndRuns()
	w.Model.Close()
	return errors.Join(err, os.RemoveAll(w.Dir))
}

// Command is one of the binary.
func (w *Stage) Command(args ...string) *exec.Cmd {
	c := exec.Command(w.Exe, args...)
	c.Dir = w.Work
	c.Env = append(os.Environ(), "AGENT_HOME="+w.Home, "HOME="+w.Dir, "XDG_CONFIG_HOME=", "NO_COLOR=1", "PACED_KEY=sk-paced-0123456789")
	return c
}

// Begin starts a run in the background, and gives its id and its process.
func (w *Stage) Begin(args ...string) (run string, pid int, err error) {
	c := w.Command(append([]string{"run", "--detach", "--json"}, args...)...)
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	var v struct {
		Run string `json:"run_id"`
		PID int    `json:"process"`
	}
	if err == nil {
		err = json.Unmarshal(out, &v)
	}
	if err != nil {
		return "", 0, fmt.Errorf("start a run: %v\n%s%s", err, out, said.String())
	}
	return v.Run, v.PID, nil
}

// Paced starts a run of the paced model.
func (w *Stage) Paced() (run string, pid int, err error) {
	return w.Begin("--no-recover", "--model", "paced/test", "--mode", "yolo", "--max-turns", "100000", "go")
}

// Serve starts the server, and returns once it listens.
func (w *Stage) Serve(args ...string) error {
	c := w.Command(append([]string{"serve"}, args...)...)
	said, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return err
	}
	w.Server = c
	lines := bufio.NewScanner(said)
	var all []string
	for lines.Scan() {
		if strings.Contains(lines.Text(), "agent serve: process") {
			go func() {
				for lines.Scan() { // else it would wait for us
				}
			}()
			return nil
		}
		all = append(all, lines.Text())
	}
	return fmt.Errorf("the server does not come up: %s", strings.Join(all, "\n"))
}

// Kill ends the server at once.
func (w *Stage) Kill() {
	if w.Server != nil {
		_ = w.Server.Process.Kill() // it is there until Wait
		_ = w.Server.Wait()         // it was killed
		w.Server = nil
	}
}

// Token is the server's credential.
func (w *Stage) Token() (string, error) {
	text, err := os.ReadFile(filepath.Join(w.Home, "token"))
	return strings.TrimSpace(string(text)), err
}

// Socket is where it listens.
func (w *Stage) Socket() string { return filepath.Join(w.Home, "serve.sock") }

// Client speaks through the socket, with a connection for each request.
func (w *Stage) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", w.Socket())
	}}}
}

// Ask sends a request, and a body of JSON where there is one.
func (w *Stage) Ask(ctx context.Context, method, path, body string) (*http.Response, error) {
	token, err := w.Token()
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return w.Client().Do(r)
}

// Get reads what the server has at a path.
func (w *Stage) Get(ctx context.Context, path string, into any) error {
	a, err := w.Ask(ctx, "GET", path, "")
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, a.Status)
	}
	return json.NewDecoder(a.Body).Decode(into)
}

// EndRuns kills every process that the runs of the state folder have, and waits until they hold
// nothing any more.
func (w *Stage) EndRuns() error {
	var pids []string
	for _, p := range w.Processes() {
		pids = append(pids, strings.Fields(p)[0])
		pid, err := strconv.Atoi(pids[len(pids)-1])
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return Wait(context.Background(), time.Minute, "they are gone", func() (bool, error) {
		there := slices.ContainsFunc(pids, func(pid string) bool { // one that ends has no environment any more, and its locks yet
			stat, err := procfs.Read(pid)
			return err == nil && !stat.Dead()
		})
		return !there && len(w.Processes()) == 0, nil
	})
}

// Processes are those whose environment names this state folder, each with its command line.
func (w *Stage) Processes() (list []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !strings.Contains("\x00"+string(env), "\x00AGENT_HOME="+w.Home+"\x00") {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		list = append(list, filepath.Base(dir)+" "+strings.ReplaceAll(string(line), "\x00", " "))
	}
	return list
}

// Wait asks again and again until ok.
func Wait(ctx context.Context, most time.Duration, what string, ok func() (bool, error)) error {
	within, stop := context.WithTimeout(ctx, most)
	defer stop()
	for {
		done, err := ok()
		if done || err != nil {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-within.Done():
			return fmt.Errorf("wait until %s: %w", what, within.Err())
		}
	}
}
