package moves

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"agent/db"
	"agent/db/moves"
	"agent/host/app"
	"agent/host/owner"
	"agent/host/pack"
	"agent/host/view"
	"agent/recovery/journal"
	"agent/tools/ofd"
)

// ImportOptions say how runs are taken in.
type ImportOptions struct {
	Path string
	Dir  string // where runs work from here on that have not ended; "" where they did

	// Decide hears what would be taken in, before anything is changed.
	Decide func(view.Imported) error
}

// Address is where packs for this store are sealed to.
func Address(ctx context.Context, s *app.Folder) (pack.Address, error) {
	key, id, incarnation, err := db.PackKey(ctx, s.Store)
	if err != nil {
		return pack.Address{}, err
	}
	return pack.NewAddress(id, incarnation, key), nil
}

// Import takes in the runs of a pack, all or none.
func Import(ctx context.Context, s *app.Folder, o ImportOptions) (v view.Imported, err error) {
	if err := s.Store.MayDrive(ctx); err != nil {
		return v, fmt.Errorf("import %s: %w", o.Path, err)
	}
	if o.Dir != "" {
		if o.Dir, err = filepath.Abs(o.Dir); err == nil {
			o.Dir, err = filepath.EvalSymlinks(o.Dir)
		}
		if err != nil {
			return v, fmt.Errorf("import into %s: %w", o.Dir, err)
		}
	}
	a, err := arrive(ctx, s.Store, o.Path, s.Host.Now())
	if err == nil {
		err = a.ready(ctx, s, o)
	}
	if err != nil {
		return v, explained(o.Path, err)
	}
	v = a.view(o)
	if taken, err := moves.TakenAt(ctx, s.Store, a.Pack); err != nil || !taken.IsZero() {
		v.Taken, v.New = &taken, false
		return v, err
	}
	if err := a.compare(ctx, s, &v); err != nil {
		return v, explained(o.Path, err)
	}
	if err := o.Decide(v); err != nil {
		return v, err
	}
	locks, err := a.lock(s)
	if err == nil {
		err = a.in(ctx, s, o, &v)
	}
	for _, l := range locks {
		err = errors.Join(err, l.Close())
	}
	if err != nil {
		return v, explained(o.Path, err)
	}
	return v, nil
}

// explained names the pack, and says what else could be done.
func explained(path string, err error) error {
	var refused *moves.RefusedError
	var damage *pack.DamageError
	var history *db.HistoryError
	var key *db.StartKeyError
	switch {
	case errors.As(err, &damage):
		return fmt.Errorf("import %s: it is not taken in, and nothing was changed: %s; have it made again: agent export", path, damage.What)
	case errors.As(err, &refused):
		return fmt.Errorf("import %s: it is not taken in, and nothing was changed: %s", path, refused.What)
	case errors.As(err, &history):
		return fmt.Errorf("import %s: %w; nothing was changed, and nothing is ever merged", path, err)
	case errors.As(err, &key):
		return fmt.Errorf("import %s: a run of it was started with the key that run %s has here; nothing was changed", path, key.Run)
	}
	return fmt.Errorf("import %s: %w", path, err)
}

// ready adds to each run that has not ended, and is not here already, that it came here.
func (a *arrival) ready(ctx context.Context, s *app.Folder, o ImportOptions) error {
	_, _, incarnation, err := db.PackKey(ctx, s.Store)
	if err != nil {
		return err
	}
	a.new = make([]bool, len(a.Runs))
	source := map[string]bool{}
	for _, t := range a.Threads {
		source[t.ID] = t.Source
	}
	for i, r := range a.Runs {
		row, err := s.Store.Run(ctx, r.Created.Run)
		here := err == nil
		if err != nil && !errors.As(err, new(*db.UnknownIDError)) {
			return err
		}
		if here && row.LastSeq >= r.State.Seq {
			continue // all of it is here
		}
		a.new[i] = true
		if r.State.Status.Terminal() {
			continue
		}
		back := journal.RunRestored{
			Reason: fmt.Sprintf("it came from store %s on %s", a.From, a.about.Host), By: s.Who, Made: a.header.Made, Incarnation: incarnation,
			Nothing: a.Move && !source[r.Created.Thread], Pack: a.Pack, Folder: o.Dir,
		}
		if err := r.Append(s.Store, back); err != nil {
			return err
		}
	}
	return nil
}

// view is what would be taken in.
func (a *arrival) view(o ImportOptions) view.Imported {
	v := view.Imported{
		Version: 1, Pack: o.Path, PackID: a.Pack, Made: a.header.Made, From: a.From, Host: a.about.Host, By: a.about.By, Moved: a.Move, Key: a.about.Whole,
		ThreadID: a.Thread, Runs: []view.ArrivedRun{}, Behind: []view.BehindFile{},
	}
	for i, r := range a.Runs {
		if r.Created.Root != "" {
			v.Below++
			continue
		}
		one := view.ArrivedRun{
			Run: r.Created.Run, Status: string(r.State.Status), Facts: r.State.Seq, Folder: r.State.Created.Folder, New: a.new[i], Words: view.OneLine(r.Created.Prompt),
		}
		if a.new[i] && !r.State.Status.Terminal() {
			one.Guarded = r.State.Restored
			v.Unfinished++
			if info, err := os.Stat(one.Folder); err != nil || !info.IsDir() {
				one.FolderGone = true
			}
		}
		v.New = v.New || a.new[i]
		v.Runs = append(v.Runs, one)
	}
	return v
}

// lock keeps everybody from driving the runs that are here and have gone on elsewhere.
func (a *arrival) lock(s *app.Folder) (locks []*ofd.File, err error) {
	for i, r := range a.Runs {
		if !a.new[i] || r.Created.Root != "" {
			continue
		}
		lock, err := s.Locks().Take(r.Created.Run)
		var held *owner.HeldError
		if errors.As(err, &held) {
			return locks, &moves.RefusedError{What: fmt.Sprintf("run %s is driven here, by %s", r.Created.Run, held.Holder)}
		}
		if err != nil {
			return locks, err
		}
		locks = append(locks, lock)
	}
	return locks, nil
}

// in stores what the facts name, and then takes the runs in.
func (a *arrival) in(ctx context.Context, s *app.Folder, o ImportOptions, v *view.Imported) error {
	err := each(ctx, s.Store, o.Path, func(r *pack.Reader, one pack.Record) error {
		if r.Header.ID != a.Pack {
			return &pack.DamageError{What: "it was replaced while it was read"}
		}
		if one.Kept == nil || !v.New {
			return nil
		}
		data, err := a.renamed(one.Kept)
		if err != nil {
			return err
		}
		row, err := a.contents.Stage(ctx, data)
		if err != nil {
			return err
		}
		return moves.Ahead(ctx, s.Store, row, a.Now)
	})
	if err != nil {
		return err
	}
	taken, err := moves.Take(ctx, s.Store, &a.Arrival)
	if !taken.IsZero() {
		v.Taken, v.New = &taken, false
	}
	return err
}
