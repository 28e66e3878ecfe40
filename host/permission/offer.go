package permission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent/recovery/journal"
)

// Edits are the tools that change files in the workspace, as one rule names them.
const Edits = "{write_file,edit_file,apply_patch}"

// Offers are the answers to a question about the call that hold from then on, the narrowest first:
// exactly this, all edits or all commands that the system keeps to the workspace, the same for the
// rest of the run, and never this. Where rules cannot say it, it is not offered.
func (p Policy) Offers(q Request) []journal.Offer {
	always, run := p.Always(q, false), p.Always(q, true)
	edits, writes := p.edits(q), p.writes(q)
	for _, wider := range [][]Rule{edits, writes} {
		if wider != nil {
			run = wider
		}
	}

	var out []journal.Offer
	offer := func(answer, says string, rules []Rule) {
		if len(rules) > 0 {
			out = append(out, journal.Offer{Answer: answer, Says: says + Short(rules), Rules: TOML(rules)})
		}
	}
	offer(journal.AnswerAlways, "runs it, and from now on here: ", always)
	offer(journal.AnswerWrite, "runs it, and from now on here: ", writes)
	offer(journal.AnswerRun, "runs it, and until this run ends: ", run)
	offer(journal.AnswerEdits, "runs it, and from now on here: ", edits)
	offer(journal.AnswerNever, "does not run it, and never here: ", p.Never(q))
	return out
}

// writes makes the rule that allows every command with access write, to which the system keeps it;
// nil where the call is none.
func (p Policy) writes(q Request) []Rule {
	if q.Tool != "shell" || q.Folder == "" || callOf(q).needs() != "write" {
		return nil
	}
	return p.needed([]Rule{{Decision: journal.DecisionAllow, Tool: "shell", Access: "write", Folder: q.Folder}}, q)
}

// edits makes the rule that allows every edit that stays in the workspace, and is of no file that
// other programs obey; nil where the call is none.
func (p Policy) edits(q Request) []Rule {
	r := Rule{Decision: journal.DecisionAllow, Tool: Edits, Access: "write", Folder: q.Folder}
	if q.Folder == "" || !r.Named(q.Tool) {
		return nil
	}
	return p.needed([]Rule{r}, q)
}

// needed leaves out of the rules what others cover; nil where they do not allow the call.
func (p Policy) needed(rules []Rule, q Request) []Rule {
	if !p.With(rules...).allows(q) {
		return nil
	}
	for i := len(rules) - 1; i >= 0; i-- {
		less := slices.Delete(slices.Clone(rules), i, i+1)
		if p.With(less...).allows(q) {
			rules = less
		}
	}
	return rules
}

// allows reports whether the call may do all that it asks for.
func (p Policy) allows(q Request) bool {
	v := p.Decide(q)
	return v.Decision == journal.DecisionAllow && v.Access == ""
}

// Short says what rules are about, in one line, without the folder in which they hold.
func Short(rules []Rule) string {
	var all []string
	for _, r := range rules {
		text := r.text()
		switch {
		case r.Tool == Edits && r.Path == "":
			text = "all edits in this folder"
		case r.Tool == "shell" && r.broad() && r.Command == "" && r.Access == "write":
			text = "every command with access write, kept to this folder"
		case r.Access != "" && r.Access != "full":
			text += " (access " + r.Access + ")"
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// Read reads a rule in one line: a tool's name, a tool's name with what it is about in parentheses
// (a command, a path, or a host with a method before it or without), edits, or else what shell
// runs: a command that ends in *, a script where it is to be allowed, a command elsewhere.
func Read(d journal.Decision, text string) (Rule, error) {
	text = strings.TrimSpace(text)
	tool, about, given := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	given = given && strings.HasSuffix(text, ")") && !strings.ContainsAny(tool, " \t")
	r := Rule{Decision: d, Tool: text}
	switch {
	case text == "":
		return r, errors.New("it is empty")
	case text == "edits":
		r.Tool = Edits
		if d == journal.DecisionAllow {
			r.Access = "write"
		}
	case !strings.ContainsAny(text, " \t(") && r.Check() == nil && (slices.Contains(Tools(), text) || strings.HasPrefix(text, "mcp__")):
	case given:
		r = readAbout(d, tool, strings.TrimSpace(about))
		if strings.TrimSpace(about) == "" {
			return r, fmt.Errorf("nothing stands in the parentheses; without them %s is every call of it", tool)
		}
	default:
		r = readCommand(d, text)
	}
	return r, r.Check()
}

// readAbout makes a rule of a tool's name and what stands in parentheses behind it.
func readAbout(d journal.Decision, tool, about string) Rule {
	switch tool {
	case "shell":
		return readCommand(d, about)
	case "fetch":
		r := Rule{Decision: d, Tool: tool, Host: about}
		if words := strings.Fields(about); len(words) > 1 {
			r.Method, r.Host = words[0], strings.Join(words[1:], " ")
		}
		return r
	}
	return Rule{Decision: d, Tool: tool, Path: about}
}

// readCommand makes a rule about what shell runs.
func readCommand(d journal.Decision, text string) Rule {
	r := Rule{Decision: d, Tool: "shell", Command: text}
	if d == journal.DecisionAllow && (!r.broad() || text == "*") {
		return Rule{Decision: d, Tool: "shell", Text: text}
	}
	return r
}

// ReadFull reads, in one line, a rule that gives full powers to what nobody has seen.
func ReadFull(text string) (Rule, error) {
	r, err := Read(journal.DecisionAllow, text)
	switch {
	case err != nil:
		return r, err
	case r.Tool != "shell" || !r.broad():
		return r, fmt.Errorf("--allow %q grants that; --allow-full is for x * and shell", text)
	}
	r.Full = true
	return r, r.Check()
}
