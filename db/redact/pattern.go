package redact

import (
	"maps"
	"slices"
	"strings"
)

// findPatterns finds what looks like a secret, also in JSON and code that the text quotes.
func findPatterns(name, text string, known *seen, add func(from, to int, rule string)) {
	p := catalogue()
	if known == nil && p.nothing(name, text) {
		return
	}
	var v *view
	for level, read := 0, text; level < depth; level++ {
		if level > 0 {
			known = nil
		}
		p.find(read, known, func(from, to int, rule string) {
			from, to = v.origin(from, to)
			add(from, to, rule)
		})
		next := unescape(v, read)
		if next == nil {
			break
		}
		v, read = next, next.text
	}
	if name != "" {
		p.member(name, text, add)
	}
}

// nothing says that no pattern fits: none of their words is there, nothing hides one, and the name
// promises no secret.
func (p *patterns) nothing(name, text string) bool {
	return strings.IndexByte(text, '\\') < 0 && !p.words.has(text) && (name == "" || !p.words.has(name) && !p.names.has(name))
}

// openPattern is where in the text a secret may begin that only what has not come yet will show:
// its end if nowhere.
func openPattern(text string) int { return min(openPEM(text), openAWS(text)) }

// member looks at a whole value under its name, as if it were assigned to it.
func (p *patterns) member(name, text string, add func(from, to int, rule string)) {
	if len(text) > mostReach*4 || len(name) > 200 {
		return
	}
	k := kindOf(name)
	if memberIsSecret(k, text) {
		add(0, len(text), "member-value")
	}
	if w := words(name); k == plain && (!p.words.has(name) || len(w) == 0 || harmless(w)) {
		return
	}
	head := name + `="`
	p.find(head+text+`"`, nil, func(from, to int, rule string) {
		from, to = max(0, from-len(head)), min(to-len(head), len(text))
		if from < to {
			add(from, to, rule)
		}
	})
}

// find goes over the text once for the rules' words and tries a rule only where one of its words
// is. Known are those of its words that were seen before; it may be nil.
func (p *patterns) find(text string, known *seen, add func(from, to int, rule string)) {
	trials := map[int32]*trial{}
	hit := func(word uint16, end int) {
		from := end - p.sizes[word]
		for _, at := range p.of[word] {
			if r := p.rules[at]; r.find != nil {
				r.find(text, from, end, add)
			} else if r.near(text, from, end) {
				if trials[at] == nil {
					trials[at] = &trial{}
				}
				p.about(r, trials[at], text, from, end, add)
			}
		}
	}
	if known != nil {
		known.each(p, text, hit)
	} else {
		p.words.each(text, func(word uint16, end int) bool {
			hit(word, end)
			return false
		})
	}
	for _, at := range slices.Sorted(maps.Keys(trials)) {
		p.try(p.rules[at], text, trials[at].from, trials[at].to, add)
	}
}

// trial is what a rule was shown of a text, and what it is yet to be shown.
type trial struct {
	spent    int // bytes
	from, to int // of the piece that is yet to be shown
}

// enough is how often a rule is shown a text, if its words stand so close that it sees each byte
// with many of them. After that such places are shown to it as one, so that no text takes longer
// than its length says.
const enough = 4

// about has a rule tried around the word text[from:to].
func (p *patterns) about(r *rule, t *trial, text string, from, to int, add func(from, to int, rule string)) {
	shape := r.shape()
	from, to = max(0, from-shape.before), min(len(text), to+shape.reach)
	joins := from <= t.to && t.from < t.to
	if joins {
		to = max(to, t.to)
	}
	if shape.long {
		to += span(text[to:], mostRun, inRun)
	}
	switch {
	case joins:
		t.to = to
	case t.spent > enough*len(text):
		p.try(r, text, t.from, t.to, add)
		t.from, t.to = from, to
	default:
		p.try(r, text, from, to, add)
		t.spent += to - from
	}
}

// near says whether the rule may match around the word text[from:to]: what is cheap to see.
func (r *rule) near(text string, from, to int) bool {
	shape := r.shape()
	if !shape.assign {
		if r.id == "vault-service-token" {
			return vaultToken(text, from, to)
		}
		return shape.lead.fits(text, strings.ToLower(text[from:to]), from)
	}
	end := min(len(text), to+48)
	for i := to; i < end; i++ {
		switch c := text[i]; {
		case wordByte(c) || c == '.' || c == '-' || passed(c) && c != '+' && c != '\\':
		case c == '=' || c == '>' || c == ':' || c == '|' || c == '?' || c == ',':
			return r.valueAt(text, i)
		default:
			return false
		}
	}
	return false
}

