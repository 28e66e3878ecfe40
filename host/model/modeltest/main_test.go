package modeltest_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/host/model/modeltest"
)

// The command announces its address in a file, answers by its script, can be driven over HTTP, and
// keeps a log.
func TestTheCommandServesAScript(t *testing.T) {
	dir := t.TempDir()
	script, addr, log := filepath.Join(dir, "s.json"), filepath.Join(dir, "addr"), filepath.Join(dir, "log")
	if err := os.WriteFile(script, []byte(`{"turns":[{"text":"Hello.","faults":[{"kind":"hold","at":20}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(within(t))
	said, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- modeltest.Main(ctx, []string{"-script", script, "-addr-file", addr, "-log", log}, out)
	}()
	if _, err := said.Read(make([]byte, 200)); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, said) //nolint:errcheck // it only keeps the pipe empty
	url, err := os.ReadFile(addr)
	if err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSpace(string(url))
	answered := make(chan string, 1)
	go func() {
		r, err := http.NewRequestWithContext(ctx, "POST", base+"/v1/chat/completions", strings.NewReader(plain(modeltest.Chat)))
		if err != nil {
			answered <- err.Error()
			return
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+modeltest.DefaultKey)
		answered <- fetch(r)
	}()
	for _, step := range []struct{ method, path, want string }{
		{"GET", "/control/wait?held=1", `"held":true`}, {"POST", "/control/release", `{"released":1}`},
	} {
		r, err := http.NewRequestWithContext(ctx, step.method, base+step.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fetch(r); !strings.Contains(got, step.want) {
			t.Errorf("%s: %s", step.path, got)
		}
	}
	if got := <-answered; !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("the answer: %s", got)
	}
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
	lines, err := os.ReadFile(log)
	if err != nil || !bytes.Contains(lines, []byte(`"turn":1`)) || !bytes.Contains(lines, []byte(`"done":true`)) {
		t.Errorf("log: %v\n%s", err, lines)
	}
}

func fetch(r *http.Request) string {
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestTheCommandSaysWhatIsWrong(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte(`{"turn":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-script", bad}, 1, `unknown field "turn"`},
		{[]string{"-protocol", "gopher"}, 1, `unknown protocol "gopher"`},
		{[]string{"-nothing"}, 2, "-nothing"},
	} {
		var said bytes.Buffer
		if code := modeltest.Main(within(t), tt.args, &said); code != tt.code || !strings.Contains(said.String(), tt.want) {
			t.Errorf("%v: exit code %d, said %s", tt.args, code, said.String())
		}
	}
}
