package relate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"agent/recovery/journal"
)

// from is the verdict of a commit that was made from linked ones, of which these paths are in it.
// Of the commits of one checkpoint, which are one another's rewrites, that counts which has most.
func (m *match) from(chosen map[int][]string, proof Proof) Verdict {
	m.withSiblings(chosen)
	best := map[string]int{}
	for _, i := range slices.Sorted(maps.Keys(chosen)) {
		k := m.known.Linked[i].Checkpoint
		if old, ok := best[k]; !ok || len(chosen[i]) >= len(chosen[old]) {
			best[k] = i
		}
	}
	v := Verdict{Proof: proof}
	paths, in := map[string]bool{}, map[string]bool{}
	last, one := -1, true
	for _, i := range slices.Sorted(maps.Values(best)) {
		l := m.known.Linked[i]
		v.Also = append(v.Also, l.Checkpoint)
		v.Shares = joined(v.Shares, only(l.Shares, chosen[i]))
		for _, p := range matter(l) {
			paths[p] = true
			in[p] = in[p] || slices.Contains(chosen[i], p)
		}
		if last < 0 || m.known.Linked[last].ID != l.ID {
			one, last = last < 0, i
		}
	}
	if last < 0 {
		return v
	}
	maps.DeleteFunc(in, func(_ string, here bool) bool { return !here })
	v.Files = Files{In: len(in), Of: len(paths)}
	v.Checkpoint, v.Of = m.known.Linked[last].Checkpoint, m.known.Linked[last].ID
	if v.Relation = Squashed; one {
		v.Relation = m.byVerb(m.known.Linked[last])
	}
	v.Also = slices.DeleteFunc(v.Also, func(id string) bool { return id == v.Checkpoint })
	if len(v.Also) == 0 {
		v.Also = nil
	}
	return v
}

// withSiblings adds the further checkpoints of the commits that were chosen: of one that was
// squashed itself.
func (m *match) withSiblings(chosen map[int][]string) {
	for i, paths := range maps.Clone(chosen) {
		for j, l := range m.known.Linked {
			if _, have := chosen[j]; !have && m.ours(j) && l.ID == m.known.Linked[i].ID {
				chosen[j] = paths
			}
		}
	}
}

// byVerb is what git did to one linked commit, as far as its reflog says.
func (m *match) byVerb(l Linked) Relation {
	switch verb := m.Verb; {
	case strings.Contains(verb, "rebase"):
		return Rebased
	case m.applied() || verb == "am":
		return Picked
	case strings.HasPrefix(verb, "commit") || strings.Contains(verb, "filter"):
		return Rewritten
	case m.Patch == "" || m.Patch != l.Patch || m.Tree == l.Tree && m.Base == l.Base:
		return Rewritten // a rebase and a pick keep the patch, and change the trees
	case l.Replaced:
		return Rebased
	}
	return Picked
}

// only is what is left of shares in these paths. A share without paths is of the commit itself.
func only(shares []Share, paths []string) []Share {
	var out []Share
	for _, s := range shares {
		left := Share{Run: s.Run, Place: s.Place}
		for _, p := range s.Paths {
			if slices.Contains(paths, p) {
				left.Paths = append(left.Paths, p)
			}
		}
		if len(left.Paths) > 0 || len(s.Paths) == 0 {
			out = append(out, left)
		}
	}
	return out
}

// joined puts shares together, one a run, in the order of the runs' ids.
func joined(lists ...[]Share) []Share {
	of := map[string]Share{}
	for _, s := range slices.Concat(lists...) {
		all, ok := of[s.Run]
		if !ok || later(s.Place, all.Place) {
			all.Run, all.Place = s.Run, s.Place
		}
		for _, p := range s.Paths {
			all.Paths = add(all.Paths, p)
		}
		of[s.Run] = all
	}
	return slices.SortedFunc(maps.Values(of), func(a, b Share) int { return cmp.Compare(a.Run, b.Run) })
}

func later(a, b journal.Place) bool {
	return cmp.Or(cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Attempt, b.Attempt)) > 0
}

// parts is what runs have in the lines of the commit.
func (m *match) parts() []Share {
	var all []Share
	for _, c := range m.Changes {
		for _, p := range m.Lines[c.Path] {
			all = append(all, Share{p.Run, p.Place, []string{c.Path}})
		}
	}
	return joined(all)
}

// windows is the calls that may have made the commit without anything of theirs in it: those that
// run git, else all.
func (m *match) windows() []Share {
	var git, all []Share
	for _, w := range m.During {
		all = append(all, Share{Run: w.Run, Place: w.Place})
		if w.Git {
			git = append(git, Share{Run: w.Run, Place: w.Place})
		}
	}
	if len(git) > 0 {
		return joined(git)
	}
	return joined(all)
}

// sharesAny says whether a linked commit has a share of one of the runs.
func sharesAny(l Linked, parts []Part) bool {
	return slices.ContainsFunc(parts, func(p Part) bool {
		return slices.ContainsFunc(l.Shares, func(s Share) bool { return s.Run == p.Run })
	})
}

// minted is the id in the trailer that no commit has: a hook of ours may have minted it for this
// one. "" where there is none, or more than one.
func (m *match) minted() string {
	var out string
	for _, id := range m.Trailers {
		if m.isLinked(id) || has(m.known.Elsewhere, id) || id == out {
			continue
		}
		if out != "" {
			return ""
		}
		out = id
	}
	return out
}

func (m *match) isLinked(checkpoint string) bool {
	return slices.ContainsFunc(m.known.Linked, func(l Linked) bool { return l.Checkpoint == checkpoint })
}

// finish says what the message has of ids.
func (m *match) finish(v Verdict) Verdict {
	if v.New {
		v.Checkpoint = m.minted()
	}
	own := func(id string) bool { return id != "" && (id == v.Checkpoint || has(v.Also, id)) }
	if v.Trailer = TrailerNone; len(m.Trailers) > 0 {
		v.Trailer = TrailerForeign
	}
	if slices.ContainsFunc(m.Trailers, own) {
		v.Trailer = TrailerOurs
	}
	for _, id := range slices.Concat(m.Trailers, m.Mentions) {
		if m.isLinked(id) && !own(id) && !has(v.Claims, id) {
			v.Claims = append(v.Claims, id)
		}
	}
	return v
}