// vaultToken is the cheap look for the rule whose word, "s.", ends every other sentence.
func vaultToken(text string, from, to int) bool {
	if strings.EqualFold(text[from:to], "hvs.") {
		return true
	}
	return text[from] == 's' && (from == 0 || !wordByte(text[from-1])) &&
		span(text[to:], 24, func(b byte) bool { return letter(b) || digit(b) }) == 24
}

// valueAt says whether a value of some length comes after the operator at i.
func (r *rule) valueAt(text string, i int) bool {
	for n := 0; n < 12 && i < len(text) && (operator(text[i]) || passed(text[i])); n++ {
		i++
	}
	return i+8 <= len(text) && span(text[i:], 8, func(b byte) bool { return b > ' ' && b != '"' && b != '(' && b != ')' && b != ';' }) == 8
}

func operator(b byte) bool {
	return b == '=' || b == '>' || b == ':' || b == '|' || b == '?' || b == ','
}

// try matches a rule in text[from:to].
func (p *patterns) try(r *rule, text string, from, to int, add func(from, to int, rule string)) {
	if from == to {
		return // nothing is left
	}
	if r.shape().border && from > 0 && wordByte(text[from-1]) {
		from += span(text[from:to], to-from, wordByte) // a word that is cut in two begins nothing
	}
	near := text[from:to]
	for _, m := range r.regex().FindAllStringSubmatchIndex(near, -1) {
		match := strings.Trim(near[m[0]:m[1]], "\n")
		a, b := r.secret(m, near)
		if m[1] == len(near) && to < len(text) && inRun(near[len(near)-1]) {
			// The match may go on beyond what was looked at.
			b = max(b, len(near)) + span(text[to:], 16*mostRun, inRun)
		}
		secret := text[from+a : from+b]
		if r.entropy > 0 && entropy(secret) <= r.entropy || r.id == generic && checksum(text[:from+a], secret) {
			continue
		}
		if !allowed(p.allow, secret, match, text, from+m[0], from+m[1]) && !allowed(r.allow, secret, match, text, from+m[0], from+m[1]) {
			add(from+a, from+b, r.id)
		}
	}
}

// mostRun is how far a secret without a blank may go on beyond what an expression was shown, bytes.
const mostRun = 4 << 10

// generic is the rule that takes anything that looks random for a secret, if a key or a token is
// spoken of.
const generic = "generic-api-key"

// checksum says that what looks random is a checksum, as in go.sum and in lock files, or an id of
// this program.
func checksum(before, value string) bool {
	for _, mark := range []string{"h1:", "sha1-", "sha256-", "sha384-", "sha512-", "sha1:", "sha256:", "sha384:", "sha512:", "hmac-sha256:", "v1:"} {
		if strings.HasSuffix(before, mark) || strings.HasPrefix(value, mark) {
			return true
		}
	}
	return false
}

func inRun(b byte) bool { return !blank(b) && b != '"' && b != '\'' }

// secret is the part of a match that is the secret.
func (r *rule) secret(m []int, text string) (from, to int) {
	if r.group > 0 && m[2*r.group] >= 0 {
		return m[2*r.group], m[2*r.group+1]
	}
	for g := 2; g < len(m); g += 2 {
		if m[g] >= 0 && m[g] < m[g+1] {
			return m[g], m[g+1]
		}
	}
	from, to = m[0], m[1]
	for from < to && text[from] == '\n' {
		from++
	}
	for from < to && text[to-1] == '\n' {
		to--
	}
	return from, to
}

func allowed(lists []*exception, secret, match, text string, from, to int) bool {
	for _, e := range lists {
		target := secret
		switch e.target {
		case "match":
			target = match
		case "line":
			target = line(text, from, to)
		}
		for _, x := range e.regexes {
			if x().MatchString(target) {
				return true
			}
		}
		if e.stopwords != nil && e.stopwords().has(secret) {
			return true
		}
	}
	return false
}

// line is the whole of the lines in which text[from:to] stands, within reason.
func line(text string, from, to int) string {
	if i := strings.LastIndexByte(text[max(0, from-farReach):from], '\n'); i >= 0 {
		from = max(0, from-farReach) + i + 1
	} else {
		from = max(0, from-farReach)
	}
	end := min(len(text), to+farReach)
	if i := strings.IndexByte(text[to:end], '\n'); i >= 0 {
		end = to + i
	}
	return text[from:end]
}
