package scan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"agent/recovery/journal"
	"agent/tools/ignore"
)

// walk is a listing under way.
type walk struct {
	o        Options
	l        Listing
	excluded []excluded
	trusted  trusted
	watch    *watch
	part     bool   // only what was heard of is looked at
	odd      bool   // it is not as it was what is left out, or nobody hears of
	later    []*dir // folders in which less may count by now
	began    int64
	count    *atomic.Int64 // of what was looked at, of all that walk together
	helpers
}

// spot is an open folder.
type spot struct {
	dir   folder
	path  string
	rules *ignore.Rules // of the folders around it
	depth int
	only  bool // what is in it counts only if it is tracked
}

// isKnown says whether the names of a folder need not be read again.
func (w *walk) isKnown(d *dir, e Entry, id identity, only bool, around *ignore.Rules) bool {
	return d != nil && !d.again && d.was == e && w.trusted.keeps(id) && d.only == (only || d.nested) && d.around == around
}

// read reads the names in a folder, which is e. What was known of those that stay is kept.
func (w *walk) read(in folder, was, above *dir, s spot, e Entry) (*dir, error) {
	d := &dir{path: s.path, above: above, was: e, again: e.Ctime >= w.began-settled.Nanoseconds(), around: s.rules}
	if was != nil && was.around == s.rules {
		d.rules, d.rulesFile = was.rules, was.rulesFile
	}
	w.listen(in, d) // first, so that no name comes or goes in between unheard
	text, err := w.names(in, d)
	if err != nil {
		return nil, err
	}
	if d.only = s.only || d.nested; d.only {
		w.later = append(w.later, d)
	}
	if was != nil && was.again && was.wd != 0 && was.around == s.rules && was.only == d.only && was.was.Inode == e.Inode && was.was.Mode == e.Mode {
		d.heard = was.heard // that names came or went, and which
	} else { // it is new, or otherwise than was heard
		d.heard.all = true
	}
	d.nodes = make([]node, 0, strings.Count(text, "\x00"))
	for text != "" {
		path, rest, _ := strings.Cut(text, "\x00")
		text = rest
		d.nodes = append(d.nodes, node{path: path})
	}
	slices.SortFunc(d.nodes, func(a, b node) int { return strings.Compare(a.path, b.path) })
	if was != nil {
		w.merge(d, was)
		w.watch.forget(was)
	}
	return d, nil
}

// onlyTracked drops what is in a folder that is left out but for what is tracked.
func (w *walk) onlyTracked(d *dir) {
	d.nodes = slices.DeleteFunc(d.nodes, func(n node) bool {
		counts := n.file() || n.sub.holds() || w.isTracked(n.path) || w.holdsTracked(n.path)
		if !counts {
			w.drop(&n)
		}
		return !counts
	})
}

// names reads the names in a folder in one piece: the path of each, with a NUL behind it.
func (w *walk) names(in folder, d *dir) (string, error) {
	var head, objects, refs, common bool
	w.text = w.text[:0]
	err := in.each(w, func(name []byte) {
		switch string(name) {
		case "HEAD":
			head = true
		case "objects":
			objects = true
		case "refs":
			refs = true
		case "commondir":
			common = true
		case ignore.Name:
			d.ruled = true
		}
		if isGit(string(name)) {
			d.nested = true
			return
		}
		if d.path != "" {
			w.text = append(append(w.text, d.path...), '/')
		}
		w.text = append(append(w.text, name...), 0)
	})
	d.nested = d.path != "" && (d.nested || head && (objects && refs || common)) // the workspace is listed whatever it is
	return string(w.text), err
}

// merge takes over what was known of the names that a folder still has, and drops the others.
func (w *walk) merge(d, was *dir) {
	i := 0
	for k := range was.nodes {
		old := &was.nodes[k]
		for i < len(d.nodes) && d.nodes[i].path < old.path {
			i++
		}
		if i < len(d.nodes) && d.nodes[i].path == old.path {
			if d.nodes[i] = *old; old.sub != nil {
				old.sub.above = d
			}
		} else {
			w.drop(old)
		}
	}
}

