package command_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// seat is a person's place: a terminal with the binary at it.
type seat struct {
	t      *testing.T
	w      *world
	master *os.File
	cmd    *exec.Cmd

	mu    sync.Mutex
	shown bytes.Buffer
	news  chan struct{}
	ended chan struct{}
}

// sit starts agent at a terminal of its own. typed stands in the terminal's buffer before anything
// is asked.
func sit(t *testing.T, w *world, typed string, args ...string) *seat {
	t.Helper()
	return sitAt(t, w, nil, typed, args...)
}

// sitAt is sit at a terminal of that size; nil: it does not say how large it is.
func sitAt(t *testing.T, w *world, size *unix.Winsize, typed string, args ...string) *seat {
	t.Helper()
	master, slave := openPTY(t)
	if size != nil {
		if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, size); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := master.WriteString(typed); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(filepath.Join(binDir(), "agent"), args...)
	c.Dir = w.dir
	c.Env = append(os.Environ(), "HOME="+w.home, "AGENT_HOME="+filepath.Join(w.home, "state"), "TERM=xterm", "NO_COLOR=1")
	c.Env = append(c.Env, w.env...)
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := slave.Close(); err != nil {
		t.Fatal(err)
	}
	s := &seat{t: t, w: w, master: master, cmd: c, news: make(chan struct{}, 1), ended: make(chan struct{})}
	go s.watch()
	t.Cleanup(func() { _ = c.Process.Kill() }) // it has ended, unless the test failed
	return s
}

func openPTY(t testing.TB) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this machine gives no pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() }) // nothing is lost by it
	raw, err := master.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = raw.Control(func(fd uintptr) {
		if n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN); err == nil {
			err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine gives no pseudo-terminal: %v", err)
	}
	return master, slave
}

func (s *seat) watch() {
	defer close(s.ended)
	buf := make([]byte, 4096)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.shown.Write(buf[:n])
		s.mu.Unlock()
		select {
		case s.news <- struct{}{}:
		default:
		}
		if err != nil {
			return // the last process at the terminal has gone
		}
	}
}

func (s *seat) screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(s.shown.String(), "\r\n", "\n")
}

// until waits until the terminal has shown a text.
func (s *seat) until(text string) {
	s.t.Helper()
	s.untilTimes(text, 1)
}

// times is how often a text is in what was shown, also where it was broken between words.
func times(shown, text string) int {
	return max(strings.Count(shown, text), strings.Count(strings.Join(strings.Fields(shown), " "), text))
}

// untilTimes waits until the screen has shown a text so many times.
func (s *seat) untilTimes(text string, n int) {
	s.t.Helper()
	s.untilSo(text, func(shown string) bool { return times(shown, text) >= n })
}

// untilBehind waits until the screen has shown a text behind another one.
func (s *seat) untilBehind(first, text string) {
	s.t.Helper()
	s.untilSo(text, func(shown string) bool {
		_, behind, found := strings.Cut(shown, first)
		return found && times(behind, text) > 0
	})
}

func (s *seat) untilSo(text string, so func(shown string) bool) {
	s.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !so(s.screen()) {
		select {
		case <-s.news:
		case <-s.ended:
			if !so(s.screen()) {
				s.t.Fatalf("it ended and never showed %q:\n%s", text, s.screen())
			}
		case <-limit.C:
			s.t.Fatalf("waited in vain for %q:\n%s", text, s.screen())
		}
	}
}

func (s *seat) types(text string) {
	s.t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the end and returns the exit code.
func (s *seat) ends() int {
	s.t.Helper()
	err := s.cmd.Wait()
	<-s.ended
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

func (s *seat) exits(want int) {
	s.t.Helper()
	if got := s.ends(); got != want {
		s.t.Fatalf("exit code %d, want %d:\n%s", got, want, s.screen())
	}
}

const askStory = "- confirm_action \"Publish?\"\n\n```sh\necho published >> out\n```\n"

func newAskWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.write("ask.md", askStory)
	return w
}

func (w *world) published(want string) {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, "out"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	if string(b) != want {
		w.t.Errorf("out holds %q, want %q", b, want)
	}
}

// At a terminal a question is asked at once; a wrong answer is asked again, and the answer goes on.
// The run's own answer stands on the screen once. // issue: questions
func TestAskedAtTheTerminal(t *testing.T) {
	t.Parallel()
	w := newAskWorld(t)
	s := sit(t, w, "", "run", "--runbook", "-f", "ask.md")
	s.until("answer (yes/no): ")
	s.types("perhaps\n")
	s.until("say yes or no")
	s.types("y\n")
	s.exits(0)
	w.published("published\n")
	if n := strings.Count(s.screen(), "2 of 2 steps done"); n != 1 {
		t.Errorf("the answer stands %d times on the screen:\n%s", n, s.screen())
	}
}

// What was typed before a question stood there is no answer to it.
func TestTypedAheadIsNoAnswer(t *testing.T) {
	t.Parallel()
	w := newAskWorld(t)
	s := sit(t, w, "y\nyes\n", "run", "--runbook", "-f", "ask.md")
	s.until("answer (yes/no): ")
	s.types("\x04")
	s.exits(3)
	s.until("agent answer p-")
	w.published("")
}

// Ctrl-C at a question leaves it open, with half an answer typed too. // issue, behaviour 8
func TestInterruptedQuestionStaysOpen(t *testing.T) {
	t.Parallel()
	w := newAskWorld(t)
	s := sit(t, w, "", "run", "--runbook", "-f", "ask.md")
	s.until("answer (yes/no): ")
	s.types("ye\x03")
	s.exits(3)
	w.published("")
	if code := w.agent("", "answer", "last", "yes"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, w.log.String())
	}
	w.published("published\n")
}

