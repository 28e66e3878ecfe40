package relate

import (
	"slices"
	"strings"
)

// match is a commit beside what is known.
type match struct {
	Commit
	known      Known
	changes    map[string]Change
	behind     map[string]bool
	selected   []bool // of each linked commit: the message or its identity says that it is meant
	onWay      map[edge]bool
	reached    map[string]bool // paths whose change leads over linked ones
	lines      map[[2]string]int
	rangeProof Proof
}

// edge is a change of one path.
type edge struct{ path, before, after string }

func newMatch(c Commit, k Known) *match {
	m := &match{Commit: c, known: k, changes: map[string]Change{}, behind: map[string]bool{}, lines: map[[2]string]int{}}
	for _, ch := range c.Changes {
		m.changes[ch.Path] = ch
	}
	for _, id := range c.Behind {
		m.behind[id] = true
	}
	for _, h := range c.Held {
		m.lines[[2]string{h.Linked, h.Path}] += h.Lines
	}
	m.selected = make([]bool, len(k.Linked))
	for i, l := range k.Linked {
		m.selected[i] = m.ours(i) && (has(c.Trailers, l.Checkpoint) || has(c.Mentions, l.Checkpoint) ||
			slices.ContainsFunc(c.ChangeIDs, func(id string) bool { return has(l.ChangeIDs, id) }) ||
			c.Time != 0 && c.Subject != "" && c.Identity == l.Identity)
	}
	m.trace()
	return m
}

// ours says whether a linked commit is of the commit's repository.
func (m *match) ours(i int) bool { return m.known.Linked[i].Repo == m.Repo }

// near says whether the commit may have been made from a linked one: it is of its repository, and
// the commit does not stand on it.
func (m *match) near(i int) bool { return m.ours(i) && !m.behind[m.known.Linked[i].ID] }

func (m *match) byID(id string) (int, bool) {
	i := slices.IndexFunc(m.known.Linked, func(l Linked) bool { return id != "" && l.ID == id && l.Repo == m.Repo })
	return i, i >= 0
}

// proved lists the paths of a linked commit of which there is content here. In a revert none is:
// it has the blobs of before.
func (m *match) proved(i int) []string {
	l := m.known.Linked[i]
	if !m.near(i) || m.Reverts || strings.HasPrefix(m.Verb, "revert") {
		return nil
	}
	var out []string
	for _, ch := range l.Changes {
		c, here := m.changes[ch.Path]
		if !here || !slices.Contains(matter(l), ch.Path) {
			continue
		}
		equal := c.After == ch.After && (!trivial(c.After) || c.Before == ch.Before)
		if equal || m.onWay[edge{ch.Path, ch.Before, ch.After}] || m.lines[[2]string{l.ID, ch.Path}] > 0 {
			out = add(out, ch.Path)
		}
	}
	return out
}

// remaining lists the paths of a linked commit that the commit changes too.
func (m *match) remaining(i int) []string {
	var out []string
	for _, p := range matter(m.known.Linked[i]) {
		if _, here := m.changes[p]; here {
			out = add(out, p)
		}
	}
	return out
}

// trivial says whether a content is what any file may be: nothing, or empty.
func trivial(blob string) bool {
	const sha1, sha256 = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
	return blob == "" || strings.HasSuffix(blob, sha1) || strings.HasSuffix(blob, sha256)
}

// matter lists the paths of a linked commit that are a run's; all, where none is.
func matter(l Linked) []string {
	var out []string
	for _, s := range l.Shares {
		for _, p := range s.Paths {
			out = add(out, p)
		}
	}
	if len(out) == 0 {
		for _, c := range l.Changes {
			out = add(out, c.Path)
		}
	}
	return out
}

// trace follows each change of the commit over changes of linked ones, on the shortest way: a
// longer one leads over what was taken back again.
func (m *match) trace() {
	m.onWay, m.reached = map[edge]bool{}, map[string]bool{}
	steps := map[string][]edge{}
	for i, l := range m.known.Linked {
		if !m.near(i) {
			continue
		}
		for _, c := range l.Changes {
			if _, here := m.changes[c.Path]; here {
				steps[c.Path] = append(steps[c.Path], edge{c.Path, c.Before, c.After})
			}
		}
	}
	for path, all := range steps {
		c := m.changes[path]
		from := distances(all, c.Before, func(e edge) (string, string) { return e.before, e.after })
		to := distances(all, c.After, func(e edge) (string, string) { return e.after, e.before })
		whole, ok := from[c.After]
		if !ok {
			continue
		}
		m.reached[path] = true
		for _, e := range all {
			a, there := from[e.before]
			b, back := to[e.after]
			if there && back && a+1+b == whole {
				m.onWay[e] = true
			}
		}
	}
}

// distances is over how many changes each content is reached from one.
func distances(all []edge, start string, ends func(edge) (string, string)) map[string]int {
	next := map[string][]string{}
	for _, e := range all {
		a, b := ends(e)
		next[a] = append(next[a], b)
	}
	out := map[string]int{start: 0}
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		for _, b := range next[queue[0]] {
			if _, seen := out[b]; !seen {
				out[b] = out[queue[0]] + 1
				queue = append(queue, b)
			}
		}
	}
	return out
}

// traced lists the linked commits that the changes lead over, and says whether all changes do. Of
// several that did the same to a path, those count that the message selects, else the newest.
func (m *match) traced() (whole bool, all []int) {
	whole = len(m.Changes) > 0 && len(m.reached) == len(m.changes) && !m.applied()
	best := map[edge]int{}
	for i, l := range m.known.Linked {
		for _, c := range l.Changes {
			e := edge{c.Path, c.Before, c.After}
			if !m.near(i) || !m.onWay[e] {
				continue
			}
			if old, ok := best[e]; !ok || m.selected[i] || !m.selected[old] {
				best[e] = i
			}
		}
	}
	for _, i := range best {
		if !slices.Contains(all, i) {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	return whole, all
}

// whole is the linked commits all of whose work the changes lead over.
func (m *match) whole() map[int][]string {
	out := map[int][]string{}
	_, all := m.traced()
	for _, i := range all {
		l := m.known.Linked[i]
		on := func(c Change) bool { return !m.onWay[edge{c.Path, c.Before, c.After}] }
		if !slices.ContainsFunc(l.Changes, on) {
			if paths := m.proved(i); len(paths) > 0 {
				out[i] = paths
			}
		}
	}
	return out
}

// chosen is the linked commits that are meant and of which there is content, with its paths.
func (m *match) chosen(meant func(i int) bool) map[int][]string {
	out := map[int][]string{}
	for i := range m.known.Linked {
		if !meant(i) {
			continue
		}
		if paths := m.proved(i); len(paths) > 0 {
			out[i] = paths
		}
	}
	return out
}

func (m *match) join(to, more map[int][]string) {
	for i, paths := range more {
		to[i] = paths
	}
}

func has(list []string, s string) bool { return slices.Contains(list, s) }

// add puts a path into a sorted list, once.
func add(list []string, s string) []string {
	at, found := slices.BinarySearch(list, s)
	if found {
		return list
	}
	return slices.Insert(slices.Clone(list), at, s)
}
