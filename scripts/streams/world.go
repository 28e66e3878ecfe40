//go:build linux

package main

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
	"strings"
	"time"
)

// world is a state folder, a workspace, a model and the binary.
type world struct {
	options
	dir, exe, home, work string
	model                *pacedModel
	server               *exec.Cmd
}

func newWorld(ctx context.Context, o options) (*world, error) {
	dir, err := os.MkdirTemp("", "streams-")
	if err != nil {
		return nil, err
	}
	w := &world{options: o, dir: dir, exe: filepath.Join(dir, "agent"), home: filepath.Join(dir, "state"), work: filepath.Join(dir, "work")}
	if err := w.build(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if w.model, err = startModel(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	config := fmt.Sprintf("[providers.paced]\nkind = \"chat\"\nbase_url = %q\napi_key_env = \"PACED_KEY\"\n", w.model.url)
	err = errors.Join(os.MkdirAll(filepath.Join(dir, ".config", "agent"), 0o700), os.Mkdir(w.work, 0o700),
		os.WriteFile(filepath.Join(dir, ".config", "agent", "config.toml"), []byte(config), 0o600),
		os.WriteFile(filepath.Join(w.work, "in.txt"), []byte("the file\n"), 0o600))
	return w, err
}

func (w *world) build(ctx context.Context, more ...string) error {
	args := append([]string{"build", "-tags", "urfave_cli_no_template", "-trimpath", "-ldflags", "-s -w", "-o", w.exe}, more...)
	c := exec.CommandContext(ctx, "go", append(args, "agent")...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build the binary: %v\n%s", err, text)
	}
	return nil
}

// rebuild builds a broken binary: one in which a text of a file is another one.
func (w *world) rebuild(ctx context.Context, file, old, broken string) error {
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
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: filepath.Join(w.dir, "broken.go")}})
	if err != nil {
		return err
	}
	err = errors.Join(os.WriteFile(filepath.Join(w.dir, "broken.go"), []byte(strings.ReplaceAll(string(text), old, broken)), 0o600),
		os.WriteFile(filepath.Join(w.dir, "overlay.json"), overlay, 0o600), os.Remove(w.exe))
	if err != nil {
		return err
	}
	return w.build(ctx, "-overlay", filepath.Join(w.dir, "overlay.json"))
}

func (w *world) close() error {
	w.kill()
	w.model.close()
	return os.RemoveAll(w.dir)
}

func (w *world) command(args ...string) *exec.Cmd {
	c := exec.Command(w.exe, args...)
	c.Dir = w.work
	c.Env = append(os.Environ(), "AGENT_HOME="+w.home, "HOME="+w.dir, "XDG_CONFIG_HOME=", "NO_COLOR=1", "PACED_KEY=sk-paced-0123456789")
	return c
}

// begin starts a run in the background, and gives its id and its process.
func (w *world) begin(args ...string) (run string, pid int, err error) {
	c := w.command(append([]string{"run", "--detach", "--json"}, args...)...)
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

// paced starts a run of the paced model.
func (w *world) paced() (run string, pid int, err error) {
	return w.begin("--model", "paced/test", "--mode", "yolo", "--max-turns", "100000", "go")
}

// serve starts the server, and returns once it listens.
func (w *world) serve(args ...string) error {
	c := w.command(append([]string{"serve"}, args...)...)
	said, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return err
	}
	w.server = c
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

func (w *world) kill() {
	if w.server != nil {
		_ = w.server.Process.Kill() // it is there until Wait
		_ = w.server.Wait()         // it was killed
		w.server = nil
	}
}

func (w *world) token() (string, error) {
	text, err := os.ReadFile(filepath.Join(w.home, "token"))
	return strings.TrimSpace(string(text)), err
}

func (w *world) socket() string { return filepath.Join(w.home, "serve.sock") }

// client speaks through the socket, with a connection for each request.
func (w *world) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", w.socket())
	}}}
}

// get reads what the server has at a path.
func (w *world) get(ctx context.Context, path string, into any) error {
	token, err := w.token()
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, "GET", "http://localhost"+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	a, err := w.client().Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, a.Status)
	}
	return json.NewDecoder(a.Body).Decode(into)
}

// facts are the lines of a run's facts, as pages give them, by their numbers.
func (w *world) facts(ctx context.Context, run string) ([]string, error) {
	var list []string
	for after := ""; ; {
		var page struct {
			Facts  []json.RawMessage `json:"facts"`
			Cursor string            `json:"cursor"`
		}
		if err := w.get(ctx, "/v1/runs/"+run+"/facts?limit=500&after="+after, &page); err != nil {
			return nil, err
		}
		if len(page.Facts) == 0 {
			return list, nil
		}
		for _, f := range page.Facts {
			list = append(list, string(f))
		}
		after = page.Cursor
	}
}

// wait asks again and again until ok.
func wait(ctx context.Context, most time.Duration, what string, ok func() (bool, error)) error {
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
