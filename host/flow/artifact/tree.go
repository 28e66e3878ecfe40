package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/recovery/fault"
	"agent/recovery/flow"
	"agent/recovery/journal"
	"agent/tools/files"
)

// Bounds of a folder that is an artifact.
const (
	maxFiles = 20_000
	maxDepth = 100
)

// tree is a folder as it was read: its manifest is a line a file, in order of name.
type tree struct {
	f      *Folder
	sync   bool
	lines  hash.Hash // of the manifest
	stamps hash.Hash
	files  int
	size   int64
	latest time.Time
}

// readTree reads every file below a folder once. Links are part of the manifest, and are not
// followed. *RefusedError names what no artifact may hold.
func (f *Folder) readTree(ctx context.Context, t *files.Target, sync bool) (*tree, error) {
	r := &tree{f: f, sync: sync, lines: sha256.New(), stamps: sha256.New()}
	dir, err := files.Enter(t.Dir, t.Name, t.Info)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", t.Rel, err)
	}
	err = r.folder(ctx, dir, t.Rel, "", 0)
	_ = dir.Close() // it was only read from; nothing can be lost
	if err != nil {
		return nil, err
	}
	if sync {
		return r, f.syncFolders(t)
	}
	return r, nil
}

// folder reads one: top is where the artifact lies, in where below it.
func (r *tree) folder(ctx context.Context, dir *os.Root, top, in string, depth int) error {
	at, err := dir.Open(".")
	if err != nil {
		return fmt.Errorf("list %s: %w", path.Join(top, in), err)
	}
	entries, err := at.ReadDir(-1)
	_ = at.Close() // it was only read from; nothing can be lost
	if err != nil {
		return fmt.Errorf("list %s: %w", path.Join(top, in), err)
	}
	if depth > maxDepth {
		return &RefusedError{top, fmt.Sprintf("its folders are more than %d deep", maxDepth)}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if err := r.entry(ctx, dir, e.Name(), top, path.Join(in, e.Name()), depth); err != nil {
			return err
		}
	}
	if !r.sync {
		return nil
	}
	return files.SyncFolder(dir)
}

func (r *tree) entry(ctx context.Context, dir *os.Root, name, top, rel string, depth int) error {
	if files.Reserved(name) {
		return &RefusedError{top, "it holds " + rel + ", and " + reserved}
	}
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return errChanging
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", path.Join(top, rel), err)
	}
	if r.files++; r.files > maxFiles {
		return &RefusedError{top, fmt.Sprintf("it holds more than %d files and folders", maxFiles)}
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := dir.Readlink(name)
		if err != nil {
			return fmt.Errorf("read symlink %s: %w", path.Join(top, rel), err)
		}
		fmt.Fprintf(r.lines, "link %q %q\n", rel, to) // a hash takes everything without an error
		fmt.Fprintf(r.stamps, "%s\n", stamp(info))
		return nil
	case info.IsDir():
		if r.f.w.Denies(filepath.Join(r.f.w.Real, filepath.FromSlash(path.Join(top, rel))), info) {
			return &RefusedError{top, "it holds the state folder"}
		}
		sub, err := files.Enter(dir, name, info)
		if err != nil {
			return fmt.Errorf("open %s: %w", path.Join(top, rel), err)
		}
		err = r.folder(ctx, sub, top, rel, depth+1)
		_ = sub.Close() // it was only read from; nothing can be lost
		return err
	case !info.Mode().IsRegular():
		return &RefusedError{top, rel + " in it is not a regular file"}
	}
	file, err := r.f.read(ctx, &files.Target{Dir: dir, Name: name, Info: info, Rel: path.Join(top, rel)}, 0, r.sync)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.lines, "%s %o %d %q\n", file.sha, file.info.Mode().Perm()&0o111, file.size, rel)
	fmt.Fprintf(r.stamps, "%s\n", stamp(file.info))
	r.size += file.size
	if at := changed(file.info); at.After(r.latest) {
		r.latest = at
	}
	return nil
}

func (r *tree) artifact(name string) journal.Artifact {
	return journal.Artifact{Path: name, SHA: hex.EncodeToString(r.lines.Sum(nil)), Size: r.size, Stamp: hex.EncodeToString(r.stamps.Sum(nil)[:16])}
}

// takeTree takes a folder, of which no copy is made.
func (f *Folder) takeTree(ctx context.Context, t *files.Target, o flow.Output, sync bool) (Taken, error) {
	taken := Taken{Artifact: journal.Artifact{Path: o.Path}}
	r, err := f.readTree(ctx, t, sync)
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		taken.Invalid = refused.Why
		return taken, nil
	}
	if err != nil {
		return taken, err
	}
	taken.Artifact, taken.Changed = r.artifact(o.Path), r.latest
	switch {
	case r.files == 0 && !o.Empty:
		taken.Invalid = "it holds no file"
	case r.size < o.Min:
		taken.Invalid = fmt.Sprintf("its files have %d bytes, at least %d are asked for", r.size, o.Min)
	case sync:
		f.hit(fault.ArtifactSynced)
	}
	return taken, nil
}

// lookTree compares a folder with its record. Which of its files are others is not known: the
// manifest is recorded by its hash alone.
func (f *Folder) lookTree(ctx context.Context, t *files.Target, want journal.Artifact, o flow.Output, copies *Copies, found *Found) error {
	r, err := f.readTree(ctx, t, false)
	if err != nil {
		return err
	}
	found.Artifact = r.artifact(want.Path)
	switch {
	case found.SHA == want.SHA:
		found.State, found.Call = journal.ArtifactIntact, want.Call
		return nil
	case r.files == 0:
		found.State = journal.ArtifactMissing
		return nil
	}
	return f.edited(ctx, o, copies, found)
}
