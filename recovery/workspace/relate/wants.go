package relate

import "slices"

// Want is a path in which lines of a linked commit may be in another, though the blobs differ.
type Want struct {
	Linked string // id of the linked commit
	Path   string
	// Before and After are the blobs of the linked commit, ToBefore and ToAfter those of the other.
	// The lines that the first change adds and the second one adds too are to be counted: after a
	// replay of Before and After, those that After brings to the second (origin.History.Brought).
	Before, After     string
	ToBefore, ToAfter string
}

// Wants lists where the contents of files are to be compared line by line before [Relate] is asked
// for good, in [Commit.Held]. There are none for most commits: only a linked
// commit that the message, the identity or an amend selects is looked into, or one whose run has
// lines in a commit made by hand.
func Wants(c Commit, k Known) []Want {
	m := newMatch(c, k)
	if len(c.Parents) > 1 || m.Reverts {
		return nil
	}
	var out []Want
	for i, l := range k.Linked {
		if !m.near(i) {
			continue
		}
		meant := m.selected[i] || l.ID == c.Of
		for _, ch := range l.Changes {
			to, here := m.changes[ch.Path]
			if !here || to.After == ch.After || to.After == "" || ch.After == "" || !slices.Contains(matter(l), ch.Path) {
				continue
			}
			if meant || m.byHand() && sharesAny(l, c.Lines[ch.Path]) {
				out = append(out, Want{l.ID, ch.Path, ch.Before, ch.After, to.Before, to.After})
			}
		}
	}
	return out
}
