package command_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sizeOf is the size of all files below a folder.
func sizeOf(tb testing.TB, root string) int64 {
	tb.Helper()
	var sum int64
	must(tb, filepath.WalkDir(root, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		sum += info.Size()
		return err
	}))
	return sum
}

// kinds of steps whose turns are measured with the binary that ships.
func stepKinds() map[string]func(i int) string {
	return map[string]func(i int) string{
		"shell":     func(i int) string { return block(fmt.Sprintf("cat data # %d", i)) },
		"read_file": func(i int) string { return fmt.Sprintf("- read_file data\n\nstep %d", i) },
	}
}

func withData(tb testing.TB) bench {
	tb.Helper()
	c := newBench(tb)
	must(tb, os.WriteFile(filepath.Join(c.folder, "data"), []byte(strings.Repeat(strings.Repeat("y", 63)+"\n", 16)), 0o600))
	took(tb, c.command(c.book(tb, "first.md", 1, stepKinds()["read_file"])...)) // the database is made here, and not measured
	return c
}

// BenchmarkOwnCost is what the binary that ships adds to the work of a turn: a runbook of 50 steps
// without what one of 2 takes, over 48, and for a command without the time of the same command
// alone. The memory is the most that it ever held.
func BenchmarkOwnCost(b *testing.B) {
	for _, name := range []string{"read_file", "shell"} {
		b.Run(name, func(b *testing.B) {
			const steps = 50
			c := withData(b)
			here, gate := newFifo(b), newFifo(b)
			short, long := c.book(b, "short.md", 2, stepKinds()[name]), c.book(b, "long.md", steps, stepKinds()[name])
			held := c.book(b, "last.md", steps+1, func(i int) string {
				if i == steps {
					return holding(here, gate)
				}
				return stepKinds()[name](i)
			})
			var turn, plain []time.Duration
			for b.Loop() {
				base := took(b, c.command(short...))
				turn = append(turn, (took(b, c.command(long...))-base)/(steps-2))
				for range 5 {
					alone := exec.Command("/bin/sh", "-e", "-c", "cat data")
					alone.Dir = c.folder
					plain = append(plain, took(b, alone))
				}
			}
			cmd := c.command(held...)
			_, wait := here.awaitFrom(b, cmd)
			b.ReportMetric(peak(b, cmd.Process.Pid), "MB-rss")
			gate.open(b)
			wait()
			b.ReportMetric(middle(turn, time.Millisecond), "ms/turn")
			own := middle(turn, time.Millisecond)
			if name == "shell" {
				own -= middle(plain, time.Millisecond)
			}
			b.ReportMetric(own, "ms/own")
			b.ReportMetric(middle(plain, time.Millisecond), "ms/sh-alone")
		})
	}
}
