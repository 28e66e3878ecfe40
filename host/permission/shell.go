package permission

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/recovery/journal"
	"agent/tools/shelltext"
)

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

// allowed says by which rules the command may do what it asks for. Where it may not, it says why.
func (c shellCall) allowed(rules []Rule) (string, bool) {
	var able, others []Rule
	for _, r := range rules {
		if rank(r.grants()) >= rank(c.needs()) {
			able = append(able, r)
		} else {
			others = append(others, r)
		}
	}

	if by, _ := c.covering(able, c.needs()); by != nil {
		return saidBy(by), true
	}
	for _, r := range others {
		if by, _ := c.covering([]Rule{r}, r.grants()); by == nil {
			continue
		}
		if c.asked == "full" {
			return fmt.Sprintf("the %s grants access %s at most", r.said(), r.grants()), false
		}
		return fmt.Sprintf("the %s grants access %s, to which nothing keeps a command here", r.said(), r.grants()), false
	}

	switch _, first := c.covering(able, c.needs()); {
	case c.reading.Normal == nil:
		return "no rule can name it: " + c.reading.Why, false
	case !slices.ContainsFunc(rules, Rule.Commands): // a rule about a whole script covers no part of one
		if len(rules) > 0 {
			return "no allow rule covers: " + shortened(c.reading.Normal.Text(), 60), false
		}
	default:
		return "no allow rule covers: " + shortened(first, 60), false
	}
	return "", false
}

// lowered names the rules about commands that let a command run with access write which asks for
// all, where the system keeps it to that; "" where there are none.
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

// beyondWords reports whether a command with full powers does more than its words say: in a
// pipeline it is fed by others, or feeds them, and behind other commands a relative name may be
// that of another program.
func beyondWords(program string, place, members int) bool {
	return members > 1 || place > 0 && strings.Contains(program, "/") && !path.IsAbs(program)
}
