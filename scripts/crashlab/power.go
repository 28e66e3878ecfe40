//go:build linux

package main

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
)

// powerTrouble is about what a power cut leaves of the disk. A story is told once, on a disk that remembers; then the folders
// are looked at that a cut after any operation could have left, and in some of them the story goes on, on another boot.
func powerTrouble() trouble {
	return trouble{
		name:  "power",
		what:  "the power is cut after any operation on the disk, and what was not made durable is lost, in part or torn",
		takes: "a mount namespace of its own and FUSE",
		needs: needsPower,
		run:   runPower,
	}
}

func needsPower(l *lab) error {
	if l.mounts != nil {
		return l.mounts
	}
	if err := needsDisk(); err != nil {
		return err
	}
	return needsBoot()
}

// blackout is one state of a trace. Its moment is named by what the operation did, since numbers differ from one telling to the next.
type blackout struct {
	at     int
	moment string // operation, path and the how manieth of the kind
	model  string
	seed   uint64
	resume bool // the story goes on in it; else the database alone is judged
}

func (c blackout) key(shape string) string {
	how := "judge"
	if c.resume {
		how = "resume"
	}
	return fmt.Sprintf("power/%s/%s/%s/%d/%s", shape, c.moment, c.model, c.seed, how)
}

// powerShapes are the shapes whose stories are traced.
func powerShapes() []string { return []string{"runbook", "anthropic"} }

// powerModels are those by which a disk that heeds fsync may lose something. The first two have one outcome only.
func powerModels() []string { return []string{"everything", "synced", "prefix", "scattered", "torn"} }

// What is tried of each trace.
const (
	powerShortJudged  = 60
	powerShortResumed = 3
	powerWholeResumed = 120
	powerAgainStep    = 3 // of a telling after a cut
	powerAgainResumed = 30
)

