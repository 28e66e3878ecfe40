package workspace

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"

	"agent/db/keep"
	"agent/host/drive"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools/scan"
)

// tracker knows what lies in one workspace. Its lock is held for a whole look, so looks of several
// runs follow each other.
type tracker struct {
	where
	k       *Keeper
	ignores string // the file that k.Ignores found

	mu    sync.Mutex
	begun bool                          // the journals were read
	based bool                          // everything was listed by this process
	all   bool                          // seen has all that is in scope
	why   string                        // why not everything is kept; "" where it is
	look  int64                         // number of the last look
	open  map[window][]string           // calls under way, with the paths that they may change; nil: anything
	seen  map[string]seen               // by path
	due   map[string]bool               // paths that the next look compares, whatever it lists: seen is not what tree has
	left  map[string]journal.LeftReason // paths that were left out, at the last look
	tree  *scan.Tree                    // what was listed last
	heeds bool                          // tree listens, or could not
	last  scan.Listing                  // what came of that, without its changes
	at    int64                         // when the last look began, in nanoseconds since 1970
	ended int64                         // and when it had ended
	whole int64                         // when the last look at all began, whatever was heard

	ahead *ahead // nil where none is made
	root  *os.Root
	git   git
	keep  *keep.Contents
}

// window is a call under way.
type window struct {
	run         string
	turn, index int
}

func windowOf(c drive.FilesCall) window {
	return window{c.Created.Run, c.Place.Turn, c.Place.Index}
}

// seen is what the last look saw at a path.
type seen struct {
	stat  scan.Entry
	v     *journal.FileVersion
	young bool // changed so shortly before the look that the next one must read it again
}

// see notes what is at a path, which a listing may not have seen so.
func (t *tracker) see(name string, s seen) { t.seen[name], t.due[name] = s, true }

// before is step 2 of the package's order, and step 1 where it is due.
func (t *tracker) before(ctx context.Context, c drive.FilesCall) (drive.Found, error) {
	f, err := t.begin(ctx, c)
	if err != nil {
		return drive.Found{}, err
	}
	switch {
	case c.Paths != nil:
		err = f.pathsBefore(c.Paths)
	case t.based:
		err = f.everything()
	default:
		err = f.base()
	}
	if err != nil {
		return drive.Found{}, err
	}
	found := f.found()
	t.open[windowOf(c)] = c.Paths
	fault.Hit(fault.LookedBefore)
	return found, nil
}

// after is step 3.
func (t *tracker) after(ctx context.Context, c drive.FilesCall) (drive.Found, error) {
	f, err := t.begin(ctx, c)
	if err != nil {
		return drive.Found{}, err
	}
	f.acted = true
	if c.Paths != nil {
		before := t.open[windowOf(c)]
		if before == nil { // not under way, or of a tool that whoever read the journal does not have
			before = c.Paths
			t.open[windowOf(c)] = before
		}
		err = f.paths(before) // where its arguments lead by now is another matter
	} else {
		t.open[windowOf(c)] = nil
		err = f.everything()
	}
	found := f.found()
	delete(t.open, windowOf(c))
	fault.Hit(fault.LookedAfter)
	return found, err
}

// begin opens the workspace and reads, once a process, what the journals of the family say of it.
func (t *tracker) begin(ctx context.Context, c drive.FilesCall) (*finding, error) {
	f := &finding{tracker: t, ctx: ctx, run: c.Created.Run, own: windowOf(c), place: c.Place, host: c.Host}
	if t.root == nil {
		var err error
		if t.keep, err = t.k.Process.Store.Contents(); err != nil {
			return nil, err
		}
		if t.root, err = os.OpenRoot(t.folder); err != nil {
			return nil, err
		}
	}
	if t.begun {
		return f, nil
	}
	if err := t.resume(ctx); err != nil {
		return nil, err
	}
	t.begun = true
	return f, nil
}

// dropped starts over: the journals say what is durable, and the next look finds the rest again.
func (t *tracker) dropped() {
	t.begun, t.based, t.all = false, false, false
	t.seen, t.open, t.due = map[string]seen{}, map[window][]string{}, map[string]bool{}
	t.quiet()
	t.tree = scan.NewTree(t.folder)
}

// heed has a large tree listen to what happens in its folders, once. The next look still lists all.
func (t *tracker) heed(paths int) {
	if !t.heeds && paths > many {
		t.heeds = true
		t.tree.Watch(t.k.MaxWatches)
	}
}

// quiet ends that.
func (t *tracker) quiet() {
	if t.tree != nil {
		t.tree.Close()
	}
	t.heeds = false
}

// close lets go of the workspace.
func (t *tracker) close() {
	if t.root != nil {
		_ = t.root.Close() // only a handle
	}
	if t.git.pin != nil {
		_ = t.git.pin.Close() // it was only read from
	}
	t.root, t.git.pin = nil, nil
	t.quiet()
}

// covers says whether a call under way may change a path: also a folder above those that it writes,
// which it makes.
func covers(paths []string, path string) bool {
	return paths == nil || slices.ContainsFunc(paths, func(p string) bool { return p == path || strings.HasPrefix(p, path+"/") })
}
