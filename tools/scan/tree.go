package scan

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"agent/recovery/journal"
	"agent/tools/ignore"
)

// Tree is what a workspace held when it was listed last. To list it again costs a system call a
// file and little else: the names in a folder are read again only if the folder's times say that
// they changed, where the file system can be trusted with that, and rules are asked about again
// only where they changed, or the names did. It is not for use by several at once.
type Tree struct {
	root     string
	top      *dir // nil before the first listing, and after one that failed
	above    *ignore.Rules
	excluded []excluded
	watch    *watch // nil where nobody listens
	// unheard is looked at all the same: nobody hears of a file's other names, nor of what is in
	// a folder that is left out.
	unheard []string
	last    Listing
}

// NewTree is one of a workspace that was not listed yet.
func NewTree(root string) *Tree { return &Tree{root: root} }

// dir is a folder whose names were read.
type dir struct {
	path  string
	nodes []node // in the order of their paths
	above *dir   // nil for the workspace
	was   Entry  // the folder right before its names were read
	again bool   // read them again whatever its times say
	wd    int    // of its watch; 0 where it has none
	heard heard  // since it was looked at last

	only      bool // what is in it counts only if it is tracked
	nested    bool // it holds a repository, or is one
	ruled     bool // a .gitignore is in it
	around    *ignore.Rules
	rules     *ignore.Rules // with its own
	rulesFile Entry         // of them, right before they were read
}

// node is one name in a folder.
type node struct {
	path string
	Entry
	listed bool               // it has an entry
	why    journal.LeftReason // what of it is left out; "" for nothing
	hides  bool               // nobody sees what is at the path, or below it
	sub    *dir               // of a folder that was entered

	asked   *ignore.Rules // the rules that said whether it is ignored, of a folder
	ignored bool
}

// file says whether the node has an entry that is no folder.
func (n *node) file() bool { return n.listed && n.Kind != journal.FileFolder }

// oddity is what more is to know of a node than its entry.
type oddity struct {
	why    journal.LeftReason
	size   int64 // of what is left out
	hides  bool
	linked bool // it has other names
	closed bool // it has an entry, and what is in it has none
}

func (n *node) oddity() oddity {
	o := oddity{why: n.why, hides: n.hides}
	if folder := n.Kind == journal.FileFolder; !folder {
		o.linked = n.Links > 1
		if n.why != "" {
			o.size = n.Size
		}
	} else {
		o.closed = n.listed && n.sub == nil
	}
	return o
}

// find finds a name in the folder.
func (d *dir) find(path string) (int, bool) {
	return slices.BinarySearchFunc(d.nodes, path, func(n node, path string) int { return strings.Compare(n.path, path) })
}

// holds says whether a file with an entry lies below the folder.
func (d *dir) holds() bool {
	return d != nil && slices.ContainsFunc(d.nodes, func(n node) bool { return n.file() || n.sub.holds() })
}

// Entry is what the last listing had at a path.
func (t *Tree) Entry(path string) (Entry, bool) {
	if n := t.node(path); n != nil && n.listed {
		return n.Entry, true
	}
	return Entry{}, false
}

func (t *Tree) node(path string) *node {
	_, n := t.way(path)
	return n
}

// way goes to a path as far as the tree has it: n is the path's own, and d the last folder on the
// way to it.
func (t *Tree) way(path string) (d *dir, n *node) {
	for next := t.top; next != nil; {
		d = next
		end := len(d.path)
		if end > 0 {
			end++
		}
		if cut := strings.IndexByte(path[end:], '/'); cut >= 0 {
			end += cut
		} else {
			end = len(path)
		}
		at, ok := d.find(path[:end])
		if !ok {
			return d, nil
		}
		if end == len(path) {
			return d, &d.nodes[at]
		}
		next = d.nodes[at].sub
	}
	return d, nil
}

// Again has the next listing read the names again in the folder that a path lies in, or in the one
// above it that was read, as where it was not tracked before.
func (t *Tree) Again(path string) {
	if d, n := t.way(path); d != nil && (n == nil || !n.listed) {
		d.again = true
		d.touch("")
	}
}

