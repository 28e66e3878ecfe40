package redact

import "strings"

// findAssignment finds the value that is given to a name such as DB_PASSWORD: in a shell, a
// configuration, code, a flag, a header, a URL's query, XML. The word text[from:to] is part of the
// name.
func findAssignment(text string, from, to int, add func(from, to int, rule string)) {
	start := from
	for start > 0 && from-start < 64 && nameByte(text[start-1]) {
		start--
	}
	end := to + span(text[to:], 48, nameByte)
	if end == len(text) {
		return
	}
	a := assignment{name: text[start:end], member: start > 0 && text[start-1] == '"' && text[end] != '.'}
	at := a.operator(text, start, end)
	if at < 0 {
		return
	}
	k := kindOf(a.name)
	if k == plain {
		return
	}
	a.from, a.to = a.value(text, at)
	if a.from < a.to && a.secret(k, text, start) {
		add(a.from, a.to, "assignment")
	}
}

func nameByte(b byte) bool { return wordByte(b) || b == '-' || b == '.' }

type assignment struct {
	name     string
	from, to int  // of the value
	quote    byte // around it, or 0
	flag     bool // --name value, or a URL's &name=value, or a header's name: value
	tag      bool // <name>value
	call     bool // f("name", "value"): only a quoted value counts
	member   bool // "name": "value"
	spaced   bool // there are blanks around the operator, as in code
}

// operator gives the place after the operator that follows a name, -1 if none does.
func (a *assignment) operator(text string, start, end int) int {
	a.flag = strings.HasPrefix(a.name, "--") || start > 0 && (text[start-1] == '?' || text[start-1] == '&')
	i := end + span(text[end:], 3, func(b byte) bool { return b == '"' || b == '\'' || b == ']' || b == '\\' || b == '`' })
	gap := span(text[i:], 16, func(b byte) bool { return b == ' ' || b == '\t' })
	i += gap
	n := span(text[i:], 3, func(b byte) bool { return b == '=' || b == ':' || b == '>' || b == '?' || b == '+' })
	switch {
	case n > 0 && strings.Trim(text[i:i+n], "+?") != "":
		a.tag = text[i:i+n] == ">"
		a.spaced = gap > 0
	case gap > 0 && strings.HasPrefix(a.name, "--"):
	case i < len(text) && (text[i] == ',' || text[i] == '('):
		a.call, n = true, 1
	default:
		return -1
	}
	i += n
	return i + span(text[i:], 16, func(b byte) bool { return b == ' ' || b == '\t' || a.tag && blank(b) })
}

// eastAsian is the first byte in UTF-8 from U+3000 on: such scripts have no blanks, so a value
// without quotes ends there.
const eastAsian = 0xE3

const longestValue = 2048 // bytes of a value that is assigned