// drop says that nothing in scope is at a path any more, nor below it.
func (w *walk) drop(n *node) {
	w.dropBelow(n)
	w.odd = w.odd || n.oddity() != oddity{}
	if n.listed {
		w.l.Changes = append(w.l.Changes, Change{Path: n.path, Entry: n.Entry, Gone: true})
	}
	*n = node{path: n.path}
}

func (w *walk) dropBelow(n *node) {
	if n.sub != nil {
		for i := range n.sub.nodes {
			w.drop(&n.sub.nodes[i])
		}
		w.watch.forget(n.sub)
	}
	n.sub = nil
}

// isGit says whether a name is that of a repository, in any case: some file systems know none.
func isGit(name string) bool { return len(name) == 4 && strings.EqualFold(name, ".git") }

// folder takes in what one folder holds.
func (w *walk) folder(s spot, d *dir) error {
	select {
	case <-w.o.Stop:
		return ErrStopped
	default:
	}
	s.only = d.only
	if d.wd == 0 {
		w.listen(s.dir, d)
	}
	w.ownRules(&s, d)
	skip := 0 // how much of a path is not its name
	if s.path != "" {
		skip = len(s.path) + 1
	}
	gone, before := false, len(w.l.Changes)
	if d.only {
		w.onlyTracked(d)
	}
	var below []subfolder
	for i := range d.nodes {
		n := &d.nodes[i]
		if w.part && !d.heardOf(n, skip, s.rules) {
			continue
		}
		if w.count.Add(1) > int64(w.o.MaxPaths) {
			return fmt.Errorf("%w: more than %d", ErrTooMany, w.o.MaxPaths)
		}
		was := n.oddity()
		e, id, err := s.dir.stat(n.path[skip:])
		switch {
		case isGone(err):
			w.drop(n)
			n.path, gone = "", true
		case isShort(err):
			return fmt.Errorf("look at %q: %w", n.path, err)
		case err != nil: // the folder may not be entered, or a mount is not to be looked at
			w.drop(n)
			n.why, n.hides = journal.LeftUnreadable, true
		case e.Kind != journal.FileFolder:
			w.file(s, n, e)
		default:
			below = append(below, subfolder{n, e, id})
			continue
		}
		w.odd = w.odd || n.oddity() != was
	}
	if err := w.enterAll(s, d, skip, below); err != nil {
		return err
	}
	gone = gone || slices.ContainsFunc(below, func(b subfolder) bool { return b.node.path == "" })
	if d.heard = (heard{}); d.only && len(w.l.Changes) > before {
		w.later = append(w.later, d)
	}
	if gone {
		d.nodes = slices.DeleteFunc(d.nodes, func(n node) bool { return n.path == "" })
		d.again = true
	}
	return nil
}

// ownRules adds what the .gitignore of a folder says to the rules that hold in it.
func (w *walk) ownRules(s *spot, d *dir) {
	rules := s.rules
	if w.part && d.ruled && !d.heard.of(ignore.Name) && d.around == rules {
		rules = d.rules
	} else if d.ruled && !d.only {
		e, _, err := s.dir.stat(ignore.Name)
		known := d.rulesFile != Entry{} && d.rulesFile == e
		if known && err == nil {
			rules = d.rules
		} else if rules = rules.Below(s.path, s.dir.small(ignore.Name, ignore.MaxBytes)); rules.Same(d.rules) {
			rules = d.rules // and what was said by them stands
		}
		if d.rulesFile = e; e.Ctime >= w.began-settled.Nanoseconds() {
			d.rulesFile = Entry{} // read again: a write so soon behind may not show
		}
	} else {
		d.rulesFile = Entry{}
	}
	if d.rules != rules {
		d.heard.all = true // what they say of each name may be another
	}
	d.rules, s.rules = rules, rules
}

