//go:build unix

package command_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/scripts/testkit"
)

// The binary serves a folder in which nothing was ever run, refuses a second server by naming the
// first, shows runs and takes an answer, and says at its end that no run is touched.
func TestServe(t *testing.T) {
	dir, err := os.MkdirTemp("", "s") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	home := filepath.Join(dir, "state")
	agent := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), filepath.Join(binDir(), "agent"), args...)
		c.Dir, c.Env = dir, append(os.Environ(), "AGENT_HOME="+home, "HOME="+dir)
		return c
	}
	server := agent("serve")
	said, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	first, err := lines.ReadString('\n')
	if err != nil || !strings.HasPrefix(first, fmt.Sprintf("agent serve: process %d, socket %s", server.Process.Pid, home)) {
		t.Fatalf("%q, %v", first, err)
	}
	if out, err := agent("serve").CombinedOutput(); err == nil || !strings.Contains(string(out), fmt.Sprintf("agent: serve: process %d on ", server.Process.Pid)) {
		t.Errorf("a second server: %v, %s", err, out)
	}
	book := "- ask_user \"Which one?\" first second\n"
	run := agent("run", "--runbook", "--json", book)
	out, _ := run.Output() // it ends with 3: it waits
	var waiting struct {
		Run     string `json:"run_id"`
		Request struct {
			ID string `json:"id"`
		} `json:"pending_request"`
	}
	if err := json.Unmarshal(out, &waiting); err != nil || waiting.Request.ID == "" {
		t.Fatalf("%s: %v", out, err)
	}
	ask := func(method, path, body string) string {
		t.Helper()
		return askServer(t, home, method, path, body)
	}
	if got := ask("GET", "/v1/runs/"+waiting.Run, ""); !strings.Contains(got, `"status":"waiting"`) {
		t.Error(got)
	}
	if got := ask("POST", "/v1/pending/"+waiting.Request.ID+"/answer", `{"answer":"second"}`); !strings.Contains(got, `"answer":"second"`) || !strings.Contains(got, "(api)") {
		t.Error(got)
	}
	testkit.Until(t, "the run goes on by itself", func() bool {
		got := ask("GET", "/v1/runs/"+waiting.Run, "")
		return strings.Contains(got, `"status":"completed"`) && strings.Contains(got, `"detached":true`)
	})
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if waitErr := server.Wait(); err != nil || waitErr != nil || !strings.Contains(string(rest), "the server has ended (") || !strings.Contains(string(rest), "no run is touched by that") {
		t.Errorf("%v, %v: %s", err, waitErr, rest)
	}
}

// askServer asks a server through its socket.
func askServer(t *testing.T, home, method, path, body string) string {
	t.Helper()
	_, text, err := tryServer(t, home, method, path, body, "")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// tryServer asks a server that may end before it answers. key is that of a start; "" for none.
func tryServer(t *testing.T, home, method, path, body, key string) (status int, text string, err error) {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(home, "serve.sock"))
	}}}
	a, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer a.Body.Close()
	all, err := io.ReadAll(a.Body)
	return a.StatusCode, string(all), err
}
