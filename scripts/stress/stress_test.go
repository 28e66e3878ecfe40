//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"agent/scripts/landed/change"
	"agent/scripts/stress/load"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == load.Argument {
		load.Spin()
	}
	os.Exit(m.Run())
}

// module is a module with tests of each kind, in a folder of its own.
type module struct {
	*testing.T
	root string
	load string // the program that is the load generator
}

// tests count, in files of their package's folder, how often they ran.
const tests = `package p

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// runs is how often the test has run, this time included.
func runs(t *testing.T) int {
	f, err := os.OpenFile(t.Name()+".runs", os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "%s,%s\n", os.Getenv("GOMAXPROCS"), os.Getenv("AGENT_TESTS"))
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n"))
}

func TestFlaky(t *testing.T) {
	if n := runs(t); n%5 == 0 {
		t.Fatalf("run %d saw the race", n)
	}
}

func TestGood(t *testing.T) { runs(t) }

func TestSkips(t *testing.T) { t.Skip("not on this machine") }

func TestWithCases(t *testing.T) { t.Run("one", func(t *testing.T) {}) }

// TestStopped ends in its tenth run only if that is stopped: either it sees that it continues, or it
// was stopped before it could look, and is old for that reason.
func TestStopped(t *testing.T) {
	if runs(t) != 10 {
		return
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGCONT)
	if age(t) < 2 {
		<-again
	}
}

func age(t *testing.T) float64 {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	uptime, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Fatal(err)
	}
	began, err := strconv.ParseFloat(strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):]))[20], 64)
	if err != nil {
		t.Fatal(err)
	}
	now, err := strconv.ParseFloat(strings.Fields(string(uptime))[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return now - began/100
}

func TestDear(t *testing.T) {
	for {
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil || used.Utime.Sec >= 1 {
			return
		}
	}
}

// TestHangs has a child with a session of its own; both hold the pipe.
func TestHangs(t *testing.T) {
	pipe, err := os.OpenFile("pipe", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("tail", "-f", "/dev/null")
	child.Stdout = pipe
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	pipe.WriteString("r")
	select {}
}
`

func newModule(t *testing.T) module {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := module{T: t, root: t.TempDir(), load: program}
	m.write("go.mod", "module example.com/m\n\ngo 1.26\n")
	m.write("p/p_test.go", tests)
	m.write("none/none.go", "package none\n")
	return m
}

func (m module) write(name, text string) {
	m.Helper()
	file := filepath.Join(m.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		m.Fatal(err)
	}
}

func (m module) read(name string) string {
	m.Helper()
	text, err := os.ReadFile(filepath.Join(m.root, name))
	if err != nil {
		m.Fatal(err)
	}
	return string(text)
}

// stress runs the command beside one busy loop.
func (m module) stress(args ...string) (code int, stdout, stderr string) {
	m.Helper()
	var out, problems bytes.Buffer
	s := &stress{root: m.root, program: m.load, loops: 1, stdout: &out, stderr: &problems}
	code = s.main(m.Context(), args)
	return code, out.String(), problems.String()
}

// want runs the command and compares its exit code, and what it prints with a pattern.
func (m module) want(code int, pattern string, args ...string) {
	m.Helper()
	got, stdout, stderr := m.stress(args...)
	if got != code || !regexp.MustCompile(`(?s)^`+pattern+`$`).MatchString(stdout+stderr) {
		m.Errorf("stress %v: exit %d, want %d and %s\n%s%s", args, got, code, pattern, stdout, stderr)
	}
}

// A test that fails once in five runs is found in thirty, and one that does not is run as often, in
// the full form, a third on one processor and a third on four.
func TestFlakyIsFound(t *testing.T) {
	m := newModule(t)
	apart := filepath.Join(t.TempDir(), "apart")
	t.Setenv("AGENT_CPU_APART", apart)
	t.Setenv("GOMAXPROCS", "")

	m.want(1, `p TestFlaky: failed in run 5 of 6 \(GOMAXPROCS=1\)\n.*run 5 saw the race\n.*\nagain: go run ./scripts/stress -n 6 ./p 'TestFlaky'\n`+
		`p TestGood: 6 of 6\n`, "-n", "6", "./p", "TestFlaky", "TestGood")
	if got, want := m.read("p/TestGood.runs"), strings.Repeat(",whole\n1,whole\n4,whole\n", 2); got != want {
		t.Errorf("GOMAXPROCS and AGENT_TESTS of each run:\n%s", got)
	}

	text, err := os.ReadFile(apart)
	if err != nil || !regexp.MustCompile(`^\d+\.\d\d\n$`).Match(text) || string(text) == "0.00\n" {
		t.Errorf("the processor time of the load: %q, %v", text, err)
	}
}

func TestTenthRunIsStopped(t *testing.T) {
	newModule(t).want(0, `TestStopped: 10 of 10\n`, "-n", "10", "-timeout", "90s", "example.com/m/p", "TestStopped")
}

