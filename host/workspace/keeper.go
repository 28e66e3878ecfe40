package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"agent/host/drive"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/durable"
)

// PinsFolder holds the pins, in the state folder, one for each root.
const PinsFolder = "pins"

// Keeper looks after the workspaces of all runs that a process drives.
type Keeper struct {
	Process *drive.Process
	Limit   func() int64 // bytes of contents that are kept at most; nil: any number
	Homes   []string     // folders that are too wide to keep everything of, such as a person's home

	Own     []string      // other folders of this program, which are no part of a workspace
	Ignores func() string // finds the file of what the person ignores everywhere, as gitconfig.Ignores does; nil: none

	MaxBytes  int64 // bytes that one look keeps; 0 for as many as is usual
	MaxPinned int   // contents that git has which one look keeps, likewise; of more the pin stays

	MaxWatches int // folders of a workspace that are listened to, likewise; of more each look lists all

	mu       sync.Mutex
	trackers map[where]*tracker
}

// where is what one tracker is for: a family works in one folder, and its runs share what is known
// of it.
type where struct{ root, folder string }

// rootOf is the run at the top of a family.
func rootOf(c journal.RunCreated) string { return cmp.Or(c.Root, c.Run) }

// tracker finds the one for a run.
func (k *Keeper) tracker(c journal.RunCreated) *tracker {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.trackers == nil {
		k.trackers = map[where]*tracker{}
	}
	at := where{rootOf(c), c.Folder}
	t := k.trackers[at]
	if t == nil {
		t = &tracker{k: k, where: at}
		if k.Ignores != nil {
			t.ignores = k.Ignores()
		}
		t.dropped()
		k.trackers[at] = t
	}
	return t
}

// Before looks right before a call is started. An error says that what the call may destroy cannot
// be kept: it must not start.
func (k *Keeper) Before(ctx context.Context, c drive.FilesCall) (drive.Found, error) {
	t := k.tracker(c.Created)
	if c.Paths == nil {
		t.wait(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	found, err := t.before(ctx, c)
	if err != nil {
		t.dropped() // what it had seen until then is in no fact
		return drive.Found{}, fmt.Errorf("keep what call %s of run %s may change in %s: %w", c.Place, c.Created.Run, t.folder, err)
	}
	return found, nil
}

// After looks once a call has its result. A look that fails is reported and leaves nothing: the
// call has acted, and its result must not be lost.
func (k *Keeper) After(ctx context.Context, c drive.FilesCall, _ []journal.Event) drive.Found {
	t := k.tracker(c.Created)
	t.mu.Lock()
	defer t.mu.Unlock()
	found, err := t.after(ctx, c)
	if err != nil {
		t.dropped()
		k.Process.Warn(c.Created.Run, "it is not known what call %s changed in %s, so it cannot be undone: %v", c.Place, t.folder, err)
		return drive.Found{}
	}
	return found
}

// Dropped is given facts that did not become durable: the next look finds what they said once more.
func (k *Keeper) Dropped(c journal.RunCreated) {
	t := k.tracker(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropped()
}

// Last looks at all once more before the end of a run is recorded. The looks before may have gone
// by what the system says that happened, which is not all; what only this one finds is recorded as
// late, and nobody's of ours.
func (k *Keeper) Last(ctx context.Context, c journal.RunCreated) drive.Found {
	t := k.tracker(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Parent != "" || !t.based || !t.all || !t.tree.Watching() {
		return drive.Found{}
	}
	f, err := t.begin(ctx, drive.FilesCall{Created: c})
	if err == nil {
		err = f.everything() // what is heard of is not late
	}
	if err == nil {
		f.judge = true
		err = f.everything()
	}
	if err != nil {
		t.dropped()
		k.Process.Warn(c.Run, "it is not known what changed in %s since the last call: %v", t.folder, err)
		return drive.Found{}
	}
	return f.found()
}

// Left hears that this process drives a run no more.
func (k *Keeper) Left(c journal.RunCreated) {
	if c.Parent == "" {
		for _, t := range k.of(c.Run) {
			t.halt()
			t.mu.Lock()
			t.quiet()
			t.mu.Unlock()
		}
	}
}

// of are the trackers of a family.
func (k *Keeper) of(root string) (of []*tracker) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for at, t := range k.trackers {
		if at.root == root {
			of = append(of, t)
		}
	}
	return of
}

// Ended hears that the end of a run is durable. Once that of a root is, nothing of its family is
// looked at any more, and its pin goes, unless a recorded content is in it alone.
func (k *Keeper) Ended(c journal.RunCreated) {
	if c.Parent != "" {
		return
	}
	ended := k.of(c.Run)
	k.mu.Lock()
	for _, t := range ended {
		delete(k.trackers, t.where)
	}
	k.mu.Unlock()
	for _, t := range ended {
		t.halt()
		t.mu.Lock()
		t.close()
		t.mu.Unlock()
	}
	k.unpin(c.Run)
}

// pin is the folder of a family's pin.
func (k *Keeper) pin(root string) string { return filepath.Join(k.Process.Home, PinsFolder, root) }

// makePins makes the folder that holds the pins, so that a power cut leaves it there.
func (k *Keeper) makePins() error {
	err := os.Mkdir(filepath.Join(k.Process.Home, PinsFolder), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = durable.SyncDir(k.Process.Home)
	}
	return err
}

// refusal says why not everything of a folder is kept; "" where everything is.
func (k *Keeper) refusal(folder string) string {
	real := tools.Followed("/", folder)
	switch {
	case real == "/":
		return "the workspace is the whole file system"
	case real == tools.Followed("/", k.Process.Home):
		return "the workspace is the state folder"
	case slices.ContainsFunc(k.Homes, func(h string) bool { return h != "" && tools.Followed("/", h) == real }):
		return "the workspace is a home folder"
	}
	return ""
}
