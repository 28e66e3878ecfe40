package permission

import (
	"cmp"
	"fmt"
	"strings"

	"agent/recovery/journal"
	"agent/tools/shelltext"
)

// CutDown reports whether an allow rule grants access write that, as it is written, once granted
// everything: it covers what nobody has seen, and has no access of its own.
func (r Rule) CutDown() bool {
	return r.allowsShell() && r.broad() && !r.Full && (r.Access == "" || r.Access == "full")
}

// maxCutDown is how many rules are named one by one.
const maxCutDown = 3

// CutDown names, a line each, the rules that grant less than they once did, and how to write what
// was meant. Those without a place are of the command line.
func CutDown(rules []Rule) []string {
	var lines []string
	elsewhere := "agent help permissions"
	for _, r := range rules {
		switch {
		case !r.CutDown():
		case r.Where == "":
			lines = append(lines, fmt.Sprintf("rule cut down: --allow %s grants write; full powers: --allow-full %[1]s", r.Subject()))
		default:
			lines = append(lines, fmt.Sprintf("rule cut down: %s grants write; full powers: full = true at %s", r.Subject(), r.Where))
			elsewhere = "agent doctor"
		}
	}

	if more := len(lines) - maxCutDown; more > 0 {
		lines = append(lines[:maxCutDown], fmt.Sprintf("and %d more: %s", more, elsewhere))
	}
	return lines
}

// FullPowers names, in one line, what rules give full powers to without asking; nil for nothing.
func FullPowers(rules []Rule) []string {
	var names []string
	for _, r := range rules {
		if r.Full {
			names = append(names, cmp.Or(r.Command, r.Tool))
		}
	}
	if names == nil {
		return nil
	}
	return []string{"full powers without asking: " + strings.Join(names, ", ")}
}

// OnlyAlone reports whether an allow rule grants everything to one command as it is written, which
// holds in no pipeline.
func (r Rule) OnlyAlone() bool {
	return r.allowsShell() && r.Command != "" && !r.broad() && r.grants() == "full"
}

// Commands reports whether it is an allow rule about commands. None covers a script in which
// something is left to the shell.
func (r Rule) Commands() bool { return r.allowsShell() && r.Command != "" }

func (r Rule) allowsShell() bool { return r.Decision == journal.DecisionAllow && r.Tool == "shell" }

// Subject is what a rule about shell covers, quoted as a shell takes it: a text, a command, or
// shell.
func (r Rule) Subject() string {
	about := cmp.Or(r.Text, r.Command, r.Tool)
	if strings.ContainsAny(about, "$`\\\"!\n\t") {
		return shelltext.Quote(about)
	}
	return `"` + about + `"`
}
