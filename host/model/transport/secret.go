package transport

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	hidden        = "[secret]"
	leastSecret   = 8 // bytes; a shorter value, such as a local server's "none", stands in too much that is none
	longestReason = 300
	mostEscapes   = 16 // characters that escape one: four levels of JSON within JSON, or seven of URLs
)

// EnvSecrets are the values of an environment (as os.Environ gives it) that are secret by their
// name.
func EnvSecrets(environ []string) []string {
	var values []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		name = strings.ToUpper(name)
		for _, part := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"} {
			if strings.Contains(name, part) && len(value) >= leastSecret {
				values = append(values, value)
				break
			}
		}
	}
	return values
}

// hider replaces secrets in text and in JSON, in every spelling that JSON's escapes (also of JSON
// within JSON) or URL encoding give them.
type hider struct {
	secrets []string
	first   [256]bool // bytes at which a secret can begin
}

func newHider(secrets []string) *hider {
	h := &hider{}
	for _, s := range secrets {
		if len(s) < leastSecret {
			continue
		}
		h.secrets = append(h.secrets, s)
		h.first[s[0]] = true
		if s[0] == ' ' {
			h.first['+'] = true
		}
	}
	if len(h.secrets) > 0 {
		h.first['\\'], h.first['%'] = true, true
	}
	return h
}

// span is a part of a text.
type span struct {
	from, to int
	rest     bool // of a secret whose first part stands elsewhere
}

// find gives the places of secrets, in order and without overlap.
func (h *hider) find(text string) []span {
	var found []span
	if len(h.secrets) == 0 {
		return nil
	}
	for i := 0; i < len(text); {
		if run := slashRun(text[i:]); run > mostEscapes {
			i += run - mostEscapes // no spelling has more of them
			continue
		}
		n := 0
		if h.first[text[i]] {
			for _, s := range h.secrets {
				n = max(n, spelled(text[i:], s))
			}
		}
		if n == 0 {
			i++
			continue
		}
		found = append(found, span{from: i, to: i + n})
		i += n
	}
	return found
}

// slashRun is the number of backslashes with which text begins.
func slashRun(text string) int {
	n := 0
	for n < len(text) && text[n] == '\\' {
		n++
	}
	return n
}

// hide replaces them.
func (h *hider) hide(text string) string {
	return replaced(text, h.find(text))
}

// replaced is a text without what was found in it, which is in order and disjoint.
func replaced(text string, found []span) string {
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f.from])
		b.WriteString(hidden)
		at = f.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// spelled is the length of the secret's spelling with which text begins; 0 when it does not.
func spelled(text, secret string) int {
	at := 0
	for i, r := range secret {
		if r == '\\' || r == '%' {
			return ambiguous(text, at, secret[i:])
		}
		_, size := utf8.DecodeRuneInString(secret[i:])
		n := character(text[at:], secret[i:i+size], r)
		if n == 0 {
			return 0
		}
		at += n
	}
	return at
}

// ambiguous goes on where the secret has a backslash or a percent sign: how much of the text is
// their spelling, and how much belongs to the next character, shows only by what follows.
func ambiguous(text string, at int, secret string) int {
	rest := text[at:]
	var lengths []int
	if secret[0] == '%' && strings.HasPrefix(rest, "%") {
		lengths = append(lengths, 1)
		for n := 1; n < mostEscapes && strings.HasPrefix(rest[n:], "25"); n += 2 {
			lengths = append(lengths, n+2)
		}
	}
	if secret[0] == '\\' {
		lengths = append(lengths, percent(rest, secret[:1]))
	}
	slashes := 0
	for slashes < min(len(rest), mostEscapes) && rest[slashes] == '\\' {
		slashes++
		if secret[0] == '\\' && slashes&(slashes-1) == 0 { // each level of JSON doubles them
			lengths = append(lengths, slashes)
		}
		if n := escaped(rest, slashes, rune(secret[0])); n > 0 {
			lengths = append(lengths, n)
		}
	}
	slices.Sort(lengths)
	for _, n := range slices.Backward(lengths) {
		if n == 0 {
			continue
		}
		if len(secret) == 1 {
			return at + n
		}
		if more := spelled(rest[n:], secret[1:]); more > 0 {
			return at + n + more
		}
	}
	return 0
}

// character is the length of the spelling of one character with which text begins; 0 when it does
// not.
func character(text, raw string, r rune) int {
	slashes := 0
	for slashes < min(len(text), mostEscapes) && text[slashes] == '\\' {
		slashes++
	}
	if slashes > 0 {
		return escaped(text, slashes, r)
	}
	if strings.HasPrefix(text, raw) {
		return len(raw)
	}
	if r == ' ' && strings.HasPrefix(text, "+") {
		return 1
	}
	return percent(text, raw)
}

// escaped reads JSON's escapes behind the backslashes; JSON within JSON has more than one of those.
func escaped(text string, slashes int, r rune) int {
	rest := text[slashes:]
	if rest == "" {
		return 0
	}
	short := map[rune]byte{'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't', '"': '"', '/': '/'}
	if c, ok := short[r]; ok && rest[0] == c {
		return slashes + 1
	}
	unit, ok := hex4(rest)
	if !ok {
		return 0
	}
	if unit == r {
		return slashes + 5
	}
	low := rest[5:]
	if utf16.IsSurrogate(unit) && len(low) > slashes && strings.Trim(low[:slashes], `\`) == "" {
		if second, ok := hex4(low[slashes:]); ok && utf16.DecodeRune(unit, second) == r {
			return slashes + 5 + slashes + 5
		}
	}
	return 0
}

// hex4 reads u0041.
func hex4(s string) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	var r rune
	for i := 1; i < 5; i++ {
		d, ok := digit(s[i])
		if !ok {
			return 0, false
		}
		r = r<<4 | d
	}
	return r, true
}

func digit(c byte) (rune, bool) {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0'), true
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10, true
	}
	return 0, false
}

// percent reads a URL's encoding of the bytes, also where it was encoded more than once (%2541).
func percent(text, raw string) int {
	at := 0
	for i := range len(raw) {
		if at >= len(text) || text[at] != '%' {
			return 0
		}
		at++
		for n := 0; n < mostEscapes && strings.HasPrefix(text[at:], "25"); n += 2 {
			at += 2
		}
		if len(text) < at+2 {
			return 0
		}
		high, ok1 := digit(text[at])
		low, ok2 := digit(text[at+1])
		if !ok1 || !ok2 || byte(high<<4|low) != raw[i] {
			return 0
		}
		at += 2
	}
	return at
}

// Name is a name that a server gave, such as a model's or that of an exchange, as it may be shown
// and recorded: without secrets, in one line.
func Name(text string, secrets []string) string { return clean(text, secrets) }

// clean makes a line for a person of what a provider or a connection says. What looks like a
// provider's key is taken out also when it is not among the secrets: some providers repeat the key
// that they refuse.
func clean(text string, secrets []string) string {
	text = line(newHider(secrets).hide(text), 4*longestReason)
	words := strings.Split(text, " ")
	for i, w := range words {
		if at := strings.Index(w, "sk-"); at >= 0 && len(w)-at >= 20 {
			words[i] = w[:at] + hidden
		}
	}
	return line(strings.Join(words, " "), longestReason)
}

// line is one line of at most so many characters, without control characters and without marks that
// turn the direction of writing.
func line(text string, most int) string {
	if len(text) > 64*most {
		text = text[:64*most]
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r), r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most-1]) + "…"
	}
	return text
}

// bytesText is a size for people.
func bytesText(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
