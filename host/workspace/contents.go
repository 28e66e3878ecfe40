package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"agent/db/keep"
	"agent/host/drive"
	"agent/recovery/journal"
	"agent/tools/gitrepo/objects"
	"agent/tools/scan"
)

// Contents gives contents of versions back, and knows versions again that are read from disk. It
// may be used by several at once.
type Contents struct {
	kept *keep.Contents
	dir  string // of the pins
	repo objects.Repository
	git  bool // the workspace is a repository's now

	mu     sync.Mutex
	listed bool
	pins   []*objects.Pin // the one that was of use last comes first
}

// NewContents is for one workspace.
func NewContents(p *drive.Process, folder string) (*Contents, error) {
	kept, err := p.Store.Contents()
	if err != nil {
		return nil, err
	}
	c := &Contents{kept: kept, dir: filepath.Join(p.Home, PinsFolder)}
	if repo, ok, err := objects.Find(folder); err == nil && ok {
		c.repo, c.git = repo, true
	}
	return c, nil
}

// Close lets go of the pins. More contents may be asked for after it.
func (c *Contents) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, pin := range c.pins {
		errs = append(errs, pin.Close())
	}
	c.pins, c.listed = nil, false
	return errors.Join(errs...)
}

// Head is the commit that the workspace's repository stands at; "" where there is none.
func (c *Contents) Head() string {
	if !c.git {
		return ""
	}
	head, err := c.repo.Head()
	if err != nil {
		return "" // whoever asks can do without
	}
	return head.Commit
}

// HasCommits says whether the workspace belongs to a repository that stands at a commit.
func (c *Contents) HasCommits() bool {
	head, err := c.repo.Head()
	return c.git && (err != nil || head.Commit != "")
}

// Name is the name that the store gives to a content.
func (c *Contents) Name(content []byte) string { return c.kept.Name(content) }

// Differing lists the paths that two commits have in different ways, and says whether the first one
// has something there.
func (c *Contents) Differing(ctx context.Context, from, to string) (map[string]bool, error) {
	moved, err := c.repo.Moved(ctx, from, to)
	if err != nil {
		return nil, err
	}
	all := make(map[string]bool, len(moved))
	for name, m := range moved {
		all[name] = m.From.Blob != ""
	}
	return all, nil
}

// Content gives the content of a version of a regular file.
func (c *Contents) Content(ctx context.Context, v *journal.FileVersion) ([]byte, error) {
	switch {
	case v.Kept != "":
		return c.kept.Get(ctx, v.Kept)
	case v.Git == "":
		return nil, fmt.Errorf("its content is not kept (%s)", v.Lost)
	}
	content, err := c.pinned(ctx, v.Git)
	if err != nil {
		return nil, fmt.Errorf("its content was only in git's objects: %w", err)
	}
	return content, nil
}

// Staged is a content that a look has just found, and that is not stored yet.
func (c *Contents) Staged(row keep.Row) ([]byte, error) { return c.kept.Staged(row) }

// pinned reads a blob from the pin that has it.
func (c *Contents) pinned(ctx context.Context, blob string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.listed {
		dirs, err := os.ReadDir(c.dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list the pins: %w", err)
		}
		for _, d := range dirs {
			if pin, err := objects.Open(filepath.Join(c.dir, d.Name())); err == nil { // another may have it
				c.pins = append(c.pins, pin)
			}
		}
		c.listed = true
	}
	var damage error
	for i, pin := range c.pins {
		content, err := pin.Read(ctx, blob, maxFile)
		if err == nil {
			c.pins[0], c.pins[i] = pin, c.pins[0]
			return content, nil
		}
		if !errors.Is(err, objects.ErrMissing) {
			damage = errors.Join(damage, err)
		}
	}
	if damage != nil {
		return nil, damage
	}
	return nil, fmt.Errorf("no pin has %.12s", blob)
}

// Named gives a version that was read from disk the names of its content.
func (c *Contents) Named(v *journal.FileVersion, e scan.Entry, content []byte) *journal.FileVersion {
	if v == nil || v.Kind != journal.FileRegular && v.Kind != journal.FileSpecial {
		return v
	}
	named := *v
	named.Stamp = e.Stamp()
	if v.Lost == "" && v.Kind == journal.FileRegular {
		named.Kept, named.Git = c.kept.Name(content), objects.BlobID(content, c.repo.SHA256)
	}
	return &named
}

// Disk is what lies at paths of a workspace now.
func (c *Contents) Disk(folder string, paths []string) (map[string]*journal.FileVersion, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	defer root.Close() // only a handle
	disk := map[string]*journal.FileVersion{}
	for _, name := range paths {
		v, e, content, err := scan.Version(root, name, maxFile)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", name, err)
		}
		if v = c.Named(v, e, content); v != nil {
			disk[name] = v
		}
	}
	return disk, nil
}

// Stays are paths in folders of a workspace, but for those that are known: what a folder that goes
// would have to take with it. One for each folder is enough.
func (c *Contents) Stays(folder string, dirs []string, known map[string]*journal.FileVersion) (map[string]*journal.FileVersion, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	defer root.Close() // only a handle
	stays := map[string]*journal.FileVersion{}
	for _, dir := range dirs {
		names, err := scan.Names(root, dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			at := dir + "/" + name
			if _, is := known[at]; !is && !scan.IsTemp(name) {
				stays[at] = &journal.FileVersion{Kind: journal.FileSpecial}
				break
			}
		}
	}
	return stays, nil
}
