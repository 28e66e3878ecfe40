//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// lab carries out jobs.
//
// Over budget: at most 42 methods: see the package
type lab struct {
	exe     string
	dir     string
	counter *counter
	short   bool
	mounts  error // why nothing can be mounted here; nil in a mount namespace of the lab's own
	report  *report
	worlds  atomic.Int64

	mu     sync.Mutex
	intact map[string]*intact
}

// intact is the end of a story in which nothing was killed.
type intact struct {
	once sync.Once
	end  end
	err  error
}

// of carries the job's story out once without a kill.
func (l *lab) of(ctx context.Context, j job) (end, error) {
	name := j.tool + "/" + j.situation + "/" + j.shape
	l.mu.Lock()
	if l.intact == nil {
		l.intact = map[string]*intact{}
	}
	b := l.intact[name]
	if b == nil {
		b = &intact{}
		l.intact[name] = b
	}
	l.mu.Unlock()
	b.once.Do(func() { b.end, b.err = l.tellWhole(ctx, job{tool: j.tool, situation: j.situation, shape: j.shape}) })
	if b.err != nil {
		return end{}, fmt.Errorf("tell %s without a kill: %w", name, b.err)
	}
	return b.end, nil
}

// tellWhole tells a story in which nothing is killed. It must end well.
func (l *lab) tellWhole(ctx context.Context, j job) (end, error) {
	t, e, err := l.play(ctx, j)
	if err != nil {
		return e, err
	}
	t.expect()
	if e.status != "completed" {
		t.found.add(unlisted, "the story ends %q although nothing was killed", e.status)
	}
	if len(t.found) == 0 {
		return e, t.world.close(false)
	}
	l.report.fail(j, t)
	return e, errors.Join(errFound, t.world.keep(j.key()), t.world.close(true))
}

// expect looks whether the call that the story is about brought what it should.
func (t *tale) expect() {
	base, _, _ := strings.Cut(t.story.tool, ":")
	for _, h := range t.last {
		for _, c := range h.calls {
			if c.tool == base && len(c.results) > 0 && strings.Contains(c.results[0].Result.Content, t.story.read.returns) {
				return
			}
		}
	}
	t.found.add(unlisted, "no result of %s holds %q", base, t.story.read.returns)
}

// play carries out one job. The caller closes its world.
func (l *lab) play(ctx context.Context, j job) (*tale, end, error) {
	t, err := l.begin(j, nil)
	if err != nil {
		return nil, end{}, err
	}
	e, err := l.conclude(ctx, t, t.finish(ctx))
	if err != nil {
		return nil, end{}, err
	}
	return t, e, nil
}

// layer puts something under a world: it gets the world's folder before anything is in it, and what it mounts on home in there
// carries the state. unlay takes it away when the world is closed; what it carried is then left in its place if keep says so.
type layer func(root string) (unlay func(keep bool) error, err error)

// nextWorld is the number of a new world, and its folder, which is not made yet.
func (l *lab) nextWorld() (number int, root string) {
	number = int(l.worlds.Add(1))
	return number, filepath.Join(l.dir, fmt.Sprintf("world-%d", number))
}

// begin makes the world of a job, on what lay puts under it where that is not nil.
func (l *lab) begin(j job, lay layer) (*tale, error) {
	number, root := l.nextWorld()
	s, why := tell(j.tool, j.situation, j.shape, number, l.counter.addr())
	if why != "" {
		return nil, errors.New(why)
	}
	s.dir = filepath.Join(root, "work")
	if j.change != nil {
		j.change(&s)
	}
	var unlay func(keep bool) error
	if lay != nil {
		if err := os.MkdirAll(root, 0o700); err != nil {
			return nil, err
		}
		var err error
		if unlay, err = lay(root); err != nil {
			return nil, err
		}
	}
	w, err := newWorld(number, l.exe, root, l.counter, &s)
	if err != nil && unlay != nil {
		err = errors.Join(err, unlay(false))
	}
	if err != nil {
		return nil, err
	}
	w.unlay = unlay
	t := &tale{story: &s, world: w, arms: j.arms, victim: j.victim, leave: j.leave, prompt: fmt.Sprintf("Please tell story-%d.", number)}
	t.brief = l.short && pick(4, j.key()) > 0
	if w.server != nil {
		turns, err := s.script()
		if err != nil {
			return nil, errors.Join(err, w.close(false))
		}
		w.server.tell(fmt.Sprintf("story-%d.", number), turns)
		if len(s.spellings) > 0 {
			w.server.insist(s.mark, s.spellings, s.anyway)
		}
	}
	return t, nil
}

