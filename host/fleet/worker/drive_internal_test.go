package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agent/fleet/custody"
	"agent/host/witness/line"
)

// program is an agent that prints a text and keeps its arguments and its witness in a file.
func program(t *testing.T, prints string, exit string) (a Agent, args func() string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "agent")
	script := "#!/bin/sh\nprintf '%s\\n' \"$AGENT_WITNESS\" \"$@\" > " + dir + "/args\ncat <<'END'\n" + prints + "\nEND\nexit " + exit + "\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return Agent{Path: path, Home: dir, Witness: dir + "/w"}, func() string {
		b, _ := os.ReadFile(filepath.Join(dir, "args"))
		return strings.ReplaceAll(strings.ReplaceAll(string(b), dir, "DIR"), "\n", " ")
	}
}

// driver is an agent that keeps what it is asked for and its witness in a file, and answers a text.
func driver(t *testing.T, answers string) (a Agent, got func() string) {
	t.Helper()
	a, got = program(t, "", "1")
	script := "#!/bin/sh\nread -r job <&3\nprintf '%s %s %s' \"$AGENT_WITNESS\" \"$1\" \"$job\" > " + a.Home + "/args\n" +
		"[ \"$1\" = __drive ] || echo '{\"status\":\"refused\",\"error\":\"asked in another way\"}'\n" + answers + "\n"
	if err := os.WriteFile(a.Path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return a, got
}

const accepts = `echo '{"version":1,"accepted":{"run":"r-1","process":5}}' >&4`

func TestTheCommandThatBeginsARun(t *testing.T) {
	a, got := driver(t, accepts)
	if err := a.run(t.Context(), "r-1", "fleet/r-1", "/w", []string{"--runbook", "-f", "/f"}); err != nil {
		t.Fatal(err)
	}
	want := `unix:DIR/w __drive {"version":1,"args":["run","--detach","--json","--no-recover","--run-id=r-1","--start-key=fleet/r-1","--dir=/w","--runbook","-f","/f"],"dir":"/","run":"r-1"}`
	if got() != want {
		t.Errorf("got  %s\nwant %s", got(), want)
	}
}

func TestADriverGoesOnWhoeverEnds(t *testing.T) {
	a, _ := driver(t, accepts+`; exec 4>&-; read -r more <&3; ps -o sid= -p $$ > "$AGENT_HOME/session"`)
	path := filepath.Join(a.Home, "session")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	if err := a.resume(ctx, "r-1"); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	session, err := bufio.NewReader(f).ReadString('\n')
	if own, _ := unix.Getsid(0); err != nil || strings.TrimSpace(session) == fmt.Sprint(own) {
		t.Errorf("it ended, or has the session of the worker: %q, %v", session, err)
	}
}

func TestWhatADriverAnswers(t *testing.T) {
	for name, x := range map[string]struct{ answers, says, code string }{
		"it has the run": {answers: accepts},
		"it had ended":   {answers: `echo '{"version":1,"ended":{"out":"{\"status\":\"completed\"}"}}' >&4`},
		"a refusal":      {`echo '{"version":1,"ended":{"code":1,"out":"{\"status\":\"refused\",\"code\":\"key_reused\",\"error\":\"it differs\"}"}}' >&4`, "it differs", "key_reused"},
		"no object":      {answers: `echo '{"version":1,"ended":{"code":1}}' >&4`, says: "asked in another way"},
		"another time":   {answers: `echo '{"version":2,"taken":{}}' >&4`, says: "asked in another way"},
		"nothing":        {"exit 1", "its process ended before", noAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := driver(t, x.answers)
			err := a.resume(t.Context(), "r-1")
			var refused *RefusedError
			if x.says == "" {
				if err != nil {
					t.Error(err)
				}
			} else if !errors.As(err, &refused) || !strings.HasPrefix(refused.Text, x.says) || refused.Code != x.code {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestARefusalIsReported(t *testing.T) {
	a, args := program(t, `{"status":"refused","exit_code":1,"code":"key_reused","error":"it differs"}`, "1")
	var refused *RefusedError
	if err := a.cancel(t.Context(), "r-1"); !errors.As(err, &refused) || refused.Code != "key_reused" {
		t.Errorf("got %v", err)
	}
	if !strings.HasPrefix(args(), "unix:DIR/w cancel ") {
		t.Errorf("it ran %s", args())
	}
	a, _ = program(t, "a stack trace", "2")
	if err := a.cancel(t.Context(), "r-1"); err == nil || errors.As(err, new(*RefusedError)) {
		t.Errorf("got %v", err)
	}
}

func TestReports(t *testing.T) {
	for _, x := range []struct {
		status  string
		unknown bool
		exit    int
	}{
		{completed, false, 0}, {completed, true, 5}, {waiting, false, 3}, {waiting, true, 5},
		{interrupted, true, 4}, {cancelled, false, 6}, {failed, true, 1},
	} {
		if got := exit(x.status, x.unknown); got != x.exit {
			t.Errorf("%s, unknown %t: exit %d", x.status, x.unknown, got)
		}
	}
}

func TestWhereTheLogHasMore(t *testing.T) {
	facts := func(n int) *shown {
		s := &shown{}
		for i := range n {
			s.Facts = append(s.Facts, fact{Seq: int64(i + 1)})
		}
		return s
	}
	for name, x := range map[string]struct {
		here *shown
		log  stand
		want bool
	}{
		"nothing anywhere":              {nil, stand{}, false},
		"not here":                      {nil, stand{Facts: 3, Wrote: 1, By: "h-02"}, true},
		"here, and ahead of the log":    {facts(5), stand{Facts: 3, Wrote: 2, By: "h-01"}, false},
		"an older copy came back":       {facts(2), stand{Facts: 3, Wrote: 2, By: "h-01"}, true},
		"another host wrote last":       {facts(5), stand{Facts: 3, Wrote: 4, By: "h-02"}, true},
		"only fenced, by another host":  {facts(5), stand{Facts: 3, Place: 5, Wrote: 4, By: "h-01"}, false},
		"here, and the log has nothing": {facts(5), stand{}, false},
	} {
		h := host(1)
		d := &drive{host: h, agent: Agent{Home: t.TempDir()}, run: custody.Run{ID: "r-1"}, here: x.here, log: x.log}
		if got, err := d.behind(); got != x.want || err != nil {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
	d := &drive{host: host(1), agent: Agent{Home: t.TempDir()}, run: custody.Run{ID: "r-1"}, here: facts(5), log: stand{Facts: 3, Wrote: 4, By: "h-02"}}
	if err := keepTaken(d.agent, "r-1", 4); err != nil {
		t.Fatal(err)
	}
	if got, err := d.behind(); got || err != nil {
		t.Errorf("taken in from there, and not claimed yet: %t, %v", got, err)
	}
}

func TestNoCallBeginsWhileARunIsHandedOver(t *testing.T) {
	h := host(1)
	begin := line.Request{Op: line.Append, Root: "r-1", Why: "start of call 2.0 shell"}
	if why := h.holds(begin); why != "" {
		t.Errorf("it is held: %s", why)
	}
	asked := make(chan struct{})
	h.held["r-1"] = asked
	for range 2 {
		if why := h.holds(begin); why != handing {
			t.Errorf("it is not held: %q", why)
		}
	}
	<-asked
	for _, q := range []line.Request{
		{Op: line.Hello, Root: "r-1"}, {Op: line.Append, Root: "r-1", Why: "interrupted: shutdown"},
		{Op: line.Append, Root: "r-2", Why: begin.Why},
	} {
		if why := h.holds(q); why != "" {
			t.Errorf("%+v is held: %s", q, why)
		}
	}
	h.release("r-1")
	if why := h.holds(begin); why != "" {
		t.Errorf("it is held still: %s", why)
	}
}

func TestAWorkspaceFromGit(t *testing.T) {
	source := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q"}, {"config", "user.email", "a@b"}, {"config", "user.name", "a"}, {"commit", "-q", "--allow-empty", "-m", "one"},
	} {
		if out, err := exec.Command("git", append([]string{"-C", source}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	commit, err := exec.Command("git", "-C", source, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	h := host(1)
	h.Work = t.TempDir()
	r := custody.Run{ID: "r-1", Git: source + "@" + strings.TrimSpace(string(commit))}
	for range 2 {
		path, err := h.folder(t.Context(), r)
		if err != nil || path != filepath.Join(h.Work, "r-1") {
			t.Fatalf("%s: %v", path, err)
		}
		got, err := exec.Command("git", "-C", path, "rev-parse", "HEAD").Output()
		if err != nil || string(got) != string(commit) {
			t.Errorf("it has %s: %v", got, err)
		}
	}
	r = custody.Run{ID: "r-2", Git: source + "@0123456789012345678901234567890123456789"}
	if _, err := h.folder(t.Context(), r); err == nil {
		t.Error("a commit that is not there was cloned")
	}
	if left, _ := os.ReadDir(h.Work); len(left) != 1 {
		t.Errorf("it left %v", left)
	}
	if _, err := h.folder(t.Context(), custody.Run{ID: "r-3", Files: "/nowhere"}); !errors.As(err, new(*NotHereError)) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