func runPower(ctx context.Context, l *lab, c troubleChoice) error {
	exe, err := buildDisk(ctx, l.dir)
	if err != nil {
		return err
	}
	shape, rest, _ := strings.Cut(c.only, "/")
	if c.only == "" || shape == "controls" {
		if err := powerControls(ctx, l, exe); err != nil {
			return err
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	met := shape == "controls"
	for _, s := range powerShapes() {
		if c.only != "" && s != strings.TrimSuffix(shape, againWord) {
			continue
		}
		met = true
		if c.only != "" {
			s = shape
		}
		wg.Go(func() {
			if e := tracePower(ctx, l, exe, s, rest, c); e != nil {
				mu.Lock()
				err = errors.Join(err, fmt.Errorf("%s: %w", s, e))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if !met {
		return fmt.Errorf("there is no story %q: there are controls, %s", shape, strings.Join(powerShapes(), ", "))
	}
	return err
}

// tracePower tells one story and cuts it. In the whole pass, what comes after a cut is cut too.
func tracePower(ctx context.Context, l *lab, exe, shape, only string, c troubleChoice) (err error) {
	base, twice := strings.CutSuffix(shape, againWord)
	p, err := recordStory(ctx, l, exe, base)
	if err != nil {
		return fmt.Errorf("tell the story whose power is cut: %w", err)
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if !twice {
		if err := p.cutAll(ctx, only, c); err != nil || c.short || only != "" {
			return err
		}
	}
	q, err := p.again(ctx, exe)
	if err != nil {
		return err
	}
	return errors.Join(q.cutAll(ctx, only, c), q.close())
}

// cutAll cuts the power of a telling at many moments, or at the one that a key names.
func (p *power) cutAll(ctx context.Context, only string, c troubleChoice) error {
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
	p.lab.report.stage(len(resumed), "power cuts carried on from")
	for _, one := range resumed {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := p.try(ctx, one); err != nil {
			return err
		}
		p.lab.report.progress()
	}
	fmt.Fprintf(p.lab.report.out, "power, %s: %d operations of %d files; %d states judged in %.1f s (%.0f a second), %d carried on in %.1f s\n",
		p.shape, len(p.ops), p.paths(), len(judged), took.Seconds(), float64(len(judged))/took.Seconds(), len(resumed), (time.Since(began) - took).Seconds())
	return nil
}

// choose lists the states that are judged, in the order of time, and those in which the story goes on.
func (p *power) choose(c troubleChoice) (judged, resumed []blackout) {
	rng := rand.New(rand.NewPCG(c.seed, uint64(len(p.shape))))
	points := p.moments()
	any := func(resume bool) blackout {
		one := points[rng.IntN(len(points))]
		one.model, one.seed, one.resume = powerModels()[rng.IntN(len(powerModels()))], c.seed, resume
		return one
	}
	if c.short {
		for range powerShortJudged {
			judged = append(judged, any(false))
		}
	} else {
		for i, one := range points {
			if p.before != nil && i%powerAgainStep != 0 {
				continue
			}
			for _, m := range powerModels() {
				one.model, one.seed = m, c.seed
				judged = append(judged, one)
			}
		}
	}
	n := powerWholeResumed
	if c.short {
		n = powerShortResumed
	} else if p.before != nil {
		n = powerAgainResumed
	}
	if p.before != nil && p.world.server != nil {
		n = 0 // the model's story has grown by what was asked for once more: another telling would not begin with it
	}
	for range n {
		resumed = append(resumed, any(true))
	}
	if n > 0 {
		resumed = append(resumed, telling(points, c)...)
	}
	byTime := func(a, b blackout) int { return a.at - b.at }
	slices.SortStableFunc(judged, byTime)
	slices.SortStableFunc(resumed, byTime)
	return judged, resumed
}

// telling are the cuts that chance may leave out and that tell most: a command has done its effect and left no word about its end,
// or has just left it. Of each kind the short pass takes the first.
func telling(points []blackout, c troubleChoice) []blackout {
	var out []blackout
	for _, kind := range []string{"write:" + effectsPath + ":", opFsyncdirCalls} {
		taken, exit := 0, false
		for _, one := range points {
			exit = exit || strings.HasPrefix(one.moment, "rename:home/state/calls/") && strings.Contains(one.moment, "/exit.reserved:")
			if !strings.HasPrefix(one.moment, kind) || kind == opFsyncdirCalls && !exit || c.short && taken > 0 {
				continue
			}
			one.model, one.seed, one.resume = "synced", c.seed, true
			out = append(out, one)
			taken, exit = taken+1, false
		}
	}
	return out
}

const opFsyncdirCalls = "fsyncdir:home/state/calls/"

// moments are the operations after which a cut can make a difference: the ballast is noise, and the index of the log is made
// anew by whoever opens the database first.
func (p *power) moments() []blackout {
	var out []blackout
	seen := map[string]int{}
	for _, op := range p.ops {
		if strings.Contains(op.Path, "/ballast") || strings.Contains(op.Path, "/.ballast") || strings.HasSuffix(op.Path, "-shm") {
			continue
		}
		name := op.Op + ":" + plainPath(op.Path)
		seen[name]++
		out = append(out, blackout{at: op.N, moment: fmt.Sprintf("%s:%d", name, seen[name])})
	}
	return out
}

// find is the state that the rest of a key names.
func (p *power) find(rest string) (blackout, error) {
	parts := strings.Split(rest, "/")
	n := len(parts)
	if n < 4 {
		return blackout{}, fmt.Errorf("%q is no state: OPERATION:PATH:COUNT/MODEL/SEED/judge or resume", rest)
	}
	seed, err := strconv.ParseUint(parts[n-2], 10, 64)
	if err != nil {
		return blackout{}, fmt.Errorf("%q is no state: its seed is no number", rest)
	}
	moment := strings.Join(parts[:n-3], "/")
	for _, one := range p.moments() {
		if one.moment == moment {
			one.model, one.seed, one.resume = parts[n-3], seed, parts[n-1] == "resume"
			return one, nil
		}
	}
	return blackout{}, fmt.Errorf("no operation of this telling is %q", moment)
}

// paths counts files by their plain names.
func (p *power) paths() int {
	seen := map[string]bool{}
	for _, op := range p.ops {
		seen[plainPath(op.Path)] = true
	}
	return len(seen)
}

// folder is a new one for a state.
func (p *power) folder() string {
	return filepath.Join(p.lab.dir, fmt.Sprintf("cut-%s-%d", p.shape, p.folders.Add(1)))
}
