// Package githook is this program at git's side: the hooks that need the store, and what has git
// run them.
package githook

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"agent/db"
	"agent/db/commits"
	"agent/db/keep"
	"agent/recovery/journal"
	hooks "agent/tools/githook"
	"agent/tools/gitrepo/hooklines"
	"agent/tools/gitrepo/objects"
)

// Command is the hidden command that git runs as a hook.
const Command = hooklines.Command

// Main carries out a hook outside of a call, where the state folder may be read. It prints nothing,
// and returns the exit code, which is always 0: no commit fails because of it.
func Main(args []string, home func() (string, error)) int {
	h := hooks.Here()
	h.Pending = func(ctx context.Context, c hooks.Commit) (bool, error) {
		dir, err := home()
		if err != nil {
			return false, err
		}
		var found bool
		deep(func() { found, err = Pending(ctx, dir, c) })
		return found, err
	}
	_ = h.Main(args) // nobody is there to read it
	return 0
}

// deep runs f on a stack that has room for SQLite: a smaller one is copied again and again.
//
//go:noinline
func deep(f func()) {
	var room [48 << 10]byte
	f()
	runtime.KeepAlive(&room)
}

// Bounds of what is looked at, so that a hook takes as long with many runs as with few.
const (
	maxRuns  = 8       // the newest of those that changed a path of the commit
	maxBlob  = 8 << 20 // bytes of a content that is compared
	maxBlobs = 64      // contents that are compared
)

// Pending says whether a commit has a content in it that a call of a run left in its workspace.
func Pending(ctx context.Context, home string, c hooks.Commit) (found bool, err error) {
	store, err := db.OpenBriefly(home)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	top, err := filepath.EvalSymlinks(c.Folder)
	if err != nil {
		return false, fmt.Errorf("find the work tree: %w", err)
	}
	p := pending{store: store, top: top, left: map[string][]journal.FileVersion{}}
	folders, err := commits.Folders(ctx, store, top)
	if err != nil || len(folders) == 0 {
		return false, err
	}
	staged, err := c.Staged(ctx)
	if err != nil {
		return false, err
	}
	if err := p.runs(ctx, folders, staged); err != nil {
		return false, err
	}
	return p.meets(ctx, c, staged)
}

// pending is what runs left, by path in the work tree.
type pending struct {
	store *db.Store
	top   string
	left  map[string][]journal.FileVersion

	repo   objects.Repository
	looked bool // for repo
	found  bool
}

// runs reads what runs left at the paths that are staged.
func (p *pending) runs(ctx context.Context, folders []string, staged []hooks.Staged) error {
	var names []string
	for _, folder := range folders {
		dir, err := filepath.Rel(p.top, folder)
		if err != nil {
			continue // it is below the top
		}
		for _, s := range staged {
			if dir == "." {
				names = append(names, s.Path)
			} else if name, below := strings.CutPrefix(s.Path, filepath.ToSlash(dir)+"/"); below {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	list, err := commits.Looks(ctx, p.store, p.top, names, maxRuns)
	if err != nil {
		return err
	}
	for _, look := range list {
		dir, err := filepath.Rel(p.top, look.Folder)
		if err != nil {
			continue
		}
		for _, c := range look.Changes {
			after := c.After
			if after == nil || after.Kind != journal.FileRegular || !c.Proof.Ours() || c.Proof == journal.ProofGit {
				continue
			}
			name := path.Join(filepath.ToSlash(dir), c.Name())
			p.left[name] = append(p.left[name], *after)
		}
	}
	return nil
}

// meets compares what is staged with what was left. A content is read only where a version that has
// no name of git's could be it.
func (p *pending) meets(ctx context.Context, c hooks.Commit, staged []hooks.Staged) (bool, error) {
	read := 0
	for _, s := range staged {
		most := int64(-1) // bytes that a content has which could be one that was left
		for _, v := range p.left[s.Path] {
			if strings.EqualFold(v.Git, s.Blob) {
				return true, nil
			}
			if v.Kept != "" {
				most = max(most, v.Size)
			}
		}
		if most < 0 || read == maxBlobs {
			continue
		}
		read++
		content, err := p.content(ctx, c, s.Blob, min(most, maxBlob))
		if err != nil {
			continue // too large, or a submodule
		}
		if same, err := p.kept(p.left[s.Path], content); same || err != nil {
			return same, err
		}
	}
	return false, ctx.Err()
}

// content reads what is staged. Most of it was staged just now; git is started for the rest.
func (p *pending) content(ctx context.Context, c hooks.Commit, id string, limit int64) ([]byte, error) {
	if !p.looked {
		p.repo, p.found, _ = objects.Find(p.top) // git finds one that is elsewhere
		p.looked = true
	}
	if p.found {
		if content, err := p.repo.FreshBlob(id, limit); err == nil || errors.Is(err, objects.ErrTooLarge) {
			return content, err
		}
	}
	return c.Blob(ctx, id, limit)
}

// kept says whether a content is one of those that the store keeps.
func (p *pending) kept(versions []journal.FileVersion, content []byte) (bool, error) {
	if !slices.ContainsFunc(versions, func(v journal.FileVersion) bool { return v.Kept != "" && v.Size == int64(len(content)) }) {
		return false, nil
	}
	all, err := p.store.Contents()
	if err != nil {
		return false, err
	}
	return oneOf(all, versions, content), nil
}

func oneOf(kept *keep.Contents, versions []journal.FileVersion, content []byte) bool {
	name := kept.Name(content)
	for _, v := range versions {
		if v.Kept == name && name != "" {
			return true
		}
	}
	return false
}