// file takes in what is no folder.
func (w *walk) file(s spot, n *node, e Entry) {
	if e.Kind == journal.FileRegular && e.Size > w.o.MaxIgnored && !n.file() && s.rules.LeavesOut(n.path, false) && !w.isTracked(n.path) {
		w.drop(n)
		n.Entry, n.why, n.hides = e, journal.LeftTooLarge, true
		return
	}
	switch {
	case e.Kind == journal.FileSpecial:
		e.Out = journal.LeftSpecial
	case e.Kind == journal.FileRegular && e.Size > w.o.MaxFile:
		e.Out = journal.LeftTooLarge
	}
	if n.listed && n.Entry == e {
		return
	}
	w.dropBelow(n)
	*n = node{path: n.path, why: e.Out}
	w.add(n, e)
}

// add takes in an entry.
func (w *walk) add(n *node, e Entry) {
	if !w.l.First && (!n.listed || n.Entry != e) {
		w.l.Changes = append(w.l.Changes, Change{Path: n.path, Entry: e})
	}
	n.listed, n.Entry = true, e
}

// enter takes in a folder and what is below it. The path of one that is gone is "" then.
func (w *walk) enter(s spot, in *dir, skip int, b subfolder) error {
	n, e, id, was := b.node, b.Entry, b.id, b.node.oddity()
	defer func() { w.odd = w.odd || n.oddity() != was }()
	n.why, n.hides = "", false
	if slices.ContainsFunc(w.excluded, func(x excluded) bool { return x.is(n.path, id) }) {
		w.drop(n)
		n.hides = true
		return nil
	}
	below := spot{path: n.path, rules: s.rules, depth: s.depth + 1, only: s.only}
	held := n.sub.holds()
	if !s.only && w.ignores(s.rules, n) {
		n.why, n.hides = journal.LeftIgnoredFolder, true
		if below.only = true; !held && !w.holdsTracked(n.path) {
			w.closed(n, e)
			return nil
		}
	}
	if w.watch != nil && !w.trusted.keeps(id) {
		w.watch.fail() // who knows what is heard of another file system
	}
	err := errTooDeep
	if below.depth <= maxDepth {
		known := w.isKnown(n.sub, e, id, below.only, s.rules)
		if below.dir, err = s.dir.open(n.path[skip:], known); err == nil {
			defer below.dir.close()
			if !known {
				err = w.reread(&below, n, in, e)
			}
		}
	}
	switch {
	case isGone(err): // the next look sees what is there instead
		w.drop(n)
		n.path = ""
		return nil
	case isShort(err):
		return fmt.Errorf("list %q: %w", n.path, err)
	case err != nil:
		w.dropBelow(n)
		w.add(n, e)
		n.why, n.hides = journal.LeftUnreadable, true
		return nil
	}
	if n.sub.nested && !s.only {
		if n.why == "" {
			n.why, n.hides = journal.LeftNested, true
		}
		if !held && !w.holdsTracked(n.path) {
			w.closed(n, e)
			return nil
		}
	}
	w.add(n, e)
	return w.folder(below, n.sub)
}

// reread reads the names in a folder that is entered.
func (w *walk) reread(s *spot, n *node, in *dir, e Entry) error {
	sub, err := w.read(s.dir, n.sub, in, *s, e)
	if err == nil {
		n.sub = sub
	}
	return err
}

// errTooDeep is why a folder is not entered.
var errTooDeep = errors.New("too many folders in each other")

// closed leaves out what is below a folder, and the folder too unless it is tracked itself.
func (w *walk) closed(n *node, e Entry) {
	if w.isTracked(n.path) || n.file() {
		w.dropBelow(n)
		w.add(n, e)
		return
	}
	was := *n
	w.drop(n)
	n.Entry, n.why, n.hides, n.asked, n.ignored = e, was.why, was.hides, was.asked, was.ignored
}

// ignores says whether rules leave a folder out.
func (w *walk) ignores(rules *ignore.Rules, n *node) bool {
	if rules == nil {
		return false
	}
	if n.asked != rules {
		n.asked, n.ignored = rules, rules.LeavesOut(n.path, true)
	}
	return n.ignored
}

func (w *walk) isTracked(path string) bool { return w.o.Tracked != nil && w.o.Tracked.Has(path) }

// holdsTracked says whether a tracked path lies below a folder.
func (w *walk) holdsTracked(dir string) bool { return w.o.Tracked != nil && w.o.Tracked.Below(dir) }
