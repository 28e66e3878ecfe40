package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/fleet/log"
	"agent/fleet/log/replay"
	"agent/fleet/log/replay/replaytest"
	"agent/fleet/seal"
	"agent/host/witness/line"
)

// asCommand has the test binary be agent-fleet.
const asCommand = "AGENT_FLEET_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// fleet runs a command, and gives its exit code and what it printed.
func fleet(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), append([]string{"agent-fleet"}, args...), &o, &e)
	return code, o.String(), e.String()
}

// Wrong usage is 2, a failure 1; each is one line on stderr that says what helps.
func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	key := filepath.Join(dir, "k")
	if code, out, errs := fleet(t, "key", key); code != 0 || !strings.Contains(out, "the key of fleet f-") || errs != "" {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	logs := "dir:" + dir
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{0, "", []string{"log", "--log", logs, "--key-file", key}},
		{1, "a file is there already", []string{"key", key}},
		{1, "agent-fleet key " + dir + "/none", []string{"log", "--log", logs, "--key-file", dir + "/none"}},
		{1, "no kind of log", []string{"log", "--log", "gs:x", "--key-file", key}},
		{1, "the log has no run r-abc", []string{"log", "--log", logs, "--key-file", key, "r-abc"}},
		{1, "choose a shorter one", []string{"witness", "--log", logs, "--key-file", key, "--listen", "unix:" + dir + "/" + strings.Repeat("x", 110)}},
		{2, "there is no command", []string{"nonsense"}},
		{2, "--key: it is given and empty", []string{"run", "--key", "", "hello"}},
		{2, "--host: it is given and empty", []string{"worker", "--log", logs, "--host", ""}},
		{2, "--to: it is given and empty", []string{"move", "--key-file", key, "--to", "", "r-aaaaaaaa"}},
		{2, "needs --log", []string{"worker", "--key-file", key}},
		{2, "0 slots", []string{"worker", "--key-file", key, "--log", logs, "--slots", "0"}},
		{2, "the name of the host is empty", []string{"drain", "--key-file", key, ""}},
		{2, "2 arguments", []string{"key", "a", "b"}},
		{2, "needs --log", []string{"log", "--key-file", key}},
		{1, dir + "/agent-fleet/key", []string{"log", "--log", logs}},
		{2, "needs --listen unix:PATH", []string{"witness", "--log", logs, "--key-file", key, "--listen", "/x"}},
		{2, "cannot be a namespace", []string{"log", "--log", logs, "--key-file", key, "--namespace", "a/b"}},
		{2, "is no id of a run", []string{"log", "--log", logs, "--key-file", key, "nonsense"}},
		{2, "--help shows how", []string{"log", "--bogus"}},
	} {
		code, out, errs := fleet(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%q: %d, %s%s", c.args, code, out, errs)
		}
		if code != 0 && (!strings.HasPrefix(errs, "agent-fleet: ") || strings.Count(errs, "\n") != 1) {
			t.Errorf("%q prints %q", c.args, errs)
		}
	}
}

// The log is listed without what runs said; a damaged one is named, and the others are listed.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	k, err := seal.MakeFile(filepath.Join(dir, "k"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := log.Open(t.Context(), "dir:"+dir, "default")
	if err != nil {
		t.Fatal(err)
	}
	f := replaytest.New("r-aaaaaaaa")
	data, err := k.Sealer("default", "r-aaaaaaaa").Seal(1, seal.Entry{By: "h-\x1b[31m05", Epoch: 1, At: time.Unix(0, 0).UTC(), Why: "claim", Records: f.Does("r-aaaaaaaa", "canary", "x")})
	if err == nil {
		err = l.Create(t.Context(), "r-aaaaaaaa", 1, data)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := replay.Fence(t.Context(), l, k, "default", "r-aaaaaaaa", "lead", "gone"); err != nil {
		t.Fatal(err)
	}
	flags := []string{"log", "--log", "dir:" + dir, "--key-file", filepath.Join(dir, "k")}
	code, out, errs := fleet(t, append(flags, "r-aaaaaaaa")...)
	if code != 0 || strings.Count(out, "\n") != 3 || !strings.Contains(out, `h-\x1b[31m05  1970-01-01T00:00:00Z  2      claim`) ||
		!strings.Contains(out, "fence: gone") || strings.Contains(out, "canary") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	if err := l.Create(t.Context(), "r-bbbbbbbb", 1, []byte("nonsense")); err != nil {
		t.Fatal(err)
	}
	code, out, errs = fleet(t, append(flags, "--json")...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var first, second logged
	if len(lines) != 2 || json.Unmarshal([]byte(lines[0]), &first) != nil || json.Unmarshal([]byte(lines[1]), &second) != nil {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	if code != 1 || first.Place != 2 || !first.Fence || first.By != "lead" || second.Error == "" || !strings.Contains(errs, "1 of 2 logs cannot be read") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
}

// The witness of one machine is a process: it prints where it listens, answers, and ends on
// SIGTERM.
func TestWitnessProcess(t *testing.T) {
	dir := t.TempDir()
	if _, err := seal.MakeFile(filepath.Join(dir, "k")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "own", "w")
	cmd := exec.Command(os.Args[0], "witness", "--log", "dir:"+dir, "--key-file", filepath.Join(dir, "k"), "--listen", "unix:"+path, "--name", "h-01")
	cmd.Env = append(os.Environ(), asCommand+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill() // it has ended, unless the test failed
	in := bufio.NewReader(out)
	if text, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(text, "witness h-01 of fleet f-") || !strings.HasSuffix(text, "listens on unix:"+path+"\n") {
		t.Fatalf("%q, %v", text, err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	records := replaytest.New("r-aaaaaaaa").Does("r-aaaaaaaa", "created")
	if r := ask(t, c, line.Request{V: 1, Op: line.Append, Root: "r-aaaaaaaa", Place: 1, Epoch: 1, Why: "claim", Records: records}); r.OK == nil {
		t.Fatalf("%+v", r)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if code, out, errs := fleet(t, "log", "--log", "dir:"+dir, "--key-file", filepath.Join(dir, "k")); code != 0 || !strings.Contains(out, "h-01") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
}

func ask(t *testing.T, c net.Conn, q line.Request) (r line.Reply) {
	t.Helper()
	if err := json.NewEncoder(c).Encode(q); err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(c).Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r
}

// Help fits a terminal of 80 columns.
func TestHelpIsNarrow(t *testing.T) {
	for _, c := range append(commands(), root(nil, nil)) {
		args := []string{c.Name, "--help"}
		if c.Name == "agent-fleet" {
			args = args[1:]
		}
		code, out, errs := fleet(t, args...)
		if code != 0 || !strings.Contains(out, "USAGE:") || errs != "" {
			t.Errorf("%s: %d: %s%s", c.Name, code, out, errs)
		}
		for line := range strings.Lines(out) {
			if n := len(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: a line of %d columns: %s", c.Name, n, line)
			}
		}
	}
}
