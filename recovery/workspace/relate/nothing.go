package relate

import "slices"

// Nothing says that no run has a share in a commit, whatever it stands on and whatever ranges of
// commits there are, so that nobody has to find these: no call was under way and no line of it is a
// run's, and no linked commit is the commit, has its patch, or has a share in a path that it
// changes.
func Nothing(c Commit, k Known) bool {
	if len(c.During) > 0 {
		return false
	}
	here := make(map[string]bool, len(c.Changes))
	for _, ch := range c.Changes {
		here[ch.Path] = true
	}
	for _, parts := range c.Lines {
		if len(parts) > 0 {
			return false
		}
	}
	touches := func(s Share) bool {
		return len(s.Paths) == 0 || slices.ContainsFunc(s.Paths, func(p string) bool { return here[p] })
	}
	return !slices.ContainsFunc(k.Linked, func(l Linked) bool {
		return l.ID == c.ID || c.Patch != "" && l.Patch == c.Patch || slices.ContainsFunc(l.Shares, touches)
	})
}
