package workspace

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agent/recovery/journal"
	"agent/tools/gitrepo/objects"
)

// git is what is known of the repository that the workspace belongs to.
type git struct {
	repo  objects.Repository
	ok    bool
	head  journal.GitHead
	log   int64  // bytes of HEAD's log that were read
	file  string // tells one index file from the one before
	index objects.Index
	moved map[string]objects.Moved // what git moved with HEAD since the look before
	dirs  movedFolders             // of those paths
	pin   *objects.Pin
}

// openGit finds the repository and reads where it stands. Of one that cannot be read nothing is
// known, and each file is copied.
func (f *finding) openGit() error {
	repo, ok, err := objects.Find(f.folder)
	if err != nil {
		ok = false
	}
	pin := f.git.pin
	f.tracker.git = git{repo: repo, ok: ok, pin: pin}
	if !ok {
		return nil
	}
	f.git.file = indexStamp(repo)
	if f.git.head, err = repo.Head(); err == nil {
		f.git.index, err = repo.Index()
	}
	if err == nil {
		_, f.git.log, err = repo.HeadLog(0)
	}
	if err != nil {
		f.git.ok = false
	}
	return nil
}

// reopenGit opens the repository and the pin that an earlier process made. HEAD is where the last
// look had seen it, so that a move by a call under way is still to be found.
func (t *tracker) reopenGit(b *journal.FilesBase, since []journal.FilesChanged) {
	if b.Head == nil {
		return
	}
	f := &finding{tracker: t}
	if err := f.openGit(); err != nil || !t.git.ok {
		return
	}
	t.git.head = *b.Head
	for _, c := range since {
		if c.Head != nil {
			t.git.head = c.Head.To
		}
	}
	t.git.file, t.git.index = "", objects.Index{}                              // what was seen is in scope all the same
	if place, err := t.git.repo.HeadLogBehind(t.git.head.Commit); err == nil { // else it counts as not moved
		t.git.log = place
	}
	if pin, err := objects.Open(t.k.pin(t.where.root)); err == nil { // without it what it alone has is lost, and recorded so
		t.git.pin = pin
	}
}

// readGit looks whether HEAD was moved since the look before, by git itself and not by a commit.
func (f *finding) readGit() {
	g := &f.tracker.git
	g.moved, g.dirs = nil, movedFolders{}
	if !g.ok {
		return
	}
	head, err := g.repo.Head()
	if err != nil {
		return // as after `rm -rf .git`: what was in the workspace is known all the same
	}
	verbs, size, err := g.repo.HeadLog(g.log)
	index, file := g.index, indexStamp(g.repo)
	if err == nil && file != g.file {
		index, err = g.repo.Index()
	}
	if err != nil {
		return
	}
	if file != g.file {
		for _, name := range index.Since(g.index) {
			f.tree.Again(name) // which may be in an ignored folder
		}
	}
	if head != g.head && len(verbs) > 0 && !slices.ContainsFunc(verbs, commits) {
		f.head = &journal.HeadMove{From: g.head, To: head}
		if g.moved, err = g.repo.Moved(f.ctx, g.head.Commit, head.Commit); err != nil {
			g.moved = nil // as where the old commit is gone: what differs is the call's
		}
		g.dirs = foldersOf(g.moved)
	}
	g.head, g.log, g.index, g.file = head, size, index, file
}

// indexStamp tells whether git wrote its index since: it makes a new file each time.
func indexStamp(r objects.Repository) string {
	info, err := os.Stat(filepath.Join(r.Git, "index"))
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// movedFolders are those that git makes, and that it may have removed, for the paths that it moved.
type movedFolders struct{ made, emptied map[string]bool }

func foldersOf(moved map[string]objects.Moved) movedFolders {
	d := movedFolders{map[string]bool{}, map[string]bool{}}
	for name, m := range moved {
		for at := path.Dir(name); at != "."; at = path.Dir(at) {
			if m.From.Blob == "" {
				d.made[at] = true
			} else if m.To.Blob == "" {
				d.emptied[at] = true
			}
		}
	}
	return d
}

// commits says whether a line of HEAD's log, by its first words, made a commit of what was in the
// workspace.
func commits(verb string) bool { return strings.HasPrefix(verb, "commit") }

// gitMoved says whether git moved a path with HEAD: it was what the one commit has, and is what the
// other has. So it goes back with HEAD, by git. What was only in the index is in no commit, and is
// not git's to give back.
func (f *finding) gitMoved(name string, before, after *journal.FileVersion, content []byte) bool {
	g := &f.tracker.git
	if g.moved == nil {
		return false
	}
	if isFolder(before) || isFolder(after) {
		return before == nil && g.dirs.made[name] || after == nil && g.dirs.emptied[name]
	}
	m, is := g.moved[name]
	if !is || !hasMode(before, m.From) || !hasMode(after, m.To) {
		return false
	}
	if after != nil {
		if after.Kind == journal.FileLink {
			content = []byte(after.Link)
		}
		if objects.BlobID(content, g.repo.SHA256) != m.To.Blob {
			return false
		}
	}
	return before == nil || f.isBlob(before, m.From.Blob)
}

func isFolder(v *journal.FileVersion) bool { return v != nil && v.Kind == journal.FileFolder }

// hasMode says whether what is at a path is of the kind that a commit has there.
func hasMode(v *journal.FileVersion, is objects.Tracked) bool {
	switch {
	case v == nil || is.Blob == "":
		return v == nil && is.Blob == ""
	case v.Kind == journal.FileLink:
		return is.Mode == objects.ModeLink
	case v.Kind != journal.FileRegular || v.Lost != "":
		return false
	case v.Mode&0o100 != 0:
		return is.Mode == objects.ModeExecutable
	}
	return is.Mode == objects.ModeFile
}

// isBlob says whether a version is what git has under an object id.
func (f *finding) isBlob(v *journal.FileVersion, blob string) bool {
	switch {
	case v.Git != "":
		return v.Git == blob
	case v.Kind == journal.FileLink:
		return objects.BlobID([]byte(v.Link), f.git.repo.SHA256) == blob
	case v.Kept == "":
		return false
	}
	content, err := f.keep.Get(f.ctx, v.Kept)
	if err != nil { // it is in none of the commits that became durable yet
		return false
	}
	return objects.BlobID(content, f.git.repo.SHA256) == blob
}
