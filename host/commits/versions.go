package commits

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/db"
	"agent/db/commits"
	"agent/db/keep"
	"agent/host/drive"
	"agent/host/drive/fold"
	"agent/host/workspace"
	"agent/recovery/journal"
	"agent/recovery/workspace/origin"
)

// worker is a call, or a run beside its calls, that made a version.
type worker struct {
	run   string
	place journal.Place // the zero place: this program itself wrote it
}

// version is what a look found at a path.
type version struct {
	v    *journal.FileVersion
	by   worker // run is "" where it is nobody's of ours
	back bool   // it was put back
	at   time.Time
	step step // that made it; none where it was only found
}

// step is one change that a look found. Its worker has no run where it is nobody's of ours.
type step struct {
	worker
	saw    string // the run whose look it was
	back   bool
	from   time.Time // it came after this
	at     time.Time
	look   int64
	change journal.FileChange
}

// records reads what the journals say of files. It remembers what it has read.
type records struct {
	p     *drive.Process
	runs  map[string]map[string][]step      // of a run, by path in the file system
	fresh map[string][]journal.FilesChanged // of a run: what is not durable yet
	ahead map[string][]string               // the runs whose looks saw paths change, of paths that were looked up ahead
}

func newRecords(p *drive.Process) *records {
	return &records{p: p, runs: map[string]map[string][]step{}, fresh: map[string][]journal.FilesChanged{}}
}

// of is what the looks of one run found.
func (r *records) of(ctx context.Context, run string) (map[string][]step, error) {
	if steps, ok := r.runs[run]; ok {
		return steps, nil
	}
	facts, err := fold.Facts(r.p.Reader().Restored(ctx, func(db.Unrecoverable) {})(run)) // what is lost was reported at the claims
	if err != nil {
		return nil, err
	}
	read := reading{run: run, began: map[journal.Place]time.Time{}, steps: map[string][]step{}}
	for _, e := range facts {
		read.folder = journal.FolderAfter(e.Body, read.folder)
		switch b := e.Body.(type) {
		case journal.RunCreated:
			read.rewind = b.Rewind != nil
		case journal.CallStarted:
			read.began[b.Place] = e.Time
		case journal.FilesChanged:
			read.take(e.Time, b)
		}
	}
	for _, b := range r.fresh[run] {
		read.take(r.p.Now(), b)
	}
	r.runs[run] = read.steps
	return read.steps, nil
}

// reading is a journal that is being read.
type reading struct {
	run, folder string
	rewind      bool
	began       map[journal.Place]time.Time
	steps       map[string][]step
}

func (r *reading) take(at time.Time, b journal.FilesChanged) {
	for _, c := range b.Changes {
		s := step{saw: r.run, back: r.rewind, at: at, look: b.Look, change: c}
		switch c.Proof {
		case journal.ProofOutside, journal.ProofLate:
			s.back = false
		case journal.ProofGit:
			s.back = true
		default:
			s.run = r.run
			if b.During != nil {
				s.place, s.from = *b.During, r.began[*b.During]
			}
		}
		name := filepath.Join(r.folder, filepath.FromSlash(c.Name()))
		r.steps[name] = append(r.steps[name], s)
	}
}

// changers are the runs whose looks saw a path below a folder change. The folder is absolute and
// has no link in it.
func (r *records) changers(ctx context.Context, top string, paths []string) (map[string][]string, error) {
	out, known := map[string][]string{}, true
	for _, name := range paths {
		runs, looked := r.ahead[name]
		if known = known && looked; len(runs) > 0 {
			out[name] = runs
		}
	}
	if known && len(r.fresh) == 0 {
		return out, nil
	}
	folders, err := commits.Folders(ctx, r.p.Store, top)
	if err != nil {
		return nil, err
	}
	var names []string
	wanted := make(map[string]bool, len(paths))
	for _, name := range paths {
		wanted[name] = true
	}
	for _, folder := range folders {
		below, _ := filepath.Rel(top, folder) // it is below it
		for _, name := range paths {
			if seen, ok := within(filepath.ToSlash(below), name); ok {
				names = append(names, seen)
			}
		}
	}
	list, err := commits.Changers(ctx, r.p.Store, top, names)
	if err != nil {
		return nil, err
	}
	clear(out)
	add := func(run, full string) {
		below, err := filepath.Rel(top, full)
		if err != nil || !wanted[filepath.ToSlash(below)] {
			return
		}
		if below = filepath.ToSlash(below); !slices.Contains(out[below], run) {
			out[below] = append(out[below], run)
		}
	}
	for _, c := range list {
		add(c.Run, filepath.Join(c.Folder, filepath.FromSlash(c.Path)))
	}
	for run := range r.fresh { // its rows are not there yet
		steps, err := r.of(ctx, run)
		if err != nil {
			return nil, err
		}
		for full := range steps {
			add(run, full)
		}
	}
	return out, nil
}

