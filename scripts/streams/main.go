//go:build linux

package main

import (
	"agent/scripts/streams/stage"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	short       bool
	seed        uint64
	eventsource string // a folder with node_modules
	result      string
	part        string
	commands    string // how the step is called
}

// part is one proof. What it found is a list of figures; the controls are among them.
type part struct {
	name string
	run  func(context.Context, *world) (findings, error)
}

func parts() []part {
	return []part{{"once", once}, {"observers", observers}, {"leftover", leftover}}
}

// findings are what a part saw.
type findings struct {
	figures          []figure
	controls, caught int
	bad              []string // what does not hold
}

type figure struct {
	name  string
	value any
}

func (f *findings) add(name string, value any) { f.figures = append(f.figures, figure{name, value}) }

func (f *findings) must(ok bool, format string, args ...any) {
	if !ok {
		f.bad = append(f.bad, fmt.Sprintf(format, args...))
	}
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == crowdCommand {
		if err := crowdMain(os.Args[2:]); err != nil {
			fmt.Fprintf(os.Stderr, "crowd: %v\n", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "streams: %v\n", err)
		os.Exit(1)
	}
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("streams", flag.ContinueOnError)
	f.BoolVar(&o.short, "short", false, "a small part of each proof, in less than a minute")
	f.Uint64Var(&o.seed, "seed", 1, "of what is chosen by chance")
	f.StringVar(&o.eventsource, "eventsource", "", "`folder` in which npm installed eventsource")
	f.StringVar(&o.part, "part", "", "only this `proof`: once, observers or leftover")
	f.StringVar(&o.result, "result", "", "`file` that gets what was found")
	f.StringVar(&o.commands, "command", "go run ./scripts/streams", "how this is called, for the result")
	err = f.Parse(args)
	return o, err
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	began, all, known := time.Now(), findings{}, false
	for _, p := range parts() {
		if o.part != "" && o.part != p.name {
			continue
		}
		known = true
		found, err := carryOut(ctx, p, o)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		all.figures, all.bad = append(all.figures, found.figures...), append(all.bad, found.bad...)
		all.controls, all.caught = all.controls+found.controls, all.caught+found.caught
	}
	if !known {
		return fmt.Errorf("-part %s: choose once, observers or leftover", o.part)
	}
	if all.caught != all.controls {
		all.bad = append(all.bad, fmt.Sprintf("%d of %d controls were caught", all.caught, all.controls))
	}
	if len(all.bad) > 0 {
		return errors.New(strings.Join(all.bad, "\n"))
	}
	return write(o, all, time.Since(began))
}

func carryOut(ctx context.Context, p part, o options) (findings, error) {
	s, err := stage.New(ctx, "")
	if err != nil {
		return findings{}, err
	}
	w := &world{s, o}
	began := time.Now()
	found, err := p.run(ctx, w)
	fmt.Printf("%s: %.0f s\n", p.name, time.Since(began).Seconds())
	for _, f := range found.figures {
		fmt.Printf("  %s %v\n", f.name, f.value)
	}
	return found, errors.Join(err, w.Close())
}

// write keeps what was found, in the form that scripts/check reads.
func write(o options, all findings, took time.Duration) error {
	if o.result == "" {
		return nil
	}
	commit, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("read the commit: %v", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "commit %scommand %s\nseed %d\n", commit, o.commands, o.seed)
	for _, f := range all.figures {
		fmt.Fprintf(&b, "%s %v\n", f.name, f.value)
	}
	fmt.Fprintf(&b, "controls %d\ncaught %d\nseconds %.0f\n", all.controls, all.caught, took.Seconds())
	return os.WriteFile(o.result, []byte(b.String()), 0o644)
}
