//go:build linux

// Package power cuts the power. A story is recorded once, on a disk that remembers every operation;
// then the folders are judged that a cut after any of them could have left, and in some of them the
// story goes on, after another start of the machine.
//
// recording is the story on its disk (trace.go), a cut is one state of it (cut.go), and the story
// goes on in resume.go; twice.go cuts what goes on once more.
package power

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/machine"
)

// Fault is about what a power cut leaves of the disk. A story is carried out once, on a disk that
// remembers; then the folders are looked at that a cut after any operation could have left, and in
// some of them the story goes on, on another boot.
func Fault() lab.Fault {
	return lab.Fault{
		Name:  "power",
		What:  "the power is cut after any operation on the disk, and what was not made durable is lost, in part or torn",
		Takes: "a mount namespace of its own and FUSE",
		Needs: needs,
		Run:   run,
	}
}

func needs(l *lab.Lab) error {
	if l.Mounts != nil {
		return l.Mounts
	}
	if err := machine.NeedsDisk(); err != nil {
		return err
	}
	return machine.NeedsBoot()
}

// cut is one state of a trace. It is named by what the operation did, since numbers differ from one
// recording to the next.
type cut struct {
	at        int
	operation string // operation, path and the how manieth of the kind
	model     string
	seed      uint64
	resume    bool // the story goes on in it; else the database alone is judged
}

func (c cut) key(shape string) string {
	how := "judge"
	if c.resume {
		how = "resume"
	}
	return fmt.Sprintf("power/%s/%s/%s/%d/%s", shape, c.operation, c.model, c.seed, how)
}

// shapes are the shapes whose stories are traced.
func shapes() []string { return []string{"runbook", "anthropic", flowShape} }

// models are those by which a disk that heeds fsync may lose something. The first two have one
// outcome only.
func models() []string { return []string{"everything", "synced", "prefix", "scattered", "torn"} }

// What is tried of each trace.
const (
	shortJudged  = 60
	shortResumed = 3
	wholeResumed = 120
	againStep    = 3 // of a recording after a cut
	againResumed = 30
)

