package permission

import (
	"encoding/json"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"

	"agent/recovery/journal"
	"agent/tools/shelltext"
)

// coverage is what allow rules make of a call.
type coverage struct {
	ok     bool
	access string // of a command that requested more; "" for what it requested
	why    string // by which rules; of a script that they do not cover, why
}

// allowed reports whether allow rules cover all of the call.
func allowed(rules []Rule, q Request) coverage {
	rules = slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool {
		return r.Decision != journal.DecisionAllow || q.Tool != "shell" && r.Access != "" && reaches(q) > rank(r.Access)
	})
	switch {
	case q.Tool == "shell":
		return callOf(q).allowed(rules)
	case len(rules) == 0:
		return coverage{}
	case q.Tool == "fetch":
		host, method := target(q)
		// What the tool says it will reach and what stands in the arguments must agree.
		if h, _, err := net.SplitHostPort(host); err != nil || q.Outward != "" && !strings.Contains(strings.ToLower(q.Outward), h) {
			host = ""
		}
		return first(rules, func(r Rule) bool {
			return (r.Host == "" || hostMatches(r.Host, host, false)) && (r.Method == "" || r.Method == method)
		})
	case !slices.Contains(fileTools, q.Tool):
		return first(rules, func(r Rule) bool { return r.Path == "" })
	}
	var by []Rule
	for _, p := range q.Paths {
		i := slices.IndexFunc(rules, func(r Rule) bool {
			if beside(p) { // only what is said of no folder and no path is about it too
				return r.Path == "" && r.Folder == ""
			}
			return r.Path == "" || pathMatches(r.Path, p)
		})
		if i < 0 {
			return coverage{}
		}
		by = append(by, rules[i])
	}
	if len(by) == 0 {
		return first(rules, func(r Rule) bool { return r.Path == "" })
	}
	return coverage{ok: true, why: saidBy(by)}
}

func first(rules []Rule, ok func(Rule) bool) coverage {
	i := slices.IndexFunc(rules, ok)
	if i < 0 {
		return coverage{}
	}
	return coverage{ok: true, why: rules[i].said()}
}

// saidBy names each rule once.
func saidBy(rules []Rule) string {
	var said []string
	for _, r := range rules {
		if s := r.said(); !slices.Contains(said, s) {
			said = append(said, s)
		}
	}
	return strings.Join(said, "; ")
}

// shellCall is a call of shell as allow rules see it.
type shellCall struct {
	q       Request
	asked   string // its access
	reading shelltext.Reading
}

func callOf(q Request) shellCall {
	a := readShell(q.Args)
	asked := Accesses()[rank(a.Access)]
	return shellCall{q, asked, shelltext.Read(a.Command, a.Shell)}
}

// SameScript reports whether the arguments of two shell calls have the same script, however it is
// written.
func SameScript(a, b json.RawMessage) bool {
	one, other := readShell(a), readShell(b)
	if one.Command == other.Command && one.Shell == other.Shell {
		return true
	}
	x, y := shelltext.Read(one.Command, one.Shell).Normal, shelltext.Read(other.Command, other.Shell).Normal
	return x != nil && y != nil && x.Print() == y.Print()
}

// needs is the access that a rule has to grant: all of it where nothing keeps the command to less.
func (c shellCall) needs() string {
	if c.q.Effect == journal.EffectWriteExternal {
		return "full"
	}
	return c.asked
}

// allowed reports whether the command may have the access that it requests, or less.
func (c shellCall) allowed(rules []Rule) coverage {
	var able, others []Rule
	for _, r := range rules {
		if rank(r.grants()) >= rank(c.needs()) {
			able = append(able, r)
		} else {
			others = append(others, r)
		}
	}

	by, uncovered := c.covering(able, c.needs())
	if by != nil {
		return coverage{ok: true, why: saidBy(by)}
	}
	if less := c.lowered(rules); less != "" {
		return coverage{ok: true, access: "write", why: less}
	}
	return coverage{why: c.reason(rules, others, uncovered)}
}

// reason returns why the rules do not allow the command, whose first part that they do not cover is
// given. Others are the rules that grant less than it requests.
func (c shellCall) reason(rules, others []Rule, uncovered string) string {
	for _, r := range others {
		switch by, _ := c.covering([]Rule{r}, r.grants()); {
		case by == nil:
		case c.asked == "full":
			return fmt.Sprintf("the %s grants access %s at most", r.said(), r.grants())
		default:
			return fmt.Sprintf("the %s grants access %s, to which nothing keeps a command here", r.said(), r.grants())
		}
	}

	switch {
	case c.reading.Normal == nil:
		return "no rule can name it: " + c.reading.Why
	case len(rules) == 0:
		return ""
	case !slices.ContainsFunc(rules, Rule.Commands): // a rule about a script covers no part of another
		uncovered = c.reading.Normal.Text()
	}
	return "no allow rule covers: " + shortened(uncovered, 60)
}

// lowered names the rules about commands that let a command run with access write which requests
// full access, where the system confines it to that; "" where there are none.
func (c shellCall) lowered(rules []Rule) string {
	if c.asked != "full" || !c.q.Bounded {
		return ""
	}
	by, _ := c.covering(slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool {
		return r.Decision != journal.DecisionAllow || r.Command == "" || rank(r.grants()) < rank("write")
	}), "write")

	var names []string // of those that grant no more
	for _, r := range by {
		if name := fmt.Sprintf("%q", shortened(r.Command, 60)); r.grants() == "write" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "the rule " + names[0] + " grants access write and no more"
	}
	return "the rules " + strings.Join(names, ", ") + " grant access write and no more"
}

// covering are the rules that together cover the script, which is to have the access; nil where
// they do not, with the first command that none of them covers.
func (c shellCall) covering(rules []Rule, access string) (by []Rule, uncovered string) {
	patterns := make([]pattern, len(rules))
	for i, r := range rules {
		switch {
		case r.Text != "":
			if p, err := parseText(r.Text); err == nil && c.reading.Normal != nil && p.covers(*c.reading.Normal) {
				return rules[i : i+1], ""
			}
		case r.Command == "":
			return rules[i : i+1], ""
		default:
			// Check refuses what cannot be read; a pattern without words covers nothing.
			patterns[i], _ = parsePattern(r.Command)
		}
	}
	if c.reading.Normal == nil {
		return nil, ""
	}

	for n, p := range *c.reading.Normal {
		for _, command := range p.Commands {
			alone := access == "full" && beyondWords(command.Words[0], n, len(p.Commands))
			i := slices.IndexFunc(patterns, func(p pattern) bool {
				return len(p.words) > 0 && p.covers(command.Words) && (p.more || !alone)
			})
			if i < 0 {
				return nil, shelltext.Script{{Commands: []shelltext.Simple{command}}}.Text()
			}
			by = append(by, rules[i])
		}
	}
	return by, ""
}

// beyondWords reports whether a command with full powers may do more than its words show: in a
// pipeline it is fed by others, or feeds them, and behind other commands a relative name may be
// that of another program.
func beyondWords(program string, place, members int) bool {
	return members > 1 || place > 0 && strings.Contains(program, "/") && !path.IsAbs(program)
}
