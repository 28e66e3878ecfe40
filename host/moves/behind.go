package moves

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"

	"agent/host/app"
	"agent/host/view"
	"agent/host/workspace"
	"agent/recovery/journal"
)

// maxBehind is how many files a fact names.
const maxBehind = 50

// last is what calls of a family left at a path.
type last struct {
	version *journal.FileVersion
	look    int64
	run     string
	call    *journal.Place
}

// compare looks which files that runs wrote are not as they left them in the folder where they go
// on, and has that recorded.
func (a *arrival) compare(ctx context.Context, s *app.Folder, v *view.Imported) error {
	for i, r := range a.Runs {
		if !a.new[i] || r.State.Status.Terminal() || r.Created.Root != "" {
			continue
		}
		folder := r.State.Created.Folder
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			continue // nothing goes on there before the person says where it is
		}
		left := a.leftAt(r.Created.Run)
		contents, err := workspace.NewContents(&s.Host.Process, folder)
		if err != nil {
			return err
		}
		disk, err := contents.Disk(folder, slices.Sorted(maps.Keys(left)))
		if err != nil {
			return err
		}
		fact := journal.WorkspaceBehind{Folder: folder}
		for _, path := range slices.Sorted(maps.Keys(left)) {
			l := left[path]
			if a.same(l.version, disk[path]) {
				continue
			}
			one := journal.BehindFile{Path: path, Gone: disk[path] == nil}
			if l.run == r.Created.Run {
				one.Call = l.call
			}
			if len(fact.Files) == maxBehind {
				fact.More++
				continue
			}
			fact.Files = append(fact.Files, one)
			v.Behind = append(v.Behind, view.BehindFile{Run: l.run, Path: path, Gone: one.Gone})
		}
		v.BehindMore += fact.More
		if len(fact.Files) == 0 {
			continue
		}
		if err := r.Append(s.Store, fact); err != nil {
			return err
		}
	}
	return nil
}

// same says whether a file is as a run left it. Where the pack does not have its content, its size
// has to do.
func (a *arrival) same(left, now *journal.FileVersion) bool {
	if left == nil || now == nil || left.Kept == "" {
		return left.SameContent(now)
	}
	was := *left
	was.Kept = a.Renamed[left.Kept]
	if was.Kept == "" && !a.Brought.Kept[left.Kept] {
		return was.Kind == now.Kind && was.Size == now.Size && was.Link == now.Link
	}
	was.Kept = cmp.Or(was.Kept, left.Kept)
	return was.SameContent(now)
}

// leftAt is what the calls of a family left, by path.
func (a *arrival) leftAt(root string) map[string]last {
	out := map[string]last{}
	for _, r := range a.Runs {
		if r.Created.Run != root && r.Created.Root != root {
			continue
		}
		folder := ""
		for _, b := range r.Bodies() {
			folder = journal.FolderAfter(b, folder)
			c, ok := b.(journal.FilesChanged)
			if !ok {
				continue
			}
			for _, one := range c.Changes {
				if path := one.Name(); cmp.Compare(out[path].look, c.Look) <= 0 {
					out[path] = last{one.After, c.Look, r.Created.Run, c.During}
				}
			}
		}
	}
	return out
}
