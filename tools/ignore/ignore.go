// Package ignore knows what git leaves out: the rules of .gitignore, of info/exclude, and of the
// file of what a person ignores everywhere.
package ignore

import (
	"path"
	"regexp"
	"strings"
)

// Rules is what the .gitignore of one folder says, and below it what the folders around it say. Nil
// says nothing.
type Rules struct {
	around *Rules
	base   string // the folder in the workspace, with slashes; "" is the workspace
	prefix string // of a folder above the workspace: the way from it to the workspace
	text   string // what it says
	rules  []rule
}

// Same reports whether two say the same of every path.
func (g *Rules) Same(o *Rules) bool {
	for ; g != nil && o != nil; g, o = g.around, o.around {
		if g.base != o.base || g.prefix != o.prefix || g.text != o.text {
			return false
		}
	}
	return g == o
}

// rule is one line of a .gitignore.
type rule struct {
	negative bool // it takes back what a rule before it leaves out
	dirOnly  bool
	anywhere bool // it has no slash: it means a name in any folder below
	literal  string
	suffix   string         // of a rule that is a star and a literal
	re       *regexp.Regexp // of every other rule; matches what follows literal
	never    bool
}

// Below adds what the .gitignore of a folder of the workspace says, whose text is given. base is
// the folder's path with slashes, "" for the workspace itself.
func (g *Rules) Below(base, text string) *Rules {
	if text == "" {
		return g
	}
	return &Rules{around: g, base: base, text: text, rules: parse(text)}
}

// LeavesOut reports whether a path of the workspace is left out. Its folders must have been asked
// about before: what lies in a folder that is left out cannot be taken back.
func (g *Rules) LeavesOut(rel string, isDir bool) bool {
	for ; g != nil; g = g.around {
		from := g.from(rel)
		for i := len(g.rules) - 1; i >= 0; i-- {
			if g.rules[i].matches(from, isDir) {
				return !g.rules[i].negative
			}
		}
	}
	return false
}

// from is a path of the workspace as it is seen from the folder of the rules.
func (g *Rules) from(rel string) string {
	switch n := len(g.base); {
	case n > 0 && len(rel) > n && rel[n] == '/' && rel[:n] == g.base:
		return rel[n+1:]
	case g.prefix == "", g.prefix == ".":
		return rel
	}
	return path.Join(g.prefix, rel)
}

func (r *rule) matches(rel string, isDir bool) bool {
	if r.never || r.dirOnly && !isDir {
		return false
	}
	if r.anywhere {
		rel = path.Base(rel)
	}
	rest, ok := strings.CutPrefix(rel, r.literal)
	switch {
	case !ok:
		return false
	case r.suffix != "":
		return strings.HasSuffix(rest, r.suffix)
	case r.re == nil:
		return rest == ""
	}
	return r.re.MatchString(bytewise(rest))
}

// parse reads the lines of a .gitignore.
func parse(text string) []rule {
	var rules []rule
	for _, line := range strings.Split(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		line = trimSpaces(strings.TrimSuffix(line, "\r"))
		if line == "" || line[0] == '#' {
			continue
		}
		rules = append(rules, parseRule(line))
	}
	return rules
}

// trimSpaces drops the spaces at the end that no backslash protects.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

func parseRule(line string) rule {
	var r rule
	if rest, ok := strings.CutPrefix(line, "!"); ok {
		r.negative, line = true, rest
	}
	if rest, ok := strings.CutSuffix(line, "/"); ok {
		r.dirOnly, line = true, rest
	}
	r.anywhere = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		r.never = true
		return r
	}
	wild := strings.IndexAny(line, `*?[\`)
	if wild < 0 {
		r.literal = line
		return r
	}
	// git compares what comes before the first wildcard by itself, and what follows as a pattern of
	// its own.
	rest := line[wild:]
	if !r.anywhere {
		r.literal = line[:wild]
	} else {
		rest = line
	}
	if after := rest[1:]; r.anywhere && rest[0] == '*' && after != "" && !strings.ContainsAny(after, `*?[\`) {
		r.suffix = after
		return r
	}
	text, ok := translate(rest, !r.anywhere)
	if !ok {
		r.never = true
		return r
	}
	re, err := regexp.Compile(text)
	if err != nil {
		r.never = true // too large to compile
		return r
	}
	r.re = re
	return r
}

// bytewise makes one character of each byte, since git's wildcards stand for bytes.
func bytewise(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			wide := make([]rune, len(s))
			for j := range len(s) {
				wide[j] = rune(s[j])
			}
			return string(wide)
		}
	}
	return s
}
