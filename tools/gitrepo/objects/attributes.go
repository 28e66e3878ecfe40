package objects

import (
	"os"
	"strings"

	"agent/tools/gitrepo/gitconfig"
)

// Bounds of attributes: beyond them every file counts as converted.
const (
	maxAttributes = 1 << 20 // bytes of a file
	maxRules      = 1000    // that convert, of one place
	maxPasses     = 20      // over macros that name one another
)

// rules are the rules of one folder.
type rules struct {
	above  *rules
	always Conversion
	list   []rule
}

// rule says what becomes of the paths whose beginning and end fit: at least those that the pattern
// takes in.
type rule struct {
	head, tail string
	whole      bool // head is the whole
	base       bool // of the last name, not of the path
	does       Conversion
}

func (rs *rules) match(name, base string) Conversion {
	found := Same
	for _, r := range rs.list {
		s := name
		if r.base {
			s = base
		}
		if r.does > found && (r.whole && s == r.head || !r.whole && strings.HasPrefix(s, r.head) && strings.HasSuffix(s, r.tail)) {
			found = r.does
		}
	}
	return found
}

// attributeLine is a line of a file of attributes.
type attributeLine struct{ pattern, words string }

// load reads a file of attributes: gitattributes. What is returned besides is what becomes of every
// file below, where it cannot be read.
func load(file string) ([]attributeLine, Conversion) {
	text, err := gitconfig.ReadFile(file, maxAttributes)
	if absent(err) {
		return nil, Same
	}
	if err != nil {
		if info, serr := os.Stat(file); serr == nil && info.IsDir() {
			return nil, Same
		}
		return nil, Any
	}
	var list []attributeLine
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\xef\xbb\xbf")) {
		if l, ok := lineOf(line); ok {
			list = append(list, l)
		}
	}
	return list, Same
}

const macro = "[attr]"

// define takes in the macros of files where they may stand. They may name one another in any order.
func (a *attributes) define(list []attributeLine) {
	for range maxPasses {
		again := false
		for _, l := range list {
			name, is := strings.CutPrefix(l.pattern, macro)
			if is && name != "" {
				if does := a.effects(l.words); does > a.macros[name] {
					a.macros[name], again = does, true
				}
			}
		}
		if !again {
			return
		}
	}
	a.always = Any // nobody writes so many that depend on one another
}

// add takes in rules whose patterns are seen from a folder of the work tree.
func (rs *rules) add(a *attributes, list []attributeLine, dir string) {
	if a.fold {
		dir = strings.ToLower(dir)
	}
	for _, l := range list {
		does := a.effects(l.words)
		if does == Same || l.pattern[0] == '!' || strings.HasSuffix(l.pattern, "/") || strings.HasPrefix(l.pattern, macro) && l.pattern != macro {
			continue // git takes no file in
		}
		if len(rs.list) >= maxRules {
			rs.always = Any
			return
		}
		if a.fold {
			l.pattern = strings.ToLower(l.pattern)
		}
		r := ruleOf(l.pattern, dir)
		r.does = does
		rs.list = append(rs.list, r)
	}
}

func isBlank(c rune) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// lineOf takes a line apart.
func lineOf(line string) (attributeLine, bool) {
	line = strings.TrimLeftFunc(line, isBlank)
	if line == "" || line[0] == '#' {
		return attributeLine{}, false
	}
	if line[0] == '"' {
		if pattern, rest := Unquote(line); pattern != "" {
			return attributeLine{pattern, rest}, true
		}
	}
	end := strings.IndexFunc(line, isBlank)
	if end < 0 {
		return attributeLine{}, false // it says nothing of the paths
	}
	return attributeLine{line[:end], line[end:]}, true
}

func (a *attributes) effects(words string) Conversion {
	does := Same
	for word := range strings.FieldsFuncSeq(words, isBlank) {
		does = max(does, a.effect(word))
	}
	return does
}

// effect is what an attribute does to the bytes of a file.
func (a *attributes) effect(word string) Conversion {
	if word[0] == '-' || word[0] == '!' {
		return Same // it takes back
	}
	name, _, _ := strings.Cut(word, "=")
	switch name {
	case "filter", "ident", "working-tree-encoding":
		return Any
	case "text", "eol", "crlf":
		return Endings
	}
	return a.macros[name]
}

// ruleOf is a pattern's literal beginning and end. What is between them is not looked at.
func ruleOf(pattern, dir string) rule {
	const special = "*?[\\"
	r := rule{base: !strings.Contains(strings.TrimSuffix(pattern, "/"), "/")}
	if !r.base {
		pattern = strings.TrimPrefix(pattern, "/")
		if dir != "" {
			dir += "/"
		}
	}
	first := strings.IndexAny(pattern, special)
	if first < 0 {
		r.head, r.whole = pattern, true
		if !r.base {
			r.head = dir + r.head
		}
		return r
	}
	r.head = pattern[:first]
	if !r.base {
		r.head = dir + r.head
	}
	if strings.ContainsRune(pattern, '\\') {
		return r
	}
	if last := strings.LastIndexAny(pattern, "*?]"); last >= first {
		r.tail = pattern[last+1:]
	}
	if strings.HasSuffix(strings.TrimSuffix(pattern, r.tail), "**") {
		r.tail = strings.TrimPrefix(r.tail, "/") // two stars and the slash may stand for nothing
	}
	return r
}

// Unquote reads a name in quotes as git writes it, and returns what follows; "" where it cannot be
// read.
func Unquote(s string) (name, rest string) {
	var out strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return out.String(), s[i+1:]
		case '\\':
			i++
			if i >= len(s) {
				return "", ""
			}
			if at := strings.IndexByte(`abtnvfr"\`, s[i]); at >= 0 {
				out.WriteByte("\a\b\t\n\v\f\r\"\\"[at])
				continue
			}
			if i+2 >= len(s) || s[i] > '3' {
				return "", ""
			}
			value := 0
			for _, d := range []byte(s[i : i+3]) {
				if d < '0' || d > '7' {
					return "", ""
				}
				value = value*8 + int(d-'0')
			}
			out.WriteByte(byte(value))
			i += 2
		default:
			out.WriteByte(c)
		}
	}
	return "", ""
}
