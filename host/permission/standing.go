package permission

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"

	"agent/recovery/journal"
	"agent/tools/shelltext"
)

// maxStanding bounds the rules that an answer may write: what a person cannot take in at a glance
// is not offered.
const maxStanding = 8

// Always makes the rules that allow the same call in its workspace from now on; nil where they
// cannot say exactly that: where an ask rule, a deny rule or the mode would stand against them, or
// the call cannot be expressed. The numbers in a command may be others, but where exact is set.
func (p Policy) Always(q Request, exact bool) []Rule {
	rules := standing(journal.DecisionAllow, q, exact)
	if !sound(rules) || q.Folder == "" {
		return nil
	}
	return p.needed(rules, q)
}

// Never makes the rules that deny the same call in its workspace from now on; nil where one rule
// cannot say it.
func (p Policy) Never(q Request) []Rule {
	rules := standing(journal.DecisionDeny, q, true)
	if !sound(rules) || q.Folder == "" || q.Tool == "shell" && len(rules) != 1 {
		return nil // of several commands it is not known which is meant
	}
	if New(rules...).Decide(q).Decision != journal.DecisionDeny {
		return nil
	}
	return rules
}

func sound(rules []Rule) bool {
	return len(rules) > 0 && len(rules) <= maxStanding && !slices.ContainsFunc(rules, func(r Rule) bool {
		return r.Check() != nil || len(r.Command)+len(r.Path) > maxText
	})
}

// standing makes the rules about this call.
func standing(d journal.Decision, q Request, exact bool) []Rule {
	base := Rule{Decision: d, Tool: q.Tool, Folder: q.Folder}
	switch {
	case q.Tool == "shell" && d == journal.DecisionAllow:
		return allowingShell(base, q, exact)
	case q.Tool == "shell":
		return standingShell(base, q)
	case q.Tool == "fetch":
		host, method := target(q)
		name, port, err := net.SplitHostPort(host)
		if err != nil || strings.Contains(name, ":") {
			return nil
		}
		if base.Host, base.Method = name, method; port != "80" && port != "443" {
			base.Host = host
		}
		return []Rule{base}
	case slices.Contains(fileTools, q.Tool):
		var rules []Rule
		for _, p := range q.Paths {
			r := base
			r.Path = escapeGlob(p)
			if !slices.Contains(rules, r) {
				rules = append(rules, r)
			}
		}
		return rules
	}
	return []Rule{base}
}

// allowingShell makes the rule that allows a script as it is, with the access that it requests.
func allowingShell(base Rule, q Request, exact bool) []Rule {
	c := callOf(q)
	if c.reading.Normal == nil {
		return nil
	}
	base.Text, base.Access = textOf(*c.reading.Normal, !exact), c.needs()
	return []Rule{base}
}

// textOf is the text of a rule that names a script, with number for what is one more name of
// something, such as that of a pull request: not for a small set of words that a program gives a
// meaning, such as an option's.
func textOf(s shelltext.Script, numbers bool) string {
	if !numbers {
		return s.Text()
	}
	return s.TextWith(func(c shelltext.Simple, i int) string {
		if i >= 2 && digits(c.Words[i]) && !strings.HasPrefix(c.Words[i-1], "-") {
			return number
		}
		return shelltext.Quote(c.Words[i])
	})
}

// standingShell makes a rule for each command of a script, but for one that is too long for anybody
// to take in.
func standingShell(base Rule, q Request) []Rule {
	var rules []Rule
	for _, c := range callOf(q).reading.Commands {
		words := c.Literals()
		if words == nil {
			return nil
		}
		r := base
		r.Command = quoteWords(words)
		if !slices.Contains(rules, r) {
			rules = append(rules, r)
		}
		if len(rules) > maxStanding {
			return nil
		}
	}
	return rules
}

// quoteWords writes words as a rule's command.
func quoteWords(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = shelltext.Quote(w)
	}
	return strings.Join(out, " ")
}

// escapeGlob makes a glob that matches the one path.
func escapeGlob(p string) string {
	var b strings.Builder
	for _, c := range p {
		if strings.ContainsRune(`*?[]{}\`, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// TOML writes rules as they stand in a configuration.
func TOML(rules []Rule) string {
	var b strings.Builder
	for i, r := range rules {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "[[%s]]\n", r.Decision)
		for _, k := range []struct{ name, value string }{
			{"tool", r.Tool}, {"text", r.Text}, {"command", r.Command}, {"access", r.Access}, {"path", r.Path}, {"host", r.Host},
			{"method", r.Method}, {"folder", r.Folder},
		} {
			if k.value != "" {
				fmt.Fprintf(&b, "%s = %s\n", k.name, quoteTOML(k.value))
			}
		}
		if r.Full {
			b.WriteString("full = true\n")
		}
	}
	return b.String()
}

// quoteTOML writes a basic string: JSON's escapes are a part of TOML's.
func quoteTOML(s string) string {
	if s == "" || strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' }) < 0 {
		return `"` + s + `"`
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return strings.ReplaceAll(strings.TrimRight(b.String(), "\n"), "\x7f", `\u007f`)
}
