package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"agent/db"
	"agent/db/backup"
	"agent/host/drive/fold"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// keptFor is how long what a finished run kept stays, whatever room it takes.
const keptFor = 7 * 24 * time.Hour

// makeRoom lets go of what the oldest finished runs kept, a run at a time, where all contents take
// more than they may. It says of each that it is gone; full says that they take too much even so.
func (f *finding) makeRoom() (full bool, err error) {
	if f.k.Limit == nil {
		return false, nil
	}
	limit := f.k.Limit()
	sizes, err := f.keep.Sizes(f.ctx)
	if err != nil {
		return false, err
	}
	var total int64
	for _, n := range sizes {
		total += n
	}
	if total <= limit {
		return false, nil
	}
	files, err := backup.LockFiles(f.k.Process.Home, true)
	if errors.Is(err, backup.ErrBusy) {
		return false, nil // a backup needs them where they are: the next one makes room
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	runs, err := f.k.keepers(f.ctx)
	if err != nil {
		return false, err
	}
	uses := map[string]int{}
	for _, r := range runs {
		for name := range r.names {
			uses[name]++
		}
	}
	for _, r := range runs {
		if total <= limit {
			break
		}
		if !r.old {
			continue
		}
		gone := unused(r.names, uses)
		if len(gone) == 0 {
			continue
		}
		if err := db.DropKept(f.ctx, f.k.Process.Store, gone); err != nil {
			return false, err
		}
		var freed int64
		for _, name := range gone {
			freed += sizes[name]
		}
		total -= freed
		f.facts = append(f.facts, journal.RunNoted{Text: fmt.Sprintf(
			"run %s of %s cannot be undone any more: its %d contents made room (%.1f MiB; [keep] contents in config.toml)",
			r.id, r.ended.Local().Format(time.DateOnly), len(gone), float64(freed)/(1<<20))})
	}
	return total > limit, nil
}

// unused counts the use of contents down, and lists those that nobody uses then.
func unused(names map[string]bool, uses map[string]int) (gone []string) {
	for name := range names {
		if uses[name]--; uses[name] == 0 {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return gone
}

// keeping is one run with the contents that its facts name.
type keeping struct {
	id    string
	old   bool // it, and all of its family, may let go of them
	ended time.Time
	names map[string]bool
}

// keepers are all runs that name contents, those that ended first in front.
func (k *Keeper) keepers(ctx context.Context) ([]keeping, error) {
	rows, err := k.Process.Store.Runs(ctx, db.Filter{All: true, Children: true})
	if err != nil {
		return nil, err
	}
	fresh := map[string]bool{} // families that keep what they have
	for _, r := range rows {
		if !r.Status.Terminal() || fault.Now().Sub(r.Ended) < keptFor {
			fresh[rootID(r)] = true
		}
	}
	var out []keeping
	for _, r := range rows {
		names, err := k.named(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			out = append(out, keeping{r.ID, !fresh[rootID(r)], r.Ended, names})
		}
	}
	slices.SortStableFunc(out, func(a, b keeping) int { return a.ended.Compare(b.ended) })
	return out, nil
}

// rootID is the run at the top of a run's family.
func rootID(r db.RunRow) string {
	if r.Root != "" {
		return r.Root
	}
	return r.ID
}

// contentNames finds the names of contents in a fact: no other member of one is called so.
func contentNames() *regexp.Regexp {
	return regexp.MustCompile(`"(?:kept|copy|manifest)":"([0-9a-f]{32})"`)
}

// named lists the contents that the facts of a run name, and those that its manifests name.
func (k *Keeper) named(ctx context.Context, run string) (map[string]bool, error) {
	names, find := map[string]bool{}, contentNames()
	facts, err := fold.Facts(k.Process.Store.Load(ctx, run, 0))
	if err != nil {
		return nil, err
	}
	kept, err := k.Process.Store.Contents()
	if err != nil {
		return nil, err
	}
	for _, e := range facts {
		switch b := e.Body.(type) {
		case journal.FilesBase:
			if content, err := kept.Get(ctx, b.Manifest); err == nil { // of one that is gone nothing is left to name
				list, err := Named(content)
				if err != nil {
					return nil, err
				}
				for _, name := range list {
					names[name] = true
				}
			}
		case journal.ModelRequested, journal.CallStarted, journal.TurnSettled, journal.CallJudged:
			continue // which name none
		}
		text, err := json.Marshal(e.Body)
		if err != nil {
			return nil, fmt.Errorf("read what run %s kept: %v", run, err)
		}
		for _, m := range find.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
	}
	return names, nil
}
