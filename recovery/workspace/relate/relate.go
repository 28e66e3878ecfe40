package relate

import (
	"cmp"
	"strings"
)

// Relate decides what a commit has to do with runs.
func Relate(c Commit, k Known) Verdict {
	m := newMatch(c, k)
	for _, row := range []func(*match) (Verdict, bool){
		already, same, merged, madeInWindow, amended, byTrailer, byPatch, byRange, byPaths, bySelection, held, madeByPerson,
	} {
		if v, ok := row(m); ok {
			return m.finish(v)
		}
	}
	return m.finish(Verdict{Relation: None})
}

// already is a commit that is linked. Who found it may not have seen the work of all runs: a
// call that was under way had not been looked behind, or a run is one's own alone.
func already(m *match) (Verdict, bool) {
	i, ok := m.byID(m.ID)
	if !ok || m.known.Linked[i].Relation == "" {
		return Verdict{}, false
	}
	l := m.known.Linked[i]
	v := Verdict{Relation: l.Relation, Proof: ByBlobs, Checkpoint: l.Checkpoint, Of: l.Of, Shares: l.Shares}
	if len(m.During) > 0 {
		v.Proof = ByWindow
	}
	if l.Relation == Made || l.Relation == Amended {
		v.Shares = joined(v.Shares, m.parts())
	}
	return v, true
}

// same is a commit that is linked already, as a rule in another clone.
func same(m *match) (Verdict, bool) {
	for _, l := range m.known.Linked {
		if l.ID == m.ID {
			n := len(matter(l))
			return Verdict{Relation: Same, Proof: ByTree, Checkpoint: l.Checkpoint, Of: l.ID, Shares: l.Shares, Files: Files{n, n}}, true
		}
	}
	return Verdict{}, false
}

// merged is a commit with several parents: it has no change of its own (C6).
func merged(m *match) (Verdict, bool) { return Verdict{Relation: None}, len(m.Parents) > 1 }

// madeInWindow is a commit that git recorded while a call was under way (C1).
func madeInWindow(m *match) (Verdict, bool) {
	if len(m.During) == 0 || !m.commits() || m.Reverts || m.again() || m.foreign() {
		return Verdict{}, false
	}
	shares := m.parts()
	if len(shares) == 0 {
		if m.Blind {
			return Verdict{}, false
		}
		shares = m.windows()
	}
	return Verdict{Relation: Made, Proof: ByWindow, New: true, Shares: shares}, true
}

// commits says whether git commit made it, and not to end a merge, a pick or a rebase. Where no
// reflog says so, an id in the trailer that a hook may have minted has to.
func (m *match) commits() bool {
	if m.Blind {
		return m.minted() != ""
	}
	return m.Verb == "commit" || m.Verb == "commit (initial)"
}

// again says whether all that a commit has is in linked commits that have gone for it, or that its
// message names: a squash, or a reset and commit.
func (m *match) again() bool {
	replaced := func(i int) bool { return m.known.Linked[i].Replaced || m.selected[i] }
	for i, l := range m.known.Linked {
		if m.near(i) && m.Patch != "" && l.Patch == m.Patch && replaced(i) {
			return true
		}
	}
	if len(m.inRange()) > 0 {
		return true
	}
	whole, all := m.traced()
	for _, i := range all {
		whole = whole && replaced(i)
	}
	return whole
}

// foreign says whether it is known of all of it that it is no work of a run's.
func (m *match) foreign() bool {
	for _, w := range m.During {
		if w.Git {
			return false
		}
	}
	for _, c := range m.Changes {
		if parts, judged := m.Lines[c.Path]; !judged || len(parts) > 0 {
			return false
		}
	}
	return len(m.Changes) > 0
}

// amended is a commit that replaced a linked one, as git's own line says, and that still changes a
// file of it. Whether the lines are the same does not count: a formatter may have been over them.
func amended(m *match) (Verdict, bool) {
	i, ok := m.byID(m.Of)
	if !ok || !m.near(i) {
		return Verdict{}, false
	}
	paths := m.remaining(i)
	if len(paths) == 0 && len(matter(m.known.Linked[i])) > 0 {
		return Verdict{}, false
	}
	chosen := m.whole()
	chosen[i] = paths
	v := m.from(chosen, ByReflog)
	switch {
	case v.Relation == Squashed:
	case strings.Contains(m.Verb, "rebase"):
		v.Relation = Rebased
	default:
		v.Relation = Amended
	}
	if len(chosen) == 1 {
		v.Files.In = len(m.proved(i))
	}
	v.Shares = joined(v.Shares, m.parts())
	return v, true
}