// Each goes through the entries of the last listing, each folder before what is in it.
func (t *Tree) Each(yield func(path string, e Entry) bool) {
	if t.top != nil {
		t.top.each(yield)
	}
}

func (d *dir) each(yield func(path string, e Entry) bool) bool {
	for i := range d.nodes {
		n := &d.nodes[i]
		if n.listed && !yield(n.path, n.Entry) || n.sub != nil && !n.sub.each(yield) {
			return false
		}
	}
	return true
}

// List says what differs from the listing before. After an error the next one is a first one.
func (t *Tree) List(o Options) (Listing, error) {
	w := &walk{o: o, began: time.Now().UnixNano(), l: Listing{First: t.top == nil, Skipped: map[journal.LeftReason]int{}, unseen: map[string]struct{}{}}}
	w.o.MaxPaths = cmp.Or(o.MaxPaths, MaxPaths)
	w.o.MaxFile = cmp.Or(o.MaxFile, MaxFile)
	w.o.MaxIgnored = cmp.Or(o.MaxIgnored, MaxIgnored)
	w.watch = t.watch
	w.count = new(atomic.Int64)
	w.part = t.hear() && t.top != nil && !o.Judge
	w.helpers = newHelpers(!w.part)
	if err := w.run(t); err != nil {
		t.top = nil
		return Listing{}, fmt.Errorf("list the files of %s: %w", t.root, err)
	}
	for _, d := range w.later {
		d.touch("") // for the next time
	}
	slices.SortFunc(w.l.Changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	if t.watch != nil && (t.watch.failed || len(t.watch.dirs) == 0) {
		t.Close() // from here on all is looked at each time
	}
	if w.part && !w.odd { // what is left out is as it was
		l := t.last
		l.First, l.Changes = false, w.l.Changes
		return l, nil
	}
	t.unheard = t.unheard[:0]
	w.leftOut(t, t.top)
	slices.SortFunc(w.l.LeftOut, func(a, b journal.LeftOut) int { return strings.Compare(a.Path, b.Path) })
	t.last = w.l
	t.last.Changes = nil
	return w.l, nil
}

func (w *walk) run(t *Tree) error {
	real, err := filepath.EvalSymlinks(t.root)
	if err != nil {
		return err
	}
	for _, dir := range w.o.Exclude {
		if x, ok := excludedAt(real, dir); ok {
			w.excluded = append(w.excluded, x)
		}
	}
	w.part = w.part && slices.Equal(w.excluded, t.excluded)
	t.excluded = w.excluded
	rules, err := ignore.Above(real, w.o.Ignores, t.above)
	if err != nil {
		return err
	}
	if !rules.Same(t.above) {
		t.above = rules
	}
	top, err := openTop(real)
	if err != nil {
		return err
	}
	defer top.close()
	e, id, err := top.self()
	if err != nil {
		return err
	}
	w.trusted = top.keepsTimes(id)
	if !w.isKnown(t.top, e, id, false, t.above) {
		if t.top, err = w.read(top, t.top, nil, spot{rules: t.above}, e); err != nil {
			return err
		}
	}
	return w.folder(spot{dir: top, rules: t.above}, t.top)
}

// leftOut collects what is left out, and what nobody hears of.
func (w *walk) leftOut(t *Tree, d *dir) {
	for i := range d.nodes {
		n := &d.nodes[i]
		if is := n.oddity(); is.linked || is.closed || n.why == journal.LeftNested || n.why == journal.LeftUnreadable {
			t.unheard = append(t.unheard, n.path)
		}
		if n.hides {
			w.l.unseen[n.path] = struct{}{}
		}
		if n.why != "" {
			w.l.Skipped[n.why]++
			if len(w.l.LeftOut) < maxLeftOut {
				left := journal.LeftOut{Path: n.path, Reason: n.why}
				if n.Kind != journal.FileFolder {
					left.Size = n.Size
				}
				w.l.LeftOut = append(w.l.LeftOut, left)
			}
		}
		if n.sub != nil {
			w.leftOut(t, n.sub)
		}
	}
}