// conclude looks at the world in peace once the story was carried to its end, and what came of that is told. It closes the
// world of a story that the lab itself could not tell.
func (l *lab) conclude(ctx context.Context, t *tale, told error) (end, error) {
	switch {
	case errors.Is(told, errStuck):
		t.found.add(stuck, "%v", told)
	case errors.Is(told, errFound):
	case told != nil:
		return end{}, errors.Join(told, t.world.close(ctx.Err() == nil))
	default:
		if err := t.quietEnd(ctx); err != nil {
			return end{}, errors.Join(err, t.world.close(true))
		}
	}
	e, err := t.end()
	if err != nil {
		return end{}, errors.Join(err, t.world.close(true))
	}
	return e, nil
}

// try carries out a job and compares its end. It says which arms fired.
func (l *lab) try(ctx context.Context, j job) ([]arm, int, error) {
	was, err := l.of(ctx, j)
	if err != nil {
		return nil, 0, err
	}
	t, is, err := l.play(ctx, j)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", j.key(), err)
	}
	hurt := slices.ContainsFunc(t.fired, func(a arm) bool { return a.inRunner() && j.victim != "host" })
	for _, c := range t.needless {
		if !hurt {
			t.found.add(needless, "only the host was killed, and the outcome of call %s is told as unknown", c)
		}
	}
	if len(t.found) == 0 {
		left := t.unknown > 0 && (j.leave || j.shape == "runbook")
		t.found = append(t.found, compareEnds(was, is, t.unknown > 0 || hurt, left)...)
	}
	l.report.count(t, hurt)
	if len(t.found) > 0 {
		l.report.fail(j, t)
		err := t.world.keep(j.key())
		return t.fired, was.cmds, errors.Join(err, t.world.close(true))
	}
	return t.fired, was.cmds, t.world.close(false)
}

// family carries out what a fault point means for a story.
func (l *lab) family(ctx context.Context, f family) error {
	if !f.sweep {
		for _, a := range f.tries {
			j := f.job
			j.arms = slices.Clone(f.arms)
			for n := range j.arms {
				if j.arms[n].cmd > f.first { // what follows on the point follows it wherever it is met
					j.arms[n].cmd += a.cmd - f.first
				}
			}
			j.arms = append(j.arms, a)
			fired, _, err := l.try(ctx, j)
			if err != nil || slices.Contains(fired, a) {
				return err
			}
		}
		l.report.unmet(f)
		return nil
	}
	return l.sweep(ctx, f)
}

// mostPasses bounds a sweep: no story comes by a point that often.
const mostPasses = 200

// sweep kills at the first pass of every command, at the second, and so on until none is left.
func (l *lab) sweep(ctx context.Context, f family) error {
	met := false
	first, cmds := f.first, 1
	for cmd := first; cmd < first+max(cmds, 1); cmd++ {
		for n := 1; n <= mostPasses; n++ {
			a := arm{cmd, f.point, n}
			j := f.job
			j.arms = append(append([]arm(nil), f.arms...), a)
			fired, were, err := l.try(ctx, j)
			if err != nil {
				return err
			}
			cmds = were - first
			if f.situation == "recovery" {
				cmds = were
			}
			if !slices.Contains(fired, a) {
				break
			}
			met = true
		}
	}
	if !met {
		l.report.unmet(f)
	}
	return nil
}

// all carries out families, several at once.
func (l *lab) all(ctx context.Context, families []family, workers int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	queue := make(chan family)
	l.report.stage(len(families), "combinations")
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for f := range queue {
				l.report.progress()
				if err := l.family(ctx, f); err != nil && !errors.Is(err, errFound) {
					stop(err)
				}
			}
		})
	}
	for _, f := range families {
		select {
		case queue <- f:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(queue)
	wg.Wait()
	return context.Cause(ctx)
}
