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
	"agent/scripts/crashlab/control"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/machine"
	"agent/scripts/crashlab/mcp"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/random"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/world"
	"agent/scripts/testkit/seed"
)

// errNoFaults stands where nothing was asked for that would need a mount.
var errNoFaults = errors.New("no fault of the machine was asked for")

type options struct {
	short, everyShape    bool
	faults               bool
	duration             time.Duration
	seed                 uint64
	only, json, dir, exe string
	workers              int
	point, tool, where   string

	state, result string
	limit         time.Duration
}

// errMoreLeft ends a part of a pass that is not its last.
var errMoreLeft = errors.New("the pass goes on: give the same command again")

func main() {
	if len(os.Args) == 4 && os.Args[1] == mcp.Command {
		if err := mcp.Serve(os.Stdin, os.Stdout, os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintf(os.Stderr, "crashlab as an MCP server: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if signal.Ignored(syscall.SIGHUP) {
		// Who was started by nohup passes that on to every agent, which would not see the signals
		// that it is sent here. One that is caught is not ignored in a child.
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
	f.Uint64Var(&o.seed, "seed", 0, "the `number` that choices are made from (default: that of scripts/seed.txt)")
	f.BoolVar(&o.faults, "faults", false, "only the faults of the machine: disks that fill or fail, power cuts, clocks, another boot")
	f.StringVar(&o.only, "only", "", "one story, by its `key`")
	f.StringVar(&o.point, "point", "", "only this fault `point`")
	f.StringVar(&o.tool, "tool", "", "only this `tool`")
	f.StringVar(&o.where, "situation", "", "only this `situation`")
	f.StringVar(&o.json, "json", "", "write the counts to this `file`")
	f.StringVar(&o.dir, "dir", "", "`folder` for the worlds (default: a new one)")
	f.StringVar(&o.exe, "exe", "", "the `binary` to kill (default: built from here)")
	f.IntVar(&o.workers, "jobs", 4, "`stories` at once")
	f.StringVar(&o.state, "state", "", "carry the pass out in parts: keep in this `file` what is done, and go on from there")
	f.DurationVar(&o.limit, "limit", 0, "begin nothing after this `time`; the next part goes on. It needs -state")
	f.StringVar(&o.result, "result", "", "write the result of a complete pass without findings to this `file`. It needs -state")
	if err := f.Parse(args); err != nil {
		return o, err
	}

	err := o.check(f.Args())
	if err == nil && o.seed == 0 {
		o.seed, _, err = seed.Read(".")
	}
	if err != nil {
		fmt.Fprintf(out, "crashlab: %v\n", err)
	}
	return o, err
}

// check refuses what names nothing: a lab that has nothing to do would find nothing, which reads
// like a promise that was kept.
func (o *options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("it takes no arguments: %s", strings.Join(rest, " "))
	case o.workers < 1:
		return fmt.Errorf("-jobs %d: at least one story at a time is carried out", o.workers)
	case o.state != "" && (o.duration > 0 || o.only != "" || !o.whole()):
		return errors.New("-state is for a whole pass, for -short or for -faults")
	case o.state == "" && (o.limit != 0 || o.result != ""):
		return errors.New("-limit and -result need -state FILE, in which the parts of the pass are kept")
	case o.limit < 0:
		return fmt.Errorf("-limit %s: it cannot take less than no time", o.limit)
	case o.duration < 0:
		return fmt.Errorf("-for %s: it cannot take less than no time", o.duration)
	case o.point != "" && !slices.Contains(fault.All(), fault.Point(o.point)):
		return fmt.Errorf("-point %s: there is no such fault point", o.point)
	case o.where != "" && !slices.Contains(story.Situations(), o.where):
		return fmt.Errorf("-situation %s: there are %s", o.where, strings.Join(story.Situations(), ", "))
	}
	if _, ok := story.Subjects()[o.tool]; o.tool != "" && !ok {
		return fmt.Errorf("-tool %s: there are %s", o.tool, strings.Join(slices.Sorted(maps.Keys(story.Subjects())), ", "))
	}
	if o.only != "" && !o.faults {
		if _, err := plan.ParseKey(o.only); err != nil {
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
	switch {
	case ok && errors.Is(err, errMoreLeft):
		return 3
	case err != nil || !ok:
		return 1
	}
	return 0
}

func (o options) carryOut(ctx context.Context, out io.Writer) (ok bool, err error) {
	began := time.Now()
	mounts := errNoFaults
	if o.meetsFaults() {
		mounts = machine.OwnMounts()
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
	l := &lab.Lab{Dir: dir, Short: o.short, Mounts: mounts, Report: lab.NewReport(out, o.mode(), o.seed)}
	if l.Exe = o.exe; o.meetsFaults() {
		l.NoteUntried(faults(), o.only)
	}
	if o.exe == "" {
		if o.exe, err = world.Binary(); err != nil {
			return false, err
		}
	}
	c, err := world.StartCounter()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	l.Exe, l.Counter = o.exe, c
	if o.state != "" {
		if l.Parts, err = o.parts(ctx, l); err != nil {
			return false, errors.Join(err, os.RemoveAll(dir))
		}
	}
	if err := control.Run(ctx, l); err != nil {
		return false, err
	}
	systematic, err := o.stories(ctx, l)
	complete := err == nil && l.Parts.Left() == 0
	l.Report.Used()
	ok = l.Report.Print(began, systematic && complete)
	err = errors.Join(err, l.Report.Write(o.json))
	if ok && (err == nil || ctx.Err() != nil) { // a pass that was broken off keeps nothing for anybody to look at
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return ok, errors.Join(err, o.endPart(l, complete, ok && err == nil))
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

// stories carries out what was asked for. It says whether all fault points should have been
// reached.
func (o options) stories(ctx context.Context, l *lab.Lab) (systematic bool, err error) {
	if o.faults {
		return false, l.RunFaults(ctx, faults(), lab.Choice{Short: o.short, Seed: o.seed, Only: o.only, Workers: o.workers})
	}
	if o.only != "" {
		j, err := plan.ParseKey(o.only)
		if err != nil {
			return false, err
		}
		fired, _, err := l.Try(ctx, j)
		fmt.Fprintf(l.Report.Out, "reached: %v of %v\n", fired, j.Arms)
		return false, err
	}
	if o.duration > 0 {
		return false, random.Run(ctx, l, o.duration, o.seed)
	}
	tools, err := world.ToolsOf(ctx, l.Exe, l.Dir)
	if err != nil {
		return false, err
	}
	tools, unknown := story.CallsOf(tools)
	if len(unknown) > 0 {
		return false, fmt.Errorf("the tool %s has no story: add a line to Subjects in scripts/crashlab/story/subjects.go", unknown[0])
	}
	p := plan.Generate(plan.Choice{Short: o.short, EveryShape: o.everyShape, Seed: o.seed, Tools: tools})
	l.Report.Skipped, l.Report.Left = p.Skipped, p.LeftOut
	p.Families = slices.DeleteFunc(p.Families, func(f plan.Family) bool {
		return o.point != "" && f.Point != o.point || o.tool != "" && f.Tool != o.tool || o.where != "" && f.Situation != o.where
	})
	if len(p.Families) == 0 {
		return false, errors.New("no combination is left of what was chosen: without -short there are more, or no such story passes by the point")
	}
	fmt.Fprintf(l.Report.Out, "%d combinations of a fault point and a story, in %s\n", len(p.Families), l.Dir)
	if err := l.RunFamilies(ctx, p.Families, o.workers); err != nil || !o.whole() {
		return o.whole(), err
	}
	return true, l.RunFaults(ctx, faults(), lab.Choice{Short: o.short, Seed: o.seed, Workers: o.workers})
}
