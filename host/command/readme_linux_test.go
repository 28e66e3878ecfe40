package command_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/host/model/modeltest"
	"agent/host/terminal/terminaltest"
)

// shownCommand is a command of README with what it prints.
type shownCommand struct {
	line, prints string
}

// transcripts are the commands that a part of README or of a topic shows after a $, with their
// output.
func transcripts(t *testing.T, text, heading string) []shownCommand {
	t.Helper()
	_, part, ok := strings.Cut(texts(t)[text], "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("%s has no part %q", text, heading)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	var all []shownCommand
	for line := range strings.Lines(part) {
		code, isCode := strings.CutPrefix(line, "    ")
		command, isCommand := strings.CutPrefix(code, "$ ")
		switch {
		case isCode && isCommand:
			all = append(all, shownCommand{line: strings.TrimSpace(command)})
		case isCode && len(all) > 0:
			all[len(all)-1].prints += code
		}
	}
	return all
}

// reader does what README says, in a copy of the demo, and compares what the binary prints.
type reader struct {
	t         *testing.T
	home, dir string
	known     map[string]string // ids and pids of README, as they are here
	env       []string
	started   *exec.Cmd // in the background
	unknown   bool      // an unknown outcome is left, so commands end with 5
}

func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{t: t, home: filepath.Join(t.TempDir(), "ada"), known: map[string]string{}}
	r.dir = filepath.Join(r.home, "agent")
	if err := os.CopyFS(filepath.Join(r.dir, "scripts", "demo"), os.DirFS("../../scripts/demo")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(r.dir, "demo"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.env = append(plainEnv(), "HOME="+r.home, "AGENT_HOME="+filepath.Join(r.home, "state"), "TERM=xterm", "NO_COLOR=1", "PATH="+binDir()+":"+os.Getenv("PATH"))
	t.Cleanup(func() { endRunners(r.home) })
	return r
}

// command is a command of README with the names that things have here.
func (r *reader) command(line string) *exec.Cmd {
	for shown, here := range r.known {
		line = strings.ReplaceAll(line, shown, here)
	}
	c := exec.Command("sh", "-c", "exec "+line)
	c.Dir, c.Env = r.dir, r.env
	return c
}

// plain makes two outputs comparable: names, times and places that differ each time become the
// same, and lines are broken anywhere.
func (r *reader) plain(text string) string {
	text = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]").ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, r.home, "/home/ada")
	text = regexp.MustCompile(`\b([rptc])-[0-9a-z]{8}\b`).ReplaceAllString(text, "$1-ID")
	text = regexp.MustCompile(`(\bprocess|\[1\]) \d+\b`).ReplaceAllString(text, "$1 N")
	text = regexp.MustCompile(`\b(now|\d+(\.\d+)?(µs|ms|s))\b`).ReplaceAllString(text, "TIME")
	return strings.Join(strings.Fields(text), " ")
}

// learn takes down how the ids that README shows are called here: the first of each kind is the
// first of that kind.
func (r *reader) learn(shown, here string) {
	for _, kind := range []string{"r", "p", "t", "c"} {
		ids := regexp.MustCompile(`\b` + kind + `-[0-9a-z]{8}\b`)
		want, got := ids.FindString(shown), ids.FindString(here)
		if want != "" && got != "" && r.known[want] == "" {
			r.known[want] = got
		}
	}
}

// differs says where an output is not what README shows; "" where it is. A line of three dots
// stands for anything.
func (r *reader) differs(shown, here string) string {
	got := r.plain(here)
	parts := regexp.MustCompile(`(?m)^\.\.\.$`).Split(shown, -1)
	for i, part := range parts {
		part = r.plain(part)
		at := strings.Index(got, part)
		switch {
		case at < 0, i == 0 && at > 0:
			return part
		case i == len(parts)-1 && part != "" && !strings.HasSuffix(got, part):
			return part
		}
		got = got[at+len(part):]
	}
	return ""
}

func (r *reader) compare(c shownCommand, here string) {
	r.t.Helper()
	r.learn(c.prints, here)
	if part := r.differs(c.prints, here); part != "" {
		r.t.Errorf("README shows of %s:\n%s\nit printed:\n%s", c.line, part, r.plain(here))
	}
}

// follow carries out one command. What does not end by itself is seen as far as README shows it.
func (r *reader) follow(c shownCommand) {
	r.t.Helper()
	kill, isKill := strings.CutPrefix(c.line, "kill -9 ")
	line, background := strings.CutSuffix(c.line, " &")
	switch {
	case isKill:
		if r.known[kill] != strconv.Itoa(r.started.Process.Pid) {
			r.t.Errorf("README kills %s, which it did not start", kill)
		}
		r.begun()
		if err := r.started.Process.Kill(); err != nil {
			r.t.Fatal(err)
		}
		_ = r.started.Wait() // it was killed
	case background:
		r.begin(c, line)
	case strings.HasPrefix(line, "agent ls"):
		r.atTerminal(c, "")
	default:
		var out bytes.Buffer
		cmd := r.command(line)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil && (!r.unknown || cmd.ProcessState.ExitCode() != 5) {
			r.t.Errorf("%s: %v\n%s", c.line, err, out.String())
		}
		r.compare(c, out.String())
	}
}

// begin starts a command in the background, where the shell prints its number, and returns once it
// printed what README shows.
func (r *reader) begin(c shownCommand, line string) {
	r.t.Helper()
	var out terminaltest.Tape
	r.started = r.command(line)
	r.started.Stdout, r.started.Stderr = &out, &out
	r.started.WaitDelay = enough()
	if err := r.started.Start(); err != nil {
		r.t.Fatal(err)
	}
	pid := strconv.Itoa(r.started.Process.Pid)
	if m := regexp.MustCompile(`^\[1\] (\d+)\n`).FindStringSubmatch(c.prints); m != nil {
		r.known[m[1]] = pid
	}
	here := func() string { return "[1] " + pid + "\n" + out.String() }
	limit, again := time.After(enough()), time.NewTicker(10*time.Millisecond)
	defer again.Stop()
	for r.differs(c.prints, here()) != "" {
		select {
		case <-again.C:
		case <-limit:
			r.compare(c, here())
			return
		}
	}
	r.learn(c.prints, here())
}

// begun waits until the second step of the runbook is at its sleep. A person is slower; until then
// a process that the host is about to start may hold what the host held.
func (r *reader) begun() {
	r.t.Helper()
	limit, again := time.After(enough()), time.NewTicker(10*time.Millisecond)
	defer again.Stop()
	for {
		log, err := os.ReadFile(filepath.Join(r.dir, "demo", "log"))
		if err == nil && strings.HasSuffix(string(log), "two\n") {
			return
		}
		select {
		case <-again.C:
		case <-limit:
			r.t.Fatalf("the second step did not begin: %q, %v", log, err)
		}
	}
}

// atTerminal carries a command out at a terminal of 80 columns. What is typed is typed once the
// last line that README shows is there.
func (r *reader) atTerminal(c shownCommand, typed string) {
	r.t.Helper()
	master, slave := openPTY(r.t)
	cmd := r.command(c.line)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	if err := slave.Close(); err != nil {
		r.t.Fatal(err)
	}
	s := &seat{t: r.t, master: master, cmd: cmd, news: make(chan struct{}, 1), ended: make(chan struct{})}
	go s.watch()
	r.t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	shown := s.screen
	if typed != "" {
		lines := strings.Split(strings.TrimSpace(c.prints), "\n")
		s.until(lines[len(lines)-1])
		before := s.screen()
		shown = func() string { return strings.TrimSpace(before) }
		s.types(typed)
		s.exits(3)
	} else {
		s.exits(0)
	}
	r.compare(c, shown())
}

// README shows what the binary prints.
func TestReadmeWithoutAKey(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	for _, c := range transcripts(t, "README.md", "Five minutes without a key") {
		r.follow(c)
	}
}

func TestReadmeKill(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	all := transcripts(t, "README.md", "Kill and resume")
	for _, c := range all {
		r.follow(c)
	}
	if len(all) != 4 {
		t.Errorf("README shows %d commands", len(all))
	}
	log, err := os.ReadFile(filepath.Join(r.dir, "demo", "log"))
	if err != nil || string(log) != "one\ntwo\nthree\n" {
		t.Errorf("the file that the runbook appends to: %q, %v", log, err)
	}
}

// What the topic shows of an unknown outcome is printed where the host and the runner of a command
// were killed.
func TestRecoveryTopicOnUnknownOutcomes(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.begin(shownCommand{line: "agent run", prints: "[1] 10634\n...\n"}, "agent run --dir demo -f scripts/demo/kill.md")
	r.begun()
	if err := r.started.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = r.started.Wait() // it was killed
	endRunners(r.home)
	out, err := r.command("agent ls --interrupted --json").Output()
	id := regexp.MustCompile(`"id":"(r-[0-9a-z]+)"`).FindSubmatch(out)
	if err != nil || id == nil {
		t.Fatalf("%v: %s", err, out)
	}
	all := transcripts(t, "recovery", "Unknown outcomes")
	if len(all) != 3 {
		t.Fatalf("the topic shows %v", all)
	}
	r.known[strings.Fields(all[0].line)[2]] = string(id[1])
	r.unknown = true
	for i, c := range all {
		r.unknown = i < len(all)-1 // the last command decides
		r.follow(c)
	}
}

func TestReadmeApprove(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	server, err := modeltest.Start(modeltest.Options{Key: "test-readme-key", Script: modeltest.Script{Turns: []modeltest.Turn{
		{Calls: []modeltest.Call{{Tool: "shell", Args: []byte(`{"command": "go test ./..."}`)}}}, {Text: "Done."},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() }) // what it was asked does not matter here
	r.env = append(r.env, "ANTHROPIC_API_KEY=test-readme-key", "ANTHROPIC_BASE_URL="+server.URL())
	all := transcripts(t, "README.md", "Approve and answer")
	if len(all) != 2 {
		t.Fatalf("README shows %v", all)
	}
	r.atTerminal(all[0], "\x04")
	r.follow(all[1])
}

// What README and the topic show of an undo is what the binary prints, and the work is there again.
func TestReadmeUndo(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{"README.md": "Undo", "undo": "Try it"} {
		r := newReader(t)
		for _, c := range transcripts(t, text, part) {
			r.follow(c)
			if strings.HasPrefix(c.line, "agent rewind") {
				notes, err := os.ReadFile(filepath.Join(r.dir, "demo", "notes.txt"))
				if err != nil || string(notes) != "an hour of work\n" {
					t.Errorf("%s: the file after %s: %q, %v", text, c.line, notes, err)
				}
			}
		}
	}
}

// The comparison sees a difference, also behind what is left out.
func TestReadmeIsCompared(t *testing.T) {
	r := &reader{home: "/home/x"}
	const shown = "run r-aaaaaaaa in /home/ada\n...\nran process 12 in 3ms\nend\n"
	for here, want := range map[string]bool{
		"run r-bbbbbbbb in\n /home/x\nmore\nran process 9 in 4.5s\nend\n": true,
		"run r-bbbbbbbb in /home/y\nran process 9 in 4s\nend\n":           false,
		"run r-bbbbbbbb in /home/x\nran process 9 in 4s\nend\nmore\n":     false,
		"first\nrun r-bbbbbbbb in /home/x\nran process 9 in 4s\nend\n":    false,
		"run r-bbbbbbbb in /home/x\nend\n":                                false,
	} {
		if got := r.differs(shown, here) == ""; got != want {
			t.Errorf("%q: the same is %t, want %t", here, got, want)
		}
	}
}
