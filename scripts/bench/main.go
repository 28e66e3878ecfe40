//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"agent/scripts/testkit/testbin"
)

// measure is one part of the table.
type measure struct {
	name string // a short word, for -only
	what string // one sentence, for -list
	run  func(context.Context, *bench) ([]row, error)
}

// bench is what a measure finds around it.
type bench struct {
	exe     string // the binary; of a released one it differs in what no start reads: names and lines for debuggers
	dir     string // a folder on the disk that is measured, removed at the end
	quick   bool
	speckit string // a checkout of github/spec-kit; "": there is none
}

type options struct {
	only, json, dir, speckit string
	quick, list              bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&o.only, "only", "", "measures whose name this `pattern` fits")
	f.StringVar(&o.json, "json", "", "write the figures to this `file`, too")
	f.StringVar(&o.dir, "dir", "", "`folder` on the disk to measure (default: the temporary folder)")
	f.StringVar(&o.speckit, "speckit", "", "`folder` with a checkout of github/spec-kit; its engine needs python3 with yaml")
	f.BoolVar(&o.quick, "quick", false, "few repetitions")
	f.BoolVar(&o.list, "list", false, "say what is measured, and measure nothing")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("bench takes no arguments: %s", strings.Join(f.Args(), " "))
	}
	return o, nil
}

func run(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	if o.list {
		for _, m := range chosen {
			fmt.Fprintf(out, "%-12s %s\n", m.name, m.what)
		}
		return nil
	}
	b := &bench{quick: o.quick, speckit: o.speckit}
	if b.dir, err = os.MkdirTemp(o.dir, "agent-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	folder, err := testbin.Make(testbin.Form{})
	if err != nil {
		return err
	}
	b.exe = filepath.Join(folder, testbin.Form{}.Program())
	rows, err := b.carryOut(ctx, chosen, progress)
	print(out, rows)
	return errors.Join(err, write(o.json, o.quick, rows))
}

func choose(pattern string) ([]measure, error) {
	fits, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("-only %s: %v", pattern, err)
	}
	var out []measure
	for _, m := range measures() {
		if fits.MatchString(m.name) {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("-only %s: no measure has such a name; see -list", pattern)
	}
	return out, nil
}

// carryOut runs one measure after the other. One that fails is named at the end and keeps none of
// the others from running.
func (b *bench) carryOut(ctx context.Context, chosen []measure, progress io.Writer) ([]row, error) {
	var rows []row
	var failed []error
	for _, m := range chosen {
		if ctx.Err() != nil {
			return rows, ctx.Err()
		}
		began := time.Now()
		fmt.Fprintf(progress, "%s: %s … ", m.name, m.what)
		got, err := m.run(ctx, b)
		for i := range got {
			got[i].Measure = m.name
		}
		rows = append(rows, got...)
		if err != nil {
			failed = append(failed, fmt.Errorf("measure %s: %w", m.name, err))
			fmt.Fprintf(progress, "failed: %v\n", err)
			continue
		}
		fmt.Fprintf(progress, "%.0f s\n", time.Since(began).Seconds())
	}
	return rows, errors.Join(failed...)
}

// folder makes a new folder on the disk that is measured.
func (b *bench) folder(name string) (string, error) { return os.MkdirTemp(b.dir, name+"-") }

// times is how often something is repeated.
func (b *bench) times(n int) int {
	if b.quick {
		return max(n/10, 2)
	}
	return n
}
