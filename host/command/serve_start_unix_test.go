//go:build unix

package command_test

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agent/scripts/testkit"
)

// served is a state folder with servers that come and go.
type servedFolder struct {
	t    *testing.T
	dir  string
	home string
	env  []string // of its servers, beside that of the tests
	now  *exec.Cmd
	rest chan string // what it printed until its end, once it has ended
}

func newServedFolder(t *testing.T) *servedFolder {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	f := &servedFolder{t: t, dir: dir, home: filepath.Join(dir, "state")}
	t.Cleanup(f.stop) // before the folder goes
	return f
}

func (f *servedFolder) agent(env []string, args ...string) *exec.Cmd {
	c := exec.CommandContext(f.t.Context(), filepath.Join(binDir(), "agent"), args...)
	c.Dir, c.Env = f.dir, append(append(os.Environ(), "AGENT_HOME="+f.home, "HOME="+f.dir), env...)
	return c
}

// serve starts a server that comes by a fault point; "" for none.
func (f *servedFolder) serve(point string) {
	f.t.Helper()
	env := f.env
	if point != "" {
		env = []string{"AGENT_FAULT=" + point, "AGENT_FAULT_UNSAFE=1"}
	}
	f.now = f.agent(env, "serve")
	said, err := f.now.StderrPipe()
	if err == nil {
		err = f.now.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			f.t.Fatal(err)
		}
		if strings.HasPrefix(line, "agent serve: process ") {
			break
		}
	}
	f.rest = make(chan string, 1)
	go func(rest chan<- string) {
		text, _ := io.ReadAll(lines) // a pipe of a process that was killed ends like any other
		rest <- string(text)
	}(f.rest)
}

func (f *servedFolder) stop() {
	if f.now == nil {
		return
	}
	_ = f.now.Process.Signal(syscall.SIGTERM) // it may have been killed
	_ = f.now.Wait()
	f.now = nil
}

// start asks for a run, with the key k.
func (f *servedFolder) start(prompt string) (status int, run string, err error) {
	f.t.Helper()
	body, err := json.Marshal(map[string]any{"prompt": prompt, "folder": f.dir, "runbook": true, "mode": "yolo"})
	if err != nil {
		f.t.Fatal(err)
	}
	status, text, err := tryServer(f.t, f.home, "POST", "/v1/runs", string(body), "k")
	var v struct {
		Run string `json:"run_id"`
	}
	if err == nil && json.Unmarshal([]byte(text), &v) != nil || status >= 400 {
		err = fmt.Errorf("%d %s", status, text)
	}
	return status, v.Run, err
}

// waits until a run is in a status.
func (f *servedFolder) until(run, status string) {
	f.t.Helper()
	testkit.Until(f.t, "run "+run+" is "+status, func() bool {
		return strings.Contains(askServer(f.t, f.home, "GET", "/v1/runs/"+run, ""), fmt.Sprintf(`"status":%q`, status))
	})
}

// Whoever is killed between a request and its answer, server or driver, at any point: asked again
// with the key it is one run, and its effect is there once. // promise 8
func TestServeStartsOnce(t *testing.T) {
	t.Parallel()
	for _, point := range []string{
		"", "launch.spawned", "launch.accepted", "drive:process.started", "drive:db.before_commit", "drive:db.after_commit",
		"drive:run.after_lock", "drive:run.after_claim", "drive:call.after_started",
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			f := newServedFolder(t)
			f.serve(point)
			const prompt = "```sh\necho did >> effect\n```\n"
			_, first, err := f.start(prompt)
			if point == "" && err != nil || point != "" && strings.HasPrefix(point, "launch.") && err == nil {
				t.Fatalf("%s, %v", first, err)
			}
			f.stop()
			f.serve("")
			status, run, err := f.start(prompt)
			if err != nil || first != "" && (run != first || status != 200) {
				t.Fatalf("first %q, then %d %q, %v", first, status, run, err)
			}
			f.until(run, "completed")
			if effect, err := os.ReadFile(filepath.Join(f.dir, "effect")); err != nil || string(effect) != "did\n" {
				t.Errorf("%q, %v", effect, err)
			}
			list := askServer(t, f.home, "GET", "/v1/runs", "")
			if strings.Count(list, `"id":"r-`) != 1 {
				t.Error(list)
			}
			if _, _, err := f.start("```sh\necho other >> effect\n```\n"); err == nil || !strings.Contains(err.Error(), "key_reused") {
				t.Errorf("another request with the key: %v", err)
			}
		})
	}
}

// A newer agent brings the database up to date while this one serves it: the server ends with 1,
// and says that it is to be started again.
func TestServeEndsForANewerFormat(t *testing.T) {
	t.Parallel()
	f := newServedFolder(t)
	f.serve("")
	file, err := sql.Open("sqlite", "file:"+f.home+"/agent.db?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	var was int
	if err := file.QueryRow("PRAGMA user_version").Scan(&was); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Exec(fmt.Sprintf("PRAGMA user_version = %d", was+1)); err != nil {
		t.Fatal(err)
	}
	said := <-f.rest
	var code *exec.ExitError
	if err := f.now.Wait(); !errors.As(err, &code) || code.ExitCode() != 1 || !strings.Contains(said, "restart me") {
		t.Errorf("%v: %s", err, said)
	}
	f.now = nil
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

// A state folder that cannot be written has no place for the server's socket: that is said, with
// the commands that help.
func TestServeInReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("for root no mode keeps anybody out")
	}
	f := newServedFolder(t)
	f.serve("")
	f.stop()
	if err := os.Remove(filepath.Join(f.home, "locks", "store")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(f.home, "locks"), f.home} {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(dir, 0o700) // else it cannot be removed, which would be reported
	}
	for _, command := range [][]string{{"serve"}, {"web", "--no-open", "--port", "0"}} {
		out, err := f.agent(nil, command...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("agent %s: %v", command[0], err)
		}
		for _, want := range []string{"the socket of a server lies in " + f.home + ", which cannot be written", "agent ls --all\n", "AGENT_HOME=FOLDER agent serve\n"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("agent %s does not say %q:\n%s", command[0], want, out)
			}
		}
	}
}