// A question that is answered from elsewhere is withdrawn from the terminal, and the run goes on
// there. // issue, behaviour 7
func TestAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	w := newAskWorld(t)
	s := sit(t, w, "", "run", "--runbook", "-f", "ask.md")
	s.until("answer (yes/no): ")
	s.types("n") // not finished, so no answer
	if code := w.agent("", "answer", "last", "yes"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, w.log.String())
	}
	s.exits(0)
	s.until("answered by")
	w.published("published\n")
}

// A run that goes on in the background is watched from a terminal, which it does not hold: the
// story so far, its question, and what follows from the answer. Ctrl-C leaves and touches nothing;
// a second terminal that asks the same gives way to the first. // windows 7, 10
func TestAttach(t *testing.T) {
	t.Parallel()
	w := newAskWorld(t)
	s := sit(t, w, "", "run", "--detach", "--runbook", "-f", "ask.md")
	s.exits(0)
	s.until("goes on in the background")
	leaves := sit(t, w, "", "attach", "last")
	leaves.until("answer (yes/no): ")
	leaves.types("y\x03")
	leaves.exits(0)
	leaves.until("no longer watching")
	w.published("")
	first, second := sit(t, w, "", "attach", "last"), sit(t, w, "", "attach", "last")
	first.until("answer (yes/no): ")
	second.until("answer (yes/no): ")
	first.types("yes\n")
	for _, s := range []*seat{first, second} {
		s.exits(0)
		s.until("answered by")
		s.until("completed")
		if n := strings.Count(s.screen(), "answer (yes/no)"); n != 1 {
			t.Errorf("it is asked %d times:\n%s", n, s.screen())
		}
	}
	w.published("published\n")
}

// Who watches a run from a terminal is called when it waits, as who drives it there would be.
func TestAttachCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("late.md", "```sh\nuntil test -e go; do sleep 0.05; done; sleep 6\n```\n\n"+askStory)
	s := sit(t, w, "", "run", "--detach", "--runbook", "-f", "late.md")
	s.exits(0)
	a := sit(t, w, "", "attach", "last")
	a.until("test -e go")
	w.write("go", "") // the six seconds begin once somebody watches
	a.until("answer (yes/no): ")
	if screen := a.screen(); !strings.Contains(screen, "waits for an answer: Publish?\x1b\\\a") {
		t.Errorf("the terminal is not called:\n%q", screen)
	}
	a.types("yes\n")
	a.exits(0)
	if n := strings.Count(a.screen(), "\x1b]9;"); n != 1 {
		t.Errorf("it is called %d times:\n%q", n, a.screen())
	}
}

// A question that nobody listens for any more is answered at attach, and the run goes on in the
// background.
func TestAttachGoesOn(t *testing.T) {
	t.Parallel()
	w := newAskWorld(t)
	s := sit(t, w, "", "run", "--runbook", "-f", "ask.md")
	s.until("answer (yes/no): ")
	s.types("\x04")
	s.exits(3)
	a := sit(t, w, "", "attach", "last")
	a.until("answer (yes/no): ")
	a.types("yes\n")
	a.exits(0)
	a.until("goes on in the background")
	a.until("completed")
	w.published("published\n")
}

// A question whose time is over while it is put at attach, and that nobody else would close, is
// closed there.
func TestAttachExpires(t *testing.T) {
	t.Parallel()
	w := newAskWorld(t)
	s := sit(t, w, "", "run", "--expire", "10s", "--runbook", "-f", "ask.md")
	s.until("answer (yes/no): ")
	s.types("\x04")
	s.exits(3)
	a := sit(t, w, "", "attach", "last")
	a.until("answer (yes/no): ")
	a.exits(4)
	a.until("interrupted: expired")
	w.published("")
}

// Where a program reads the output, nobody is asked. // DESIGN 7
func TestJSONAsksNobody(t *testing.T) {
	t.Parallel()
	w := newAskWorld(t)
	s := sit(t, w, "", "run", "--runbook", "--json", "-f", "ask.md")
	s.exits(3)
	if strings.Contains(s.screen(), "answer (yes/no)") {
		t.Errorf("it asked:\n%s", s.screen())
	}
}

// On a terminal that is too narrow for it the next command stands whole on a line of its
// own. // DESIGN 13
func TestListAtNarrowTerminal(t *testing.T) {
	t.Parallel()
	w := newAskWorld(t)
	if code := w.agent("", "run", "--runbook", "-f", "ask.md"); code != 3 {
		t.Fatalf("exit code %d\n%s", code, w.log.String())
	}
	s := sit(t, w, "", "ls") // of 80 cells
	s.exits(0)
	for line := range strings.Lines(s.screen()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("a line of %d letters:\n%s", n, s.screen())
		}
	}
	if s.until("agent answer p-"); !strings.Contains(s.screen(), "\n    agent answer p-") {
		t.Errorf("the command has no line of its own:\n%s", s.screen())
	}
}

// Without a run, a resume offers those that can be resumed; one is picked by its number.
// issue 17, part 6
func TestPickAtTheTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("ask.md", askStory)
	for range 2 {
		s := sit(t, w, "", "run", "--runbook", "-f", "ask.md")
		s.until("answer (yes/no): ")
		s.types("\x04")
		s.exits(3)
	}
	s := sit(t, w, "", "resume")
	s.until("? which run is to go on?")
	s.until("answer (1 to 2, Ctrl-D for none): ")
	s.types("\x04")
	s.until("resume: no run was picked")
	s.exits(1)
	s = sit(t, w, "", "resume")
	s.until("  2  r-")
	s.until("answer (1 to 2, Ctrl-D for none): ")
	s.types("7\n2\n")
	s.until("answer (yes/no): ")
	s.types("yes\n")
	s.until("completed")
	s.exits(0)
}