// within is a path seen from a folder, both seen from the same place.
func within(folder, name string) (string, bool) {
	if folder == "." {
		return name, true
	}
	return strings.CutPrefix(name, folder+"/")
}

// versions are those of one path by some runs, from the oldest to the newest, without those that
// came after a time, if one is named. What a look found otherwise than the look before had left it
// is a version of nobody's.
func (r *records) versions(ctx context.Context, full string, runs []string, until time.Time) ([]version, error) {
	var steps []step
	for _, run := range runs {
		all, err := r.of(ctx, run)
		if err != nil {
			return nil, err
		}
		steps = append(steps, all[full]...)
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.look, b.look)) })
	var out []version
	for _, s := range steps {
		from, n := s.from, len(out)
		if n > 0 && out[n-1].v.Same(s.change.Before) && out[n-1].at.After(from) {
			from = out[n-1].at
		}
		if !until.IsZero() && from.After(until) {
			break
		}
		if n == 0 || !out[n-1].v.Same(s.change.Before) && !overtaken(out, s) {
			out = append(out, version{v: s.change.Before, at: s.at})
		}
		if !s.change.Before.Same(s.change.After) {
			out = append(out, version{v: s.change.After, by: s.worker, back: s.back, at: s.at, step: s})
		}
	}
	return out, nil
}

// overtaken says whether what a call found at its start has become what another look found last
// while the call was under way: as of two runs in one folder that know nothing of each other.
func overtaken(list []version, s step) bool {
	for i := len(list) - 2; i >= 0 && list[i+1].step.beside(s); i-- {
		if list[i].v.Same(s.change.Before) {
			return true
		}
	}
	return false
}

// beside says whether two calls of different runs were under way at the same time.
func (s step) beside(other step) bool {
	return s.run != "" && other.run != "" && s.run != other.run && !s.from.IsZero() && !other.from.IsZero() &&
		s.from.Before(other.at) && other.from.Before(s.at)
}

// contents gives what versions hold. known are contents that may not be in the store yet, by the
// names that the store gives them.
type contents struct {
	*workspace.Contents
	blob   func(ctx context.Context, id string, limit int64) ([]byte, error) // of the repository; may be nil
	known  map[string][]byte
	staged map[string]keep.Row // likewise
}

// of is a version as package origin wants it.
func (c contents) of(ctx context.Context, v *journal.FileVersion) origin.Content {
	switch {
	case v == nil || v.Kind == journal.FileFolder:
		return origin.Content{State: origin.Absent}
	case v.Kind == journal.FileLink:
		return c.named([]byte(v.Link))
	case v.Lost != "" || v.Kind != journal.FileRegular:
		return origin.Content{State: origin.Lost}
	case v.Size > origin.MaxBytes && v.Kept != "":
		return origin.Content{State: origin.Large, ID: v.Kept}
	}
	if content, ok := c.known[v.Kept]; ok && v.Kept != "" {
		return c.named(content)
	}
	if row, ok := c.staged[v.Kept]; ok {
		if content, err := c.Staged(row); err == nil {
			return c.named(content)
		}
	}
	content, err := c.Content(ctx, v)
	if err != nil && v.Git != "" && c.blob != nil {
		content, err = c.blob(ctx, v.Git, origin.MaxBytes)
	}
	if err != nil {
		return origin.Content{State: origin.Lost}
	}
	return c.named(content)
}

func (c contents) named(content []byte) origin.Content {
	if len(content) > origin.MaxBytes {
		return origin.Content{State: origin.Large, ID: c.Name(content)}
	}
	return origin.Content{State: origin.There, Bytes: content, ID: c.Name(content)}
}

// replay compares the versions of a path.
func (c contents) replay(ctx context.Context, list []version) *origin.History {
	var all []origin.Version
	owners := map[string]int{}
	for _, v := range list {
		owner := origin.Nobody
		if v.by.run != "" {
			n, ok := owners[v.by.run]
			if !ok {
				n = len(owners)
				owners[v.by.run] = n
			}
			owner = n
		}
		all = append(all, origin.Version{Content: c.of(ctx, v.v), Owner: owner, Back: v.back})
	}
	return origin.Replay(all)
}
