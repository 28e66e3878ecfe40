//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"agent/recovery/fault"
)

type options struct {
	short, everyShape    bool
	faults               bool
	duration             time.Duration
	seed                 uint64
	only, json, dir, exe string
	workers              int
	point, tool, where   string
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == serverCommand {
		if err := serveMCP(os.Stdin, os.Stdout, os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintf(os.Stderr, "crashlab as an MCP server: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if signal.Ignored(syscall.SIGHUP) {
		// Who was started by nohup passes that on to every agent, which would not see the signals that it is sent here. One that is
		// caught is not ignored in a child.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("crashlab", flag.ContinueOnError)
	f.SetOutput(out)
	f.BoolVar(&o.short, "short", false, "every fault point and every tool at least once, in less than three minutes")
	f.BoolVar(&o.everyShape, "every-shape", false, "every combination in every provider shape")
	f.DurationVar(&o.duration, "for", 0, "random kills of several runs at once for this `time`")
	f.Uint64Var(&o.seed, "seed", 1, "the `number` that choices are made from")
	f.BoolVar(&o.faults, "faults", false, "only the faults of the machine: disks that fill or fail, power cuts, clocks, another boot")
	f.StringVar(&o.only, "only", "", "one story, by its `key`")
	f.StringVar(&o.point, "point", "", "only this fault `point`")
	f.StringVar(&o.tool, "tool", "", "only this `tool`")
	f.StringVar(&o.where, "situation", "", "only this `situation`")
	f.StringVar(&o.json, "json", "", "write the counts to this `file`")
	f.StringVar(&o.dir, "dir", "", "`folder` for the worlds (default: a new one)")
	f.StringVar(&o.exe, "exe", "", "the `binary` to kill (default: built from here)")
	f.IntVar(&o.workers, "jobs", 4, "`stories` at once")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	err := o.check(f.Args())
	if err != nil {
		fmt.Fprintf(out, "crashlab: %v\n", err)
	}
	return o, err
}

// check refuses what names nothing: a lab that has nothing to do would find nothing, which reads like a promise that was kept.
func (o *options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("it takes no arguments: %s", strings.Join(rest, " "))
	case o.workers < 1:
		return fmt.Errorf("-jobs %d: at least one story at a time is told", o.workers)
	case o.duration < 0:
		return fmt.Errorf("-for %s: it cannot take less than no time", o.duration)
	case o.point != "" && !slices.Contains(fault.All(), fault.Point(o.point)):
		return fmt.Errorf("-point %s: there is no such fault point", o.point)
	case o.where != "" && !slices.Contains(situations(), o.where):
		return fmt.Errorf("-situation %s: there are %s", o.where, strings.Join(situations(), ", "))
	}
	if _, ok := subjects()[o.tool]; o.tool != "" && !ok {
		return fmt.Errorf("-tool %s: there are %s", o.tool, strings.Join(slices.Sorted(maps.Keys(subjects())), ", "))
	}
	if o.only != "" && !o.faults {
		if _, err := parseKey(o.only); err != nil {
			return fmt.Errorf("-only: %v", err)
		}
	}
	for _, path := range []*string{&o.exe, &o.dir} {
		if *path == "" {
			continue
		}
		whole, err := filepath.Abs(*path) // commands run in folders of their own
		if err != nil {
			return err
		}
		*path = whole
	}
	return nil
}

func run(ctx context.Context, args []string, out io.Writer) int {
	o, err := parse(args, out)
	if err != nil {
		return 2
	}
	ok, err := o.carryOut(ctx, out)
	if err != nil {
		fmt.Fprintf(out, "crashlab: %v\n", err)
	}
	if err != nil || !ok {
		return 1
	}
	return 0
}

func (o options) carryOut(ctx context.Context, out io.Writer) (ok bool, err error) {
	began := time.Now()
	mounts := errNoFaults
	if o.meetsFaults() {
		mounts = ownMounts()
	}
	dir, err := os.MkdirTemp(o.dir, "crashlab-")
	if err != nil {
		return false, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return false, err
	}
	if err := roomIn(dir); err != nil {
		return false, errors.Join(err, os.Remove(dir))
	}
	l := &lab{dir: dir, short: o.short, mounts: mounts, report: newReport(out, o.mode(), o.seed)}
	if o.meetsFaults() {
		l.survey(troubles(), o.only)
	}
	if o.exe == "" {
		if o.exe, err = build(ctx, dir); err != nil {
			return false, err
		}
	}
	c, err := startCounter()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	l.exe, l.counter = o.exe, c
	if err := runControls(ctx, l); err != nil {
		return false, err
	}
	systematic, err := o.stories(ctx, l)
	l.report.used()
	ok = l.report.print(began, systematic && err == nil)
	err = errors.Join(err, l.report.write(o.json))
	if ok && (err == nil || ctx.Err() != nil) { // a pass that was broken off keeps nothing for anybody to look at
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return ok, err
}

// leastRoom is what the worlds of a few stories at once take, with their ballasts and disks; bytes.
const leastRoom = 512 << 20

// roomIn refuses a disk on which the product would rightly stop: that is no finding.
func roomIn(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fmt.Errorf("look at the disk of %s: %v", dir, err)
	}
	if free := s.Bavail * uint64(s.Bsize); free < leastRoom {
		return fmt.Errorf("the disk of %s has %d MiB left, and the worlds need %d: name another folder by -dir", dir, free>>20, leastRoom>>20)
	}
	return nil
}

func (o options) mode() string {
	switch {
	case o.only != "" && !o.faults:
		return "one story"
	case o.faults && o.short:
		return "short faults"
	case o.faults:
		return "faults"
	case o.duration > 0:
		return "random"
	case o.short:
		return "short"
	}
	return "systematic"
}

// meetsFaults says that the faults of the machine are part of what was asked for.
func (o options) meetsFaults() bool { return o.faults || o.only == "" && o.duration == 0 && o.whole() }

// whole says that no part of the systematic pass was chosen.
func (o options) whole() bool { return o.point == "" && o.tool == "" && o.where == "" }

// stories carries out what was asked for. It says whether all fault points should have been reached.
func (o options) stories(ctx context.Context, l *lab) (systematic bool, err error) {
	if o.faults {
		return false, l.troubled(ctx, troubles(), troubleChoice{short: o.short, seed: o.seed, only: o.only, workers: o.workers})
	}
	if o.only != "" {
		j, err := parseKey(o.only)
		if err != nil {
			return false, err
		}
		fired, _, err := l.try(ctx, j)
		fmt.Fprintf(l.report.out, "reached: %v of %v\n", fired, j.arms)
		return false, err
	}
	if o.duration > 0 {
		return false, randomKills(ctx, l, o.duration, o.seed)
	}
	tools, err := toolsOf(ctx, l.exe, l.dir)
	if err != nil {
		return false, err
	}
	tools, unknown := callsOf(tools)
	if len(unknown) > 0 {
		return false, fmt.Errorf("the tool %s has no story: add a line to subjects in scripts/crashlab/tools.go", unknown[0])
	}
	p := generate(choice{short: o.short, everyShape: o.everyShape, seed: o.seed, tools: tools})
	l.report.Skipped, l.report.Left = p.skipped, p.left
	p.families = slices.DeleteFunc(p.families, func(f family) bool {
		return o.point != "" && f.point != o.point || o.tool != "" && f.tool != o.tool || o.where != "" && f.situation != o.where
	})
	if len(p.families) == 0 {
		return false, errors.New("no combination is left of what was chosen: without -short there are more, or no such story passes by the point")
	}
	fmt.Fprintf(l.report.out, "%d combinations of a fault point and a story, in %s\n", len(p.families), l.dir)
	if err := l.all(ctx, p.families, o.workers); err != nil || !o.whole() {
		return o.whole(), err
	}
	return true, l.troubled(ctx, troubles(), troubleChoice{short: o.short, seed: o.seed, workers: o.workers})
}
