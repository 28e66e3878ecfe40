package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// roleVariable makes of the test binary what a test starts.
const roleVariable = "CPU_TEST_ROLE"

// burnt is what an orphan spends: much more than anything else in a test.
const burnt = 0.5

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "cpu":
		os.Unsetenv(roleVariable)
		main()
	case "plain":
		os.Unsetenv(roleVariable)
		os.Exit(plain(os.Args[1:]))
	case "burn":
		burn()
	}
}

// plain runs a command as cpu does, but for the orphans.
func plain(command []string) int {
	c := exec.Command(command[0], command[1:]...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return 1
	}
	fmt.Fprintf(os.Stderr, "cpu: plain %.1f s\n", seconds(unix.RUSAGE_CHILDREN))
	return 0
}

// burn spends seconds of this process.
func burn() {
	for seconds(unix.RUSAGE_SELF) < burnt {
	}
}

func seconds(who int) float64 {
	var usage unix.Rusage
	if err := unix.Getrusage(who, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// started is the test binary in a role, with an environment of its own.
func started(t *testing.T, role string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	c := exec.Command(exe, args...)
	c.Env = append(os.Environ(), roleVariable+"="+role, "EXE="+exe, apartVariable+"=")
	c.Stderr = &errs
	return c, &errs
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	exit := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// counted is the number in the line that cpu ends with.
func counted(t *testing.T, errs string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^cpu: \w+ ([0-9.]+) s`).FindStringSubmatch(errs)
	if m == nil {
		t.Fatalf("no seconds in %q", errs)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// orphan burns in a process whose parent has ended, and waits for its end.
func orphan(t *testing.T) []string {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "ended")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"sh", "-c", `sh -c "(CPU_TEST_ROLE=burn $EXE; echo >$0) >/dev/null 2>&1 &" "$0"; cat "$0"`, fifo}
}

// The control is a parent that is no reaper: it does not see the orphan.
func TestOrphanIsCounted(t *testing.T) {
	for role, args := range map[string][]string{"cpu": append([]string{"orphan"}, orphan(t)...), "plain": orphan(t)} {
		c, errs := started(t, role, args...)
		if err := c.Run(); err != nil {
			t.Fatalf("%v %s", err, errs)
		}
		if got := counted(t, errs.String()); (got >= burnt) != (role == "cpu") {
			t.Errorf("%s: %.1f s, and the orphan spent %.1f s:\n%s", role, got, burnt, errs)
		}
	}
}

// Who is still there when the command ends, in a session of his own too, is named and killed: what
// they print to has an end. Their seconds are counted.
func TestRestIsNamedAndKilled(t *testing.T) {
	c, errs := started(t, "cpu", "rest", "sh", "-c", `setsid sh -c 'CPU_TEST_ROLE=burn $EXE; echo burnt; cat "$0"' "$0" & 
		sh -c 'sh -c "cat $0; :" "$0" & cat "$0"; :' "$0" & read line <"$1"; exit 7`, "", "")
	folder := t.TempDir()
	never, go_ := filepath.Join(folder, "never"), filepath.Join(folder, "go")
	for _, fifo := range []string{never, go_} {
		if err := unix.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.Args[len(c.Args)-2], c.Args[len(c.Args)-1] = never, go_

	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "burnt\n" {
		t.Fatalf("%q %v", line, err)
	}
	if err := os.WriteFile(go_, []byte("now\n"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(out); err != nil { // ends when nobody is left who could write
		t.Fatal(err)
	}
	if code := exitCode(t, c.Wait()); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	if n := strings.Count(errs.String(), " was still running and is killed: "); n < 4 || !strings.Contains(errs.String(), "killed: cat "+never+"\n") {
		t.Errorf("%d named:\n%s", n, errs)
	}
	if got := counted(t, errs.String()); got < burnt {
		t.Errorf("%.1f s, and one of them spent %.1f s", got, burnt)
	}
}

func TestExitCodes(t *testing.T) {
	for _, one := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"n", "true"}, 0, "cpu: n 0.0 s\n"},
		{[]string{"n", "sh", "-c", "exit 3"}, 3, "cpu: n 0.0 s\n"},
		{[]string{"n", "sh", "-c", "kill -KILL $$"}, 137, "cpu: n 0.0 s\n"},
		{[]string{"n", "/no/such/program"}, 127, "cpu: exec: "},
		{nil, 2, usage},
		{[]string{"n"}, 2, usage},
		{[]string{"a name", "true"}, 2, `"a name" is no name`},
		{[]string{"-nothing", "n", "true"}, 2, "not defined: -nothing"},
		{[]string{"-report", "x", "-kind", "tepid"}, 2, usage},
		{[]string{"-report", "/no/such/file"}, 2, "/no/such/file"},
	} {
		c, errs := started(t, "cpu", one.args...)
		if code := exitCode(t, c.Run()); code != one.code || !strings.Contains(errs.String(), one.text) {
			t.Errorf("%q: exit code %d, want %d with %q:\n%s", one.args, code, one.code, one.text, errs)
		}
	}
}

// What asks cpu to end reaches the command, whose exit code is that of the signal.
func TestSignalsArePassedOn(t *testing.T) {
	for signal, code := range map[unix.Signal]int{unix.SIGTERM: 143, unix.SIGINT: 40} {
		fifo := filepath.Join(t.TempDir(), "never")
		if err := unix.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		c, errs := started(t, "cpu", "n", "sh", "-c", `trap 'exit 40' INT; cat "$0" & echo ready; wait`, fifo)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q %v %s", line, err, errs)
		}
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if got := exitCode(t, c.Wait()); got != code {
			t.Errorf("%v: exit code %d, want %d:\n%s", signal, got, code, errs)
		}
	}
}

// The load of a test is no cost, whether cpu makes the file for it or finds one.
func TestLoadIsApart(t *testing.T) {
	folder := t.TempDir()
	to := filepath.Join(folder, "spent")
	for _, file := range []string{"", filepath.Join(folder, "apart")} {
		if file != "" {
			if err := os.WriteFile(file, []byte("100\n"), 0o600); err != nil { // of an earlier step
				t.Fatal(err)
			}
		}
		c, errs := started(t, "cpu", "-to", to, "loaded", "sh", "-c", `CPU_TEST_ROLE=burn $EXE; printf '0.2\n0.3\n' >>"$AGENT_CPU_APART"`)
		c.Env = append(c.Env, apartVariable+"="+file)
		if err := c.Run(); err != nil {
			t.Fatalf("%v %s", err, errs)
		}
		if got := counted(t, errs.String()); got >= burnt || !strings.Contains(errs.String(), ", load 0.5 s apart\n") {
			t.Errorf("%q: %s", file, errs)
		}
	}
	text, err := os.ReadFile(to)
	if err != nil || !regexp.MustCompile(`^loaded [0-9.]+\nloaded [0-9.]+\n$`).Match(text) {
		t.Errorf("the file has %q, %v", text, err)
	}

	broken := filepath.Join(folder, "broken")
	c, errs := started(t, "cpu", "n", "sh", "-c", `echo much >>"$AGENT_CPU_APART"`)
	c.Env = append(c.Env, apartVariable+"="+broken)
	if code := exitCode(t, c.Run()); code != 2 || !strings.Contains(errs.String(), broken+`:1: "much" is no number of seconds`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestStat(t *testing.T) {
	p, err := parseStat("42 (a b) (c) S 7 42 42 0 -1\n")
	if want := (process{pid: 42, parent: 7, state: "S", name: "a b) (c"}); err != nil || p != want {
		t.Errorf("got %+v, %v", p, err)
	}
	for _, text := range []string{"", "42 (a S 7", "x (a) S 7", "42 (a) S x"} {
		if p, err := parseStat(text); err == nil {
			t.Errorf("%q is read as %+v", text, p)
		}
	}
}