func TestRefused(t *testing.T) {
	m := newModule(t)
	m.want(2, `stress: nothing would run with -n 0 .*`, "-n", "0", "p", "TestGood")
	m.want(2, `flag provided but not defined: -x\n.*-n runs\n.*`, "-x")
	m.want(2, `stress: there is no package q: .*`, "q", "TestGood")
	m.want(2, `stress: the package p has no TestNone on this system\n`, "p", "TestNone")
	m.want(2, `stress: the package none has no tests on this system\n`, "none")
	m.want(2, `stress: TestGood is a test and has no package in front\n`, "TestGood")
	m.want(2, `TestWithCases/two: nothing ran: .*testing: warning: no tests to run.*stress: nothing ran\n`, "-n", "3", "p", "TestWithCases/two")
	m.want(2, `p TestGood: 2 of 2\np TestSkips: not tried: it skips itself\n.*not on this machine.*stress: p TestSkips skips itself: nothing ran\n`, "-n", "2", "p", "TestGood", "TestSkips")

	m.write("broken/broken_test.go", "package broken\nimport \"testing\"\nfunc TestBroken(t *testing.T) { none() }\n")
	m.want(2, `stress: build the tests of broken: .*undefined: none.*`, "broken", "TestBroken")
}

// Without load a pass is none.
func TestNoLoad(t *testing.T) {
	m := newModule(t)
	m.load = filepath.Join(m.root, "missing")
	m.want(2, `stress: start the load generator: .*no such file.*`, "-n", "1", "p", "TestGood")
	if _, err := os.Stat(filepath.Join(m.root, "p/TestGood.runs")); err == nil {
		t.Error("the test ran without load")
	}
}

// The cheapest run; what is too dear is left out, and named.
func TestLimit(t *testing.T) {
	m := newModule(t)
	m.want(0, `p TestGood: 3 of 3\nleft out: p TestDear: one run uses more than 333\S+ms of processor time\n`, "-n", "3", "-limit", "1", "p", "TestDear", "TestGood")
	m.want(2, `left out: p TestDear: .*stress: nothing ran\n`, "-n", "3", "-limit", "1", "p", "TestDear")
}

// Tests that use no processor time are left out, and named, when the time is over.
func TestClock(t *testing.T) {
	m := newModule(t)
	m.want(2, `left out: p TestGood: not even run once\n.*stress: nothing ran\n`, "-n", "3", "-limit", "100", "-clock", "1ns", "p", "TestGood")
	m.want(2, `stress: nothing would run with .*`, "-clock", "-1s", "p", "TestGood")
}

// Without names, the tests of the change run.
func TestChange(t *testing.T) {
	m := newModule(t)
	since := t.TempDir()
	t.Setenv(change.Folder, since)
	m.write("p/other_test.go", "//go:build darwin\n\npackage p\n\nimport \"testing\"\n\nfunc TestOther(t *testing.T) {}\n")
	earlier := strings.Replace(tests, `{ runs(t) }`, `{ runs(t); runs(t) }`, 1)
	for name, text := range map[string]string{"base": "7fc47ed4f7a0\n", "commits": "1\n", "files": "p/other_test.go\np/p_test.go\n", "was/p/p_test.go": earlier} {
		module{T: t, root: since}.write(name, text)
	}

	m.want(0, `p TestGood\np TestOther: not built on this system\n`, "-list")
	m.want(0, `TestGood: 2 of 2\np TestOther: not built on this system\n`, "-n", "2", "-limit", "120")

	m.write("foreign/a_darwin.go", "package foreign\n")
	m.write("foreign/a_darwin_test.go", "package foreign\n\nimport \"testing\"\n\nfunc TestForeign(t *testing.T) {}\n")
	module{T: t, root: since}.write("files", "foreign/a_darwin_test.go\np/p_test.go\n")
	m.want(0, `p TestGood\nforeign TestForeign: not built on this system\n`, "-list")

	module{T: t, root: since}.write("files", "p/p.go\n")
	m.want(0, `no test is new or changed since 7fc47ed4\n`)
}

// Whoever ends the command ends the load, the test, and the processes below it.
func TestInterrupted(t *testing.T) {
	m := newModule(t)
	name := filepath.Join(m.root, "p/pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	var problems bytes.Buffer
	code := make(chan int)
	go func() {
		s := &stress{root: m.root, program: m.load, loops: 1, stdout: io.Discard, stderr: &problems}
		code <- s.main(ctx, []string{"p", "TestHangs"})
	}()

	opened := make(chan *os.File)
	go func() {
		pipe, err := os.Open(name) // it returns once the test has opened its end
		if err != nil {
			t.Error(err)
		}
		opened <- pipe
	}()
	var pipe *os.File
	select {
	case pipe = <-opened:
	case got := <-code:
		t.Fatalf("exit %d before the test ran\n%s", got, problems.String())
	}
	defer pipe.Close()
	if _, err := io.ReadFull(pipe, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	interrupt()
	if rest, err := io.ReadAll(pipe); err != nil || len(rest) > 0 {
		t.Errorf("the pipe that the test and its child hold: %q, %v", rest, err)
	}
	if got := <-code; got != 2 || problems.String() != "stress: run TestHangs: context canceled\n" {
		t.Errorf("exit %d\n%s", got, problems.String())
	}
}