// byTrailer is a commit whose trailer names a linked one of which it has content (C5).
func byTrailer(m *match) (Verdict, bool) {
	chosen := m.chosen(func(i int) bool { return has(m.Trailers, m.known.Linked[i].Checkpoint) })
	if len(chosen) == 0 {
		return Verdict{}, false
	}
	m.join(chosen, m.chosen(func(i int) bool { return has(m.Mentions, m.known.Linked[i].Checkpoint) }))
	m.join(chosen, m.whole())
	m.join(chosen, m.inRange())
	return m.from(chosen, ByTrailer), true
}

// byPatch is a commit with the patch of a linked one: of several that with the same trees, else
// that which its message selects, else the newest.
func byPatch(m *match) (Verdict, bool) {
	best := -1
	for i, l := range m.known.Linked {
		if m.Patch == "" || l.Patch != m.Patch || !m.ours(i) || !m.near(i) && !m.applied() {
			continue
		}
		if best < 0 || cmp.Or(m.compareTrees(i, best), moreOf(m.selected[i], m.selected[best])) >= 0 {
			best = i
		}
	}
	if best < 0 {
		return Verdict{}, false
	}
	return m.from(map[int][]string{best: matter(m.known.Linked[best])}, ByPatch), true
}

// compareTrees says which of two linked commits led from the same tree to the same tree as the
// commit.
func (m *match) compareTrees(i, j int) int {
	same := func(l Linked) bool { return m.Tree != "" && l.Tree == m.Tree && l.Base == m.Base }
	return moreOf(same(m.known.Linked[i]), same(m.known.Linked[j]))
}

func moreOf(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// applied says whether git applied a change that was there before: a pick, or a revert of a revert.
func (m *match) applied() bool {
	return m.Reverts || strings.HasPrefix(m.Verb, "revert") || strings.Contains(m.Verb, "cherry-pick")
}

// byRange is a commit that has as one what a range of commits did.
func byRange(m *match) (Verdict, bool) {
	chosen := m.inRange()
	if len(chosen) == 0 {
		return Verdict{}, false
	}
	return m.from(chosen, m.rangeProof), true
}

// inRange is what is linked in the first range that the commit is as one. A range of one commit is
// no squash.
func (m *match) inRange() map[int][]string {
	for _, r := range m.known.Ranges {
		patch := m.Patch != "" && r.Patch == m.Patch
		tree := m.Tree != "" && m.Tree != m.Base && r.Tree == m.Tree && r.Base == m.Base
		if r.Repo != m.Repo || len(r.Commits) < 2 || !patch && !tree {
			continue
		}
		chosen := map[int][]string{}
		for _, id := range r.Commits {
			if i, ok := m.byID(id); ok && m.near(i) {
				chosen[i] = m.remaining(i)
			}
		}
		if m.rangeProof = ByTree; patch {
			m.rangeProof = ByPatch
		}
		if len(chosen) > 0 {
			return chosen
		}
	}
	return nil
}

// byPaths is a commit each of whose changes leads over changes of linked ones.
func byPaths(m *match) (Verdict, bool) {
	whole, all := m.traced()
	if !whole {
		return Verdict{}, false
	}
	chosen, proof := map[int][]string{}, ByBlobs
	for _, i := range all {
		if paths := m.proved(i); len(paths) > 0 {
			chosen[i] = paths
		}
		if m.Tree != "" && m.known.Linked[i].Tree == m.Tree {
			proof = ByTree
		}
	}
	return m.from(chosen, proof), len(chosen) > 0
}

// bySelection is a commit that says in any way which linked one it was, and has content of it.
func bySelection(m *match) (Verdict, bool) {
	chosen := m.chosen(func(i int) bool { return m.selected[i] })
	if len(chosen) == 0 {
		return Verdict{}, false
	}
	m.join(chosen, m.whole())
	return m.from(chosen, ByBlobs), true
}

// held is a commit of a person in which all that is a run's is in linked commits elsewhere: a
// squash that kept no more than a title. It gets no new id (C6).
func held(m *match) (Verdict, bool) {
	if !m.byHand() {
		return Verdict{}, false
	}
	chosen, covered := map[int][]string{}, map[string]bool{}
	for i, l := range m.known.Linked {
		for _, p := range m.proved(i) {
			if sharesAny(l, m.Lines[p]) {
				chosen[i] = add(chosen[i], p)
				covered[p] = true
			}
		}
	}
	for path, parts := range m.Lines {
		if len(parts) > 0 && !covered[path] {
			return Verdict{}, false
		}
	}
	return m.from(chosen, ByBlobs), len(chosen) > 0
}

// madeByPerson is a commit outside of all calls with a line of a run's in it (C1, C8).
func madeByPerson(m *match) (Verdict, bool) {
	shares := m.parts()
	return Verdict{Relation: Made, Proof: ByBlobs, New: true, Shares: shares, Of: m.Of}, m.byHand() && len(shares) > 0
}

// byHand says whether what is in it was put together here, by git commit.
func (m *match) byHand() bool {
	return (m.commits() || m.Verb == "commit (amend)") && !m.Reverts
}