func (a *assignment) value(text string, at int) (from, to int) {
	if at < len(text) && text[at] == '\\' {
		at++
	}
	if at >= len(text) {
		return 0, 0
	}
	if q := text[at]; q == '"' || q == '\'' || q == '`' {
		a.quote = q
		n := span(text[at+1:], longestValue, func(b byte) bool { return b != q && b != '\n' && b != '\r' })
		if at+1+n < len(text) && text[at+1+n] != q {
			a.quote = 0
		}
		return at + 1, at + 1 + len(strings.TrimRight(text[at+1:at+1+n], `\`))
	}
	n := span(text[at:], longestValue, func(b byte) bool {
		return !blank(b) && b < eastAsian && b != '"' && b != '\'' && b != '`' && b != '<' && (!a.flag || b != '&')
	})
	return at, at + len(strings.TrimRight(text[at:at+n], ",;)]}\\"))
}

// secret judges the value.
func (a *assignment) secret(k kind, text string, start int) bool {
	v := text[a.from:a.to]
	if len(v) < shortest || !plausible(v) {
		return false
	}
	if a.quote != 0 {
		if a.member && !a.call && memberIsSecret(k, v) {
			return true
		}
		if k == password {
			return !strings.ContainsAny(v, " \t") && (a.loud() && !dummy(v) && !identifier(v) || strange(v) && !member(v))
		}
		least := 12
		if a.loud() {
			least = leastKnown
		}
		return !a.call && len(v) >= least && mixed(v) && !strings.ContainsAny(v, " \t") && !identifier(v) && entropy(v) > 2.5
	}
	if a.call || strings.ContainsAny(v, "(){}[]") && !a.loud() {
		return false
	}
	alone := a.to == len(text) || text[a.to] == '\n' || text[a.to] == '\r' || text[a.to] == '<' || text[a.to] == '"'
	switch {
	case k == password && (a.loud() || a.flag || a.tag):
		return !dummy(v) && (mixed(v) || strange(v) || a.loud() && len(v) >= leastKnown)
	case k == password && !a.spaced && mixed(v) && !identifier(v):
		return true
	case k == password:
		return alone && startsLine(text, start) && strange(strings.TrimLeft(v, "&*!")) && !member(v)
	case a.loud() || a.flag:
		return len(v) >= leastKnown && mixed(v) && !identifier(v)
	}
	return false
}

// loud says that the name is written as variables of the environment are.
func (a *assignment) loud() bool {
	return strings.ToUpper(a.name) == a.name && strings.ContainsAny(a.name, "_ABCDEFGHIJKLMNOPQRSTUVWXYZ") && !a.spaced && !a.call
}

// startsLine says that nothing but blanks, export, a list's dash or a quote stands before in the
// line.
func startsLine(text string, start int) bool {
	from := strings.LastIndexByte(text[:start], '\n') + 1
	switch strings.Trim(text[from:start], " \t\"'-$") {
	case "", "export", "set", "#", "//":
		return true
	}
	return false
}

// memberIsSecret judges the whole value of a JSON member by the kind of its name.
func memberIsSecret(k kind, v string) bool {
	if k == plain || len(v) < shortest || !plausible(v) || strings.ContainsAny(v, " \t\n") {
		return false
	}
	if k == password {
		return !dummy(v)
	}
	return len(v) >= 12 && mixed(v) && !identifier(v) && entropy(v) > 2.5
}

// plausible says that a value is none of what stands in a secret's place: a reference, a path, a
// row of one character.
func plausible(v string) bool {
	return distinct(v) > 2 && !isReference(v) && !isPath(v) && !strings.Contains(v, "://") && !strings.Contains(v, "${") &&
		!strings.Contains(v, "{{") && !strings.Contains(v, "...") && !strings.Contains(v, "***") && !strings.HasPrefix(v, "%") &&
		!strings.HasPrefix(v, opening[1:]) && !strings.HasPrefix(v, opening)
}

// dummy says that a password is a word that documents, forms and schemas put in its place.
func dummy(v string) bool {
	l := strings.ToLower(v)
	switch strings.Trim(l, "-_.!*<>") {
	case "password", "passwd", "string", "required", "optional", "hidden", "secret", "object", "number", "boolean", "undefined",
		"default", "prompt", "changeme", "redacted", "example", "placeholder", "disabled", "enabled", "unknown", "invalid",
		"nullable", "varchar", "binary", "buffer", "base64", "sha256", "bcrypt", "pbkdf2", "scrypt", "argon2", "argon2id":
		return true
	}
	return strings.HasPrefix(l, "your") || strings.HasPrefix(l, "my-") || strings.HasPrefix(l, "enter") || strings.Contains(l, "passw") && !hasDigit(l)
}

// strange says that a value is not written as words and names are: it has a digit or another
// character.
func strange(v string) bool {
	return mixed(v) || strings.ContainsAny(v, "!@#$%^&*+/=~?|")
}

// identifier says that a value reads as the name of something in code: words joined by _ . - or
// capitals, with at most a short number at the end.
func identifier(v string) bool {
	if member(v) {
		return true
	}
	v = v[:max(len(v)-3, len(strings.TrimRight(v, "0123456789")))]
	for i := range len(v) {
		if !letter(v[i]) && v[i] != '_' && v[i] != '.' && v[i] != '-' && v[i] != '/' && v[i] != ':' {
			return false
		}
	}
	return true
}

// member says that a value is a.b or a->b: part of something, in code.
func member(v string) bool {
	if !strings.Contains(v, ".") && !strings.Contains(v, "->") {
		return false
	}
	for part := range strings.FieldsFuncSeq(strings.ReplaceAll(v, "->", "."), func(r rune) bool { return r == '.' }) {
		if !letter(part[0]) && part[0] != '_' {
			return false
		}
		for i := range len(part) {
			if !wordByte(part[i]) {
				return false
			}
		}
	}
	return true
}
