package command_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/db"
)

// The benchmarks in bench_*_test.go measure what scripts/bench has no row for, and assert nothing.
// Each states beside its figure what the machine gives at best, measured in the same iteration and
// in turns with it, since a figure alone says more about the machine than about this code. They
// take medians, so a dozen iterations are enough:
//
//	go test ./host/command -run xxx -bench . -benchtime 12x

// middle is the median in units of unit.
func middle(d []time.Duration, unit time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2]) / float64(unit)
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func openStore(tb testing.TB, home string) *db.Store {
	return openStoreWith(tb, home, db.Options{NoBallast: true})
}

func openStoreWith(tb testing.TB, home string, o db.Options) *db.Store {
	tb.Helper()
	s, err := db.Open(context.Background(), home, o)
	must(tb, err)
	return s
}

// bench is the binary with a state folder of its own.
type bench struct {
	home, folder string
}

func newBench(tb testing.TB) bench {
	tb.Helper()
	dir := tb.TempDir()
	c := bench{filepath.Join(dir, "state"), filepath.Join(dir, "work")}
	must(tb, os.Mkdir(c.folder, 0o755))
	return c
}

// command is the binary, ready to start.
func (c bench) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(binDir(), "agent"), args...)
	cmd.Dir = c.folder
	cmd.Env = append(os.Environ(), "AGENT_HOME="+c.home, "NO_COLOR=1")
	return cmd
}

// took runs a command to its end and says how long that was.
func took(tb testing.TB, cmd *exec.Cmd) time.Duration {
	tb.Helper()
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(began)
	if err != nil {
		tb.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return took
}

// book writes a runbook of so many steps and returns the arguments that run it.
func (c bench) book(tb testing.TB, name string, steps int, step func(i int) string) []string {
	tb.Helper()
	var b strings.Builder
	for i := range steps {
		fmt.Fprintf(&b, "%s\n\n", step(i))
	}
	path := filepath.Join(c.folder, name)
	must(tb, os.WriteFile(path, []byte(b.String()), 0o600))
	return []string{"run", "--model", "runbook", "--max-turns", "0", "-f", path}
}

func block(script string) string { return "```sh\n" + script + "\n```" }

// peak is the most memory that a process held, in MB. Its own page tables are asked: the figure
// that wait gives begins with the memory of whoever started it.
func peak(tb testing.TB, pid int) float64 {
	tb.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	must(tb, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kb float64
		if _, err := fmt.Sscanf(lines.Text(), "VmHWM: %f kB", &kb); err == nil {
			return kb / 1024
		}
	}
	tb.Skip("this system does not say how much memory a process holds")
	return 0
}

// fifo is a pipe that a command under test writes to, or one that it waits at.
type fifo struct {
	path string
	file *os.File
}

func newFifo(tb testing.TB) *fifo {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "fifo")
	must(tb, exec.Command("mkfifo", path).Run())
	f, err := os.OpenFile(path, os.O_RDWR, 0) // both ends: neither open waits for the other
	must(tb, err)
	tb.Cleanup(func() { must(tb, f.Close()) })
	return &fifo{path, f}
}

// awaitFrom starts a command that writes to the pipe and returns when it has. What ends without
// writing is an error.
func (f *fifo) awaitFrom(tb testing.TB, cmd *exec.Cmd) (took time.Duration, wait func()) {
	tb.Helper()
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	ended, wrote := make(chan error, 1), make(chan error, 1)
	began := time.Now()
	must(tb, cmd.Start())
	go func() { ended <- cmd.Wait() }()
	go func() {
		var b [2]byte
		_, err := io.ReadFull(f.file, b[:])
		took = time.Since(began)
		wrote <- err
	}()
	var err error
	select {
	case err = <-wrote:
	case err = <-ended:
		if err == nil {
			ended <- nil // it wrote, and ended before that was seen
			err = <-wrote
		}
	}
	if err != nil {
		tb.Fatalf("%s: %v\n%s", cmd, err, said.String())
	}
	return took, func() {
		tb.Helper()
		if err := <-ended; err != nil {
			tb.Fatalf("%s: %v\n%s", cmd, err, said.String())
		}
	}
}

// holding is a block that writes to one pipe and waits at the other.
func holding(here, gate *fifo) string {
	return block("echo x >'" + here.path + "'; read -r _ <'" + gate.path + "'")
}

// open makes one command go on that reads a line.
func (f *fifo) open(tb testing.TB) {
	tb.Helper()
	_, err := f.file.WriteString("\n")
	must(tb, err)
}
