package scan

import (
	"slices"

	"agent/tools/ignore"
)

// heard is what was heard of a folder since it was looked at.
type heard struct {
	all   bool     // anything in it may have changed
	below bool     // something was heard of a folder below it
	names []string // these may have
}

// maxHeard is how many names of one folder are remembered: of more all are looked at.
const maxHeard = 16

func (h *heard) of(name string) bool { return h.all || slices.Contains(h.names, name) }

// touch notes that something changed in a folder, at a name; "" is at any.
func (d *dir) touch(name string) {
	switch {
	case name == "" || len(d.heard.names) >= maxHeard:
		d.heard.all = true
	case !d.heard.of(name):
		d.heard.names = append(d.heard.names, name)
	}
	for at := d.above; at != nil && !at.heard.below; at = at.above {
		at.heard.below = true
	}
}

// heardOf says whether a name in the folder has to be looked at: something was heard of it, or of
// what is below it, it is new, or other rules hold there than before.
func (d *dir) heardOf(n *node, skip int, rules *ignore.Rules) bool {
	if d.heard.all || !n.listed && !n.hides || len(d.heard.names) > 0 && d.heard.of(n.path[skip:]) {
		return true
	}
	return n.asked != nil && n.asked != rules || n.sub != nil && (n.sub.around != rules || n.sub.heard.all || n.sub.heard.below || len(n.sub.heard.names) > 0)
}

// Watching says whether the next listing looks only at what it hears of.
func (t *Tree) Watching() bool { return t.watch != nil && t.top != nil }

// Close ends the watch. The tree may be listed after it.
func (t *Tree) Close() {
	t.watch.close()
	t.watch = nil
}
