//go:build linux

// Package lab carries out many jobs: each in a world of its own, several at once, compared with the
// end of the same story in which nothing was killed. It counts what was done and reports what was
// found.
//
// Fault is one kind of fault of the machine, or of interference by people and other processes. The
// packages below fault are those kinds; the main package lists them.
package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// Lab carries out jobs.
type Lab struct {
	Exe     string
	Dir     string
	Counter *world.Counter
	Short   bool
	Mounts  error // why nothing can be mounted here; nil in a mount namespace of the lab's own
	Report  *Report
	Parts   *Parts // nil for a pass in one part
	worlds  atomic.Int64

	mu     sync.Mutex
	intact map[string]*intact
}

// intact is the end of a story in which nothing was killed.
type intact struct {
	once sync.Once
	end  judge.End
	err  error
}

// Intact carries the job's story out once without a kill.
func (l *Lab) Intact(ctx context.Context, j plan.Job) (judge.End, error) {
	name := j.Tool + "/" + j.Situation + "/" + j.Shape
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
	b.once.Do(func() {
		b.end, b.err = l.playIntact(ctx, plan.Job{Tool: j.Tool, Situation: j.Situation, Shape: j.Shape})
	})
	if b.err != nil {
		return judge.End{}, fmt.Errorf("play %s without a kill: %w", name, b.err)
	}
	return b.end, nil
}

// playIntact carries out a story in which nothing is killed. It must end well.
func (l *Lab) playIntact(ctx context.Context, j plan.Job) (judge.End, error) {
	t, e, err := l.Play(ctx, j)
	if err != nil {
		return e, err
	}
	t.Expect()
	if e.Status != "completed" {
		t.Found.Add(judge.Unlisted, "the story ends %q although nothing was killed", e.Status)
	}
	if len(t.Found) == 0 {
		return e, t.World.Close(false)
	}
	l.Report.Fail(j, t)
	return e, errors.Join(trial.ErrFound, t.World.SaveTranscript(j.Key()), t.World.Close(true))
}

// Play carries out one job. The caller closes its world.
func (l *Lab) Play(ctx context.Context, j plan.Job) (*trial.Trial, judge.End, error) {
	t, err := l.Begin(j, nil)
	if err != nil {
		return nil, judge.End{}, err
	}
	e, err := l.Conclude(ctx, t, t.Finish(ctx))
	if err != nil {
		return nil, judge.End{}, err
	}
	return t, e, nil
}

// NextWorld is the number of a new world, and its folder, which is not made yet.
func (l *Lab) NextWorld() (number int, root string) {
	number = int(l.worlds.Add(1))
	return number, filepath.Join(l.Dir, fmt.Sprintf("world-%d", number))
}

// Begin makes the world of a job, on what lay puts under it where that is not nil.
func (l *Lab) Begin(j plan.Job, lay world.Layer) (*trial.Trial, error) {
	number, root := l.NextWorld()
	s, why := story.New(j.Tool, j.Situation, j.Shape, number, l.Counter.Addr())
	if why != "" {
		return nil, errors.New(why)
	}
	s.Dir = filepath.Join(root, "work")
	if j.Change != nil {
		j.Change(&s)
	}
	var remove func(keep bool) error
	if lay != nil {
		if err := os.MkdirAll(root, 0o700); err != nil {
			return nil, err
		}
		var err error
		if remove, err = lay(root); err != nil {
			return nil, err
		}
	}
	w, err := world.New(number, l.Exe, root, l.Counter, &s)
	if err != nil && remove != nil {
		err = errors.Join(err, remove(false))
	}
	if err != nil {
		return nil, err
	}
	w.RemoveLayer = remove
	t := &trial.Trial{Story: &s, World: w, Arms: j.Arms, Victim: j.Victim, Leave: j.Leave, Prompt: fmt.Sprintf("Please tell story-%d.", number)}
	t.Brief = l.Short && plan.Pick(4, j.Key()) > 0
	if w.Model != nil {
		turns, err := s.Script()
		if err != nil {
			return nil, errors.Join(err, w.Close(false))
		}
		w.Model.Add(fmt.Sprintf("story-%d.", number), turns)
		if len(s.Spellings) > 0 {
			w.Model.Respell(s.Mark, s.Spellings, s.AskAnyway)
		}
	}
	return t, nil
}