func run(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	exe, err := machine.BuildDisk(ctx, l.Dir)
	if err != nil {
		return err
	}
	shape, rest, _ := strings.Cut(c.Only, "/")
	if c.Only == "" || shape == "controls" {
		if err := controls(ctx, l, exe); err != nil {
			return err
		}
		if !c.Short {
			if err := controlFlow(ctx, l, exe); err != nil {
				return err
			}
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	met := shape == "controls" || shape == pruneShape
	if c.Only == "" || shape == pruneShape {
		if err := pruned(ctx, l, exe, rest, c); err != nil {
			return fmt.Errorf("%s: %w", pruneShape, err)
		}
	}
	for _, s := range shapes() {
		if c.Only != "" && s != strings.TrimSuffix(shape, againWord) {
			continue
		}
		met = true
		if c.Only != "" {
			s = shape
		}
		wg.Go(func() {
			if e := trace(ctx, l, exe, s, rest, c); e != nil {
				mu.Lock()
				err = errors.Join(err, fmt.Errorf("%s: %w", s, e))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if !met {
		return fmt.Errorf("there is no story %q: there are controls, %s, %s", shape, pruneShape, strings.Join(shapes(), ", "))
	}
	return err
}

// trace records one story and cuts it. In the whole pass, what comes after a cut is cut too.
func trace(ctx context.Context, l *lab.Lab, exe, shape, only string, c lab.Choice) (err error) {
	base, twice := strings.CutSuffix(shape, againWord)
	p, err := record(ctx, l, exe, base, nil)
	if err != nil {
		return fmt.Errorf("record the story whose power is cut: %w", err)
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if !twice {
		if err := p.cutAll(ctx, only, c); err != nil || c.Short || only != "" || shape == flowShape {
			return err
		}
	}
	q, err := p.recordAgain(ctx, exe)
	if err != nil {
		return err
	}
	return errors.Join(q.cutAll(ctx, only, c), q.close())
}

// cutAll cuts the power of a recording after many operations, or at the one that a key names.
func (p *recording) cutAll(ctx context.Context, only string, c lab.Choice) error {
	if only != "" {
		one, err := p.find(only)
		if err != nil {
			return err
		}
		return p.try(ctx, one)
	}
	if p.before == nil {
		if err := p.control(ctx); err != nil {
			return err
		}
	}
	began := time.Now()
	judged, resumed := p.choose(c)
	if err := p.judgeAll(ctx, judged); err != nil {
		return err
	}
	took := time.Since(began)
	p.lab.Report.BeginPart(len(resumed), "power cuts carried on from")
	for _, one := range resumed {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := p.try(ctx, one); err != nil {
			return err
		}
		p.lab.Report.Progress()
	}
	fmt.Fprintf(p.lab.Report.Out, "power, %s: %d operations of %d files; %d states judged in %.1f s (%.0f a second), %d carried on in %.1f s\n",
		p.shape, len(p.ops), p.paths(), len(judged), took.Seconds(), float64(len(judged))/took.Seconds(), len(resumed), (time.Since(began) - took).Seconds())
	return nil
}

// choose lists the states that are judged, in the order of time, and those in which the story goes
// on.
func (p *recording) choose(c lab.Choice) (judged, resumed []cut) {
	rng := rand.New(rand.NewPCG(c.Seed, uint64(len(p.shape))))
	points := p.cutPoints()
	any := func(resume bool) cut {
		one := points[rng.IntN(len(points))]
		one.model, one.seed, one.resume = models()[rng.IntN(len(models()))], c.Seed, resume
		return one
	}
	if c.Short {
		for range shortJudged {
			judged = append(judged, any(false))
		}
	} else {
		for i, one := range points {
			if p.before != nil && i%againStep != 0 {
				continue
			}
			for _, m := range models() {
				one.model, one.seed = m, c.Seed
				judged = append(judged, one)
			}
		}
	}
	n := wholeResumed
	if c.Short {
		n = shortResumed
	} else if p.before != nil {
		n = againResumed
	}
	if p.before != nil && p.world.Model != nil {
		// The model's story has grown by what was asked for once more: another recording would not
		// begin with it.
		n = 0
	}
	if p.shape == flowShape {
		n = 0
	}
	for range n {
		resumed = append(resumed, any(true))
	}
	if n > 0 {
		resumed = append(resumed, tellingCuts(points, c)...)
	}
	byTime := func(a, b cut) int { return a.at - b.at }
	slices.SortStableFunc(judged, byTime)
	slices.SortStableFunc(resumed, byTime)
	return judged, resumed
}

// tellingCuts are the cuts that chance may leave out and that matter most: a command has done its
// effect and left no record of its end, or has just left it. Of each kind the short pass takes the
// first.
func tellingCuts(points []cut, c lab.Choice) []cut {
	var out []cut
	for _, kind := range []string{"write:" + effectsPath + ":", opFsyncdirCalls} {
		taken, exit := 0, false
		for _, one := range points {
			exit = exit || strings.HasPrefix(one.operation, "rename:home/state/calls/") && strings.Contains(one.operation, "/exit.reserved:")
			if !strings.HasPrefix(one.operation, kind) || kind == opFsyncdirCalls && !exit || c.Short && taken > 0 {
				continue
			}
			one.model, one.seed, one.resume = "synced", c.Seed, true
			out = append(out, one)
			taken, exit = taken+1, false
		}
	}
	return out
}

const opFsyncdirCalls = "fsyncdir:home/state/calls/"

// cutPoints are the operations after which a cut can make a difference: the ballast is noise, and
// the index of the log is made anew by whoever opens the database first.
func (p *recording) cutPoints() []cut {
	var out []cut
	seen := map[string]int{}
	for _, op := range p.ops {
		if strings.Contains(op.Path, "/ballast") || strings.Contains(op.Path, "/.ballast") || strings.HasSuffix(op.Path, "-shm") {
			continue
		}
		name := op.Op + ":" + plainPath(op.Path)
		seen[name]++
		out = append(out, cut{at: op.N, operation: fmt.Sprintf("%s:%d", name, seen[name])})
	}
	return out
}

// find is the state that the rest of a key names.
func (p *recording) find(rest string) (cut, error) {
	parts := strings.Split(rest, "/")
	n := len(parts)
	if n < 4 {
		return cut{}, fmt.Errorf("%q is no state: OPERATION:PATH:COUNT/MODEL/SEED/judge or resume", rest)
	}
	seed, err := strconv.ParseUint(parts[n-2], 10, 64)
	if err != nil {
		return cut{}, fmt.Errorf("%q is no state: its seed is no number", rest)
	}
	moment := strings.Join(parts[:n-3], "/")
	for _, one := range p.cutPoints() {
		if one.operation == moment {
			one.model, one.seed, one.resume = parts[n-3], seed, parts[n-1] == "resume"
			return one, nil
		}
	}
	return cut{}, fmt.Errorf("no operation of this recording is %q", moment)
}

// paths counts files by their plain names.
func (p *recording) paths() int {
	seen := map[string]bool{}
	for _, op := range p.ops {
		seen[plainPath(op.Path)] = true
	}
	return len(seen)
}

// folder is a new one for a state.
func (p *recording) folder() string {
	return filepath.Join(p.lab.Dir, fmt.Sprintf("cut-%s-%d", p.shape, p.folders.Add(1)))
}
