package permission

import (
	"cmp"
	"strings"

	"agent/recovery/journal"
	"agent/tools/shelltext"
)

// CutDown reports whether an allow rule grants access write that, as it is written, once granted
// everything: it covers what nobody has seen, and does not say what that may do.
func (r Rule) CutDown() bool {
	return r.allowsShell() && r.broad() && !r.Full && (r.Access == "" || r.Access == "full")
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
