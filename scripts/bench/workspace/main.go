//go:build linux

// Command workspace measures what it costs to keep the files of a workspace, each figure beside its
// limit and, where git does as much, beside git in the same run:
//
//	go run ./scripts/bench/workspace                 everything, as one table
//	go run ./scripts/bench/workspace -quick          few files and repetitions: does it run
//	go run ./scripts/bench/workspace -hooks          only what git's hooks take of a commit
//	go run ./scripts/bench/workspace -commits        only what linking commits takes
//	go run ./scripts/bench/workspace -before BINARY  a run of reads, also with an older binary
//
// Nothing is asserted. Times are of the processor, since another program on the machine slows the
// clock's; each is the least of its repetitions, since such a program slows the processor too. What
// several processors do at once is timed by the clock: that is how long somebody waits.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// bench is one run of the command.
type bench struct {
	dir    string // removed at the end
	quick  bool
	only   bool   // the hooks of git
	links  bool   // only commits
	before string // an older binary; "" for none
	out    io.Writer
}

func main() {
	b := &bench{out: os.Stdout}
	flag.BoolVar(&b.quick, "quick", false, "few files and repetitions")
	flag.StringVar(&b.before, "before", "", "an older `binary` to compare a run of reads with")
	flag.BoolVar(&b.only, "hooks", false, "only the hooks of git")
	flag.BoolVar(&b.links, "commits", false, "only the linking of commits")
	flag.Parse()
	if err := b.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "agent-bench-workspace-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "load %s", load)
	measures := []func(context.Context) error{b.many, b.few, b.turns, b.reads, b.linking, b.hooks}
	if b.only {
		measures = measures[len(measures)-1:]
	}
	if b.links {
		measures = []func(context.Context) error{b.linking}
	}
	for _, measure := range measures {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return nil
}

// row prints a figure beside its limit; a limit of 0 is none.
func (b *bench) row(figure string, value float64, unit string, limit float64, note string) {
	text := fmt.Sprintf("%-58s %9.2f %s", figure, value, unit)
	if limit > 0 {
		text += fmt.Sprintf("  limit %g", limit)
	}
	if note != "" {
		text += "  " + note
	}
	fmt.Fprintln(b.out, text)
}

// times is how often something is repeated.
func (b *bench) times(n int) int {
	if b.quick {
		return max(n/10, 2)
	}
	return n
}

// used is the processor's time of this process, or of the children that have ended.
func used(who int) time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0 // the machine that is measured has it
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cpu is what a task takes, in milliseconds: the least of n times.
func cpu(n, who int, task func() error) (float64, error) {
	least := time.Duration(math.MaxInt64)
	for range n {
		began := used(who)
		if err := task(); err != nil {
			return 0, err
		}
		least = min(least, used(who)-began)
	}
	return float64(least) / float64(time.Millisecond), nil
}

// waited is how long a task takes by the clock, and its time of the processor: each the least of n
// times.
func waited(n, who int, task func() error) (clock, processor float64, err error) {
	clock = math.Inf(1)
	processor, err = cpu(n, who, func() error {
		began := time.Now()
		err := task()
		clock = min(clock, float64(time.Since(began))/float64(time.Millisecond))
		return err
	})
	return clock, processor, err
}

// waits prints a figure that was timed by the clock.
func (b *bench) waits(figure string, clock, processor, limit float64, note string) {
	b.row(figure, clock, "ms", limit, strings.TrimSpace(fmt.Sprintf("by the clock; %.0f of the processor  %s", processor, note)))
}

// sh carries out a shell's text in a folder.
func sh(ctx context.Context, dir, text string) error {
	c := exec.CommandContext(ctx, "sh", "-ec", text)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_OPTIONAL_LOCKS=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %v: %s", text, err, out)
	}
	return nil
}

// files makes a folder with so many files, ten in each of its own; deep puts each of these into one
// more.
func (b *bench) files(name string, n int, deep bool) (string, error) {
	dir := filepath.Join(b.dir, name)
	for i := range n {
		at := filepath.Join(dir, fmt.Sprintf("d%03d", i/1000), fmt.Sprintf("e%03d", i/10%100))
		if deep {
			at = filepath.Join(at, "in")
		}
		if i%10 == 0 {
			if err := os.MkdirAll(at, 0o755); err != nil {
				return "", err
			}
		}
		if err := os.WriteFile(filepath.Join(at, fmt.Sprintf("f%d", i)), fmt.Appendf(nil, "file %d\n", i), 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

const repository = `git init -q -b main . && git config user.name Bench && git config user.email bench@example.com
git add -A && git commit -q -m one && git repack -a -d -q && sleep 1 && git update-index -q --really-refresh`
