// Package prune removes finished threads: which ones may go, and how their rows and contents go, is
// known to db/prune; here are the locks, the folders of processes, and what is shown of it.
package prune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/db"
	"agent/db/backup"
	"agent/db/prune"
	"agent/host/app"
	"agent/host/config"
	"agent/host/owner"
	"agent/host/view"
	"agent/host/workspace"
	"agent/tools/ofd"
	"agent/tools/runner"
	"agent/tools/sandbox"
)

// Want says which threads shall go.
type Want = prune.Want

// ErrBusy says that a backup is being made, or that another process removes runs.
var ErrBusy = backup.ErrBusy

// Pruning is a look at what may go.
type Pruning struct {
	s    *app.Folder
	plan prune.Plan
}

// Configured is what config.toml says; false where it says nothing.
func Configured(a *app.App) (config.Prune, bool, error) {
	conf, err := a.Settings("")
	if err != nil {
		return config.Prune{}, false, err
	}
	return conf.Prune, conf.Prune != config.Prune{}, nil
}

// Look finds what may go, and changes nothing.
func Look(ctx context.Context, s *app.Folder, w Want) (*Pruning, error) {
	w.Now = s.Host.Now()
	p, err := prune.Look(ctx, s.Store, w)
	return &Pruning{s, p}, err
}

// Nothing says that there is nothing to remove.
func (p *Pruning) Nothing() bool { return len(p.plan.Go) == 0 && p.plan.Found == 0 }

// View is what was found.
func (p *Pruning) View() view.Prune {
	v := view.Prune{Version: 1, Threads: []view.PrunedThread{}, Kept: []view.KeptThread{}, Runs: p.plan.Runs(), Bytes: p.plan.Bytes(), Unwanted: p.plan.Left}
	for _, t := range p.plan.Go {
		one := view.PrunedThread{Thread: t.ID, Words: inLine(t.Words), Last: t.Last.UTC(), Facts: t.Facts, Bytes: t.Bytes}
		for _, r := range t.Runs {
			one.Runs = append(one.Runs, r.ID)
		}
		v.Threads = append(v.Threads, one)
	}
	v.Kept = append(v.Kept, stays(p.plan.Stay)...)
	return v
}

func stays(list []prune.Staying) (out []view.KeptThread) {
	for _, s := range list {
		out = append(out, view.KeptThread{Thread: s.Thread, Reason: string(s.Why), Run: s.Run, Need: s.Need, Words: inLine(s.Words)})
	}
	return out
}

func inLine(words string) string { return strings.Join(strings.Fields(words), " ") }

// Remove removes what was found, and what an earlier removal has left. show hears how far it is.
// With a limit the rest waits for another time.
func (p *Pruning) Remove(ctx context.Context, show func(string), limit time.Duration) (view.Prune, error) {
	v := p.View()
	if err := p.s.MustWrite("prune"); err != nil {
		return v, err
	}
	if err := p.s.Store.MayDrive(ctx); err != nil {
		return v, fmt.Errorf("prune: %w", err)
	}
	began := time.Now()
	r, err := prune.Remove(ctx, p.s.Store, p.plan.Go, prune.Hands{
		Hold: p.hold, Files: p.files, Named: workspace.Named, Show: show,
		Enough: func() bool { return limit > 0 && time.Since(began) > limit },
	})
	show("")
	v.Done = &view.PruneDone{Threads: r.Threads, Runs: r.Runs, Contents: r.Contents, Freed: r.Freed, Later: r.Later}
	v.Kept = append(v.Kept, stays(r.Stay)...)
	if err == nil && limit == 0 {
		err = p.locks(ctx)
	}
	return v, err
}

// locks removes the files of locks of runs that are gone: a process that was killed may have left
// one.
func (p *Pruning) locks(ctx context.Context) error {
	files, err := filepath.Glob(p.s.Locks().Path("r-*"))
	for _, f := range files {
		run := filepath.Base(f)
		at, lookErr := db.Pruned(ctx, p.s.Store, run)
		if err = errors.Join(err, lookErr); err != nil || at.IsZero() {
			continue
		}
		l, holdErr := p.hold(run)
		if err = holdErr; err == nil && l != nil {
			err = l.Remove()
		}
	}
	return err
}

// hold takes the lock of a run that nobody drives, and of which no command goes on.
func (p *Pruning) hold(run string) (prune.Lock, error) {
	f, err := p.s.Locks().Take(run)
	if errors.As(err, new(*owner.HeldError)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	busy, err := p.busy(run)
	if err != nil || busy {
		return nil, errors.Join(err, f.Close())
	}
	return lock{f, p.s.Locks().Path(run)}, nil
}

// busy says whether a command of a run goes on.
func (p *Pruning) busy(run string) (bool, error) {
	folders, err := filepath.Glob(filepath.Join(p.s.CallsDir(), run, "*"))
	if err != nil || len(folders) == 0 {
		return false, err
	}
	ended, err := runner.Leftovers(p.s.CallsDir())
	return slices.ContainsFunc(folders, func(f string) bool { return !slices.Contains(ended, f) }), err
}

// lock is that of a run. Its file goes before the lock is let go of: who waits for it finds that it
// is not the one at its path any more.
type lock struct {
	*ofd.File
	path string
}

func (l lock) Remove() error { return errors.Join(os.Remove(l.path), l.Close()) }

// files removes what lies in the state folder under the name of a run, and its temporary folder.
func (p *Pruning) files(run string) error {
	calls := filepath.Join(p.s.CallsDir(), run)
	folders, err := filepath.Glob(filepath.Join(calls, "*"))
	for _, f := range folders {
		err = errors.Join(err, runner.Discard(f))
	}
	paths := []string{calls, filepath.Join(p.s.Home, "live", run)}
	for _, pattern := range []string{"live", "left"} {
		list, globErr := filepath.Glob(filepath.Join(p.s.Home, pattern, run+".*"))
		paths, err = append(paths, list...), errors.Join(err, globErr)
	}
	for _, path := range paths {
		if rmErr := os.RemoveAll(path); !errors.Is(rmErr, fs.ErrNotExist) {
			err = errors.Join(err, rmErr)
		}
	}
	return errors.Join(err, workspace.Unpin(&p.s.Host.Process, run), sandbox.RemoveTemp(run))
}
