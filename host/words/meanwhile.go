package words

import (
	"fmt"
	"strings"

	"agent/recovery/journal"
)

// mostNamed is how many files, or commits, of a call of unknown outcome are named.
const mostNamed = 20

// Meanwhile names the files and commits that facts say are of a call whose outcome is unknown, a
// line for each kind, each with a line break before it.
func Meanwhile(facts []journal.Body) string {
	var files, made []string
	for _, b := range facts {
		switch b := b.(type) {
		case journal.FilesChanged:
			for _, c := range b.Changes {
				if c.Proof.Ours() {
					files = append(files, c.Path)
				}
			}
		case journal.CommitSeen:
			made = append(made, fmt.Sprintf("%.12s %q", b.Commit, b.Subject))
		}
	}
	return meanwhile("these files changed", files) + meanwhile("these commits were made", made)
}

func meanwhile(what string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	more := ""
	if n := len(names) - mostNamed; n > 0 {
		names, more = names[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("\nWhile it was under way, %s: %s%s", what, strings.Join(names, " "), more)
}