// Conclude looks at the world in peace once the story was carried to its end, and ended is what
// came of that. It closes the world of a story in which the lab itself failed.
func (l *Lab) Conclude(ctx context.Context, t *trial.Trial, ended error) (judge.End, error) {
	switch {
	case errors.Is(ended, world.ErrStuck):
		t.Found.Add(judge.Stuck, "%v", ended)
	case errors.Is(ended, trial.ErrFound):
	case ended != nil:
		return judge.End{}, errors.Join(ended, t.World.Close(ctx.Err() == nil))
	default:
		if err := t.CheckAtEnd(ctx); err != nil {
			return judge.End{}, errors.Join(err, t.World.Close(true))
		}
	}
	e, err := t.End()
	if err != nil {
		return judge.End{}, errors.Join(err, t.World.Close(true))
	}
	return e, nil
}

// Try carries out a job and compares its end. It says which arms fired.
func (l *Lab) Try(ctx context.Context, j plan.Job) ([]plan.Arm, int, error) {
	was, err := l.Intact(ctx, j)
	if err != nil {
		return nil, 0, err
	}
	t, is, err := l.Play(ctx, j)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", j.Key(), err)
	}
	hurt := slices.ContainsFunc(t.Fired, func(a plan.Arm) bool { return a.InRunner() && j.Victim != "host" })
	for _, c := range t.Needless {
		if !hurt {
			t.Found.Add(judge.Needless, "only the host was killed, and the outcome of call %s is recorded as unknown", c)
		}
	}
	if len(t.Found) == 0 {
		left := t.Unknown > 0 && (j.Leave || j.Shape == "runbook")
		t.Found = append(t.Found, judge.CompareEnds(was, is, t.Unknown > 0 || hurt, left)...)
	}
	l.Report.count(t, hurt)
	if len(t.Found) > 0 {
		l.Report.Fail(j, t)
		err := t.World.SaveTranscript(j.Key())
		return t.Fired, was.Commands, errors.Join(err, t.World.Close(true))
	}
	return t.Fired, was.Commands, t.World.Close(false)
}

// runFamily carries out what a fault point means for a story.
func (l *Lab) runFamily(ctx context.Context, f plan.Family) error {
	if !f.Sweep {
		for _, a := range f.Tries {
			j := f.Job
			j.Arms = slices.Clone(f.Arms)
			for n := range j.Arms {
				if j.Arms[n].Command > f.First { // what follows on the point follows it wherever it is met
					j.Arms[n].Command += a.Command - f.First
				}
			}
			j.Arms = append(j.Arms, a)
			fired, _, err := l.Try(ctx, j)
			if err != nil || slices.Contains(fired, a) {
				return err
			}
		}
		l.Report.noteUnmet(f)
		return nil
	}
	return l.sweep(ctx, f)
}

// mostPasses bounds a sweep: no story reaches a point that often.
const mostPasses = 200

// sweep kills at the first pass of every command, at the second, and so on until none is left.
func (l *Lab) sweep(ctx context.Context, f plan.Family) error {
	met := false
	first, cmds := f.First, 1
	for cmd := first; cmd < first+max(cmds, 1); cmd++ {
		for n := 1; n <= mostPasses; n++ {
			a := plan.Arm{Command: cmd, Point: f.Point, Pass: n}
			j := f.Job
			j.Arms = append(append([]plan.Arm(nil), f.Arms...), a)
			fired, were, err := l.Try(ctx, j)
			if err != nil {
				return err
			}
			cmds = were - first
			if f.Situation == "recovery" {
				cmds = were
			}
			if !slices.Contains(fired, a) {
				break
			}
			met = true
		}
	}
	if !met {
		l.Report.noteUnmet(f)
	}
	return nil
}

// RunFamilies carries out families, several at once.
func (l *Lab) RunFamilies(ctx context.Context, families []plan.Family, workers int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	queue := make(chan plan.Family)
	l.Report.BeginPart(len(families), "combinations")
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for f := range queue {
				l.Report.Progress()
				if !l.Parts.begin(f.Piece()) {
					continue
				}
				err := l.runFamily(ctx, f)
				if err == nil || errors.Is(err, trial.ErrFound) {
					err = l.Parts.end(f.Piece())
				}
				if err != nil {
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
