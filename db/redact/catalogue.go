package redact

import (
	_ "embed"
	"encoding/json"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

// gitleaksJSON holds the rules of gitleaks v8.30.1 (MIT: LICENSE-gitleaks): its configuration
// without what asks for the path of a file, one rule a line.
//
//go:embed gitleaks.json
var gitleaksJSON []byte

// catalogue is every pattern. It is read once, when the first text is looked at.
var catalogue = sync.OnceValue(func() *patterns { return newPatterns(gitleaksJSON) })

// Ahead begins to read the patterns, beside whatever comes before the first text.
func Ahead() { go catalogue() }

type patterns struct {
	rules []*rule
	words *automaton
	names *automaton // what is in the name of every secret
	of    [][]int32  // the rules of each word
	sizes []int      // its length
	allow []*exception
}

// rule says what a secret looks like near one of some words.
type rule struct {
	id      string
	regex   func() *regexp.Regexp // compiled when a word of it is found first
	group   int                   // the part of the match that is the secret; 0 is the first that is not empty
	entropy float64               // bits a byte that a secret has more of
	allow   []*exception
	shape   func() shape // worked out when a word of it is found first

	// find is code in place of all that: the word is text[from:to].
	find func(text string, from, to int, add func(from, to int, rule string))
}

// shape is what the form of an expression tells about where it may match.
type shape struct {
	assign bool // the word stands left of an operator, as gitleaks' own generator writes it
	lead   lead
	before int  // bytes before the word in which a match lies
	reach  int  // bytes after it
	long   bool // it goes on beyond that as long as there is no blank and no quote
	border bool // a match begins where a word begins or ends
}

// exception is a list of what is no secret.
type exception struct {
	target    string // what the expressions look at: match, line, else the secret
	regexes   []func() *regexp.Regexp
	stopwords func() *automaton // nil if there are none
}

type exceptionData struct {
	Target    string   `json:"target"`
	Regexes   []string `json:"regexes"`
	Stopwords []string `json:"stopwords"`
}

type ruleData struct {
	ID       string          `json:"id"`
	Regex    string          `json:"regex"`
	Keywords []string        `json:"keywords"`
	Entropy  float64         `json:"entropy"`
	Group    int             `json:"group"`
	Allow    []exceptionData `json:"allow"`
}

func newPatterns(data []byte) *patterns {
	var file struct {
		Allow exceptionData `json:"allow"`
		Rules []ruleData    `json:"rules"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		// The data is part of the binary. Going on without it would store secrets in the clear.
		panic("redact: read the built-in rules: " + err.Error())
	}
	p := &patterns{allow: []*exception{newException(file.Allow)}}
	number := map[string]int{}
	var words []string
	add := func(r *rule, keywords []string) {
		at := int32(len(p.rules))
		p.rules = append(p.rules, r)
		for _, k := range keywords {
			k = strings.ToLower(k)
			n, ok := number[k]
			if !ok {
				n = len(words)
				number[k] = n
				words = append(words, k)
				p.of = append(p.of, nil)
				p.sizes = append(p.sizes, len(k))
			}
			p.of[n] = append(p.of[n], at)
		}
	}
	for _, d := range file.Rules {
		if r := newRule(d); r != nil {
			add(r, d.Keywords)
		}
	}
	ownRules(add)
	p.words, p.names = newAutomaton(words), newAutomaton(secretNames())
	return p
}

func newException(d exceptionData) *exception {
	e := &exception{target: d.Target}
	for _, x := range d.Regexes {
		e.regexes = append(e.regexes, lazily(x))
	}
	if len(d.Stopwords) > 0 {
		e.stopwords = sync.OnceValue(func() *automaton { return newAutomaton(d.Stopwords) })
	}
	return e
}

func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

const (
	assignHead = `(?i)[\w.-]{0,50}?(?:`
	nearReach  = 96   // of a rule with no bound of its own
	farReach   = 1024 // of a rule whose word need not be in the match, or that goes over several lines
	mostReach  = 512

	assignBefore = 72 // of a rule for assignments: the rest of the name
)

// newRule is nil for a rule that code of this package replaces.
func newRule(d ruleData) *rule {
	r := &rule{id: d.ID, regex: lazily(d.Regex), group: d.Group, entropy: d.Entropy}
	for _, a := range d.Allow {
		r.allow = append(r.allow, newException(a))
	}
	if d.ID == pemRule {
		return nil
	}
	r.shape = sync.OnceValue(func() shape { return shapeOf(d) })
	return r
}

func shapeOf(d ruleData) shape {
	switch d.ID {
	case "airtable-personnal-access-token", "facebook-access-token", "sourcegraph-access-token", "kubernetes-secret-yaml",
		"curl-auth-header", "curl-auth-user":
		return shape{before: farReach, reach: farReach}
	}
	tree, err := syntax.Parse(d.Regex, syntax.Perl)
	if err != nil {
		panic("redact: read the built-in rule " + d.ID + ": " + err.Error())
	}
	f := shape{
		assign: strings.HasPrefix(d.Regex, assignHead) && tree.Op == syntax.OpConcat,
		long:   longest(tree) > mostReach,
		reach:  min(max(longest(tree)+8, nearReach), mostReach),
		border: flatten(tree)[0].Op == syntax.OpWordBoundary,
	}
	f.before = f.reach
	switch {
	case !f.assign:
		f.lead = leadOf(tree)
	case f.long:
		f.before, f.reach = assignBefore, nearReach
	default:
		f.before = assignBefore
	}
	return f
}

// longest is the greatest number of bytes that an expression matches, at most a million.
func longest(x *syntax.Regexp) int {
	n := 0
	switch x.Op {
	case syntax.OpLiteral:
		n = len(string(x.Rune))
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		n = 1
	case syntax.OpCapture, syntax.OpQuest:
		n = longest(x.Sub[0])
	case syntax.OpStar, syntax.OpPlus:
		n = 1 << 20
	case syntax.OpRepeat:
		if n = 1 << 20; x.Max >= 0 {
			n = x.Max * longest(x.Sub[0])
		}
	case syntax.OpConcat:
		for _, s := range x.Sub {
			n += longest(s)
		}
	case syntax.OpAlternate:
		for _, s := range x.Sub {
			n = max(n, longest(s))
		}
	}
	return min(n, 1<<20)
}

// lead is what an expression begins with: a cheap look at a word's place before the expression is
// tried.
type lead struct {
	text     string
	boundary bool       // what stands before it is no letter, digit or _
	least    int        // bytes that follow it at least
	of       *[256]bool // what those bytes are
}

// leadOf is the literal with which every match begins, and the class of what follows it. It is
// empty where there is none or its case does not matter.
func leadOf(x *syntax.Regexp) lead {
	var l lead
	parts := flatten(x)
	if len(parts) > 0 && parts[0].Op == syntax.OpWordBoundary {
		l.boundary = true
		parts = parts[1:]
	}
	if len(parts) == 0 || parts[0].Op != syntax.OpLiteral || parts[0].Flags&syntax.FoldCase != 0 {
		return lead{}
	}
	l.text = string(parts[0].Rune)
	if len(parts) > 1 && parts[1].Op == syntax.OpRepeat && parts[1].Sub[0].Op == syntax.OpCharClass {
		l.least, l.of = parts[1].Min, bytesOf(parts[1].Sub[0])
	}
	return l
}

// flatten lists the parts of an expression in their order, without the brackets around them.
func flatten(x *syntax.Regexp) []*syntax.Regexp {
	switch x.Op {
	case syntax.OpCapture:
		return flatten(x.Sub[0])
	case syntax.OpConcat:
		var parts []*syntax.Regexp
		for _, s := range x.Sub {
			parts = append(parts, flatten(s)...)
		}
		return parts
	}
	return []*syntax.Regexp{x}
}

func bytesOf(class *syntax.Regexp) *[256]bool {
	var of [256]bool
	for i := 0; i+1 < len(class.Rune); i += 2 {
		for r := class.Rune[i]; r <= class.Rune[i+1] && r < 256; r++ {
			of[r] = true
		}
	}
	for b := 128; b < 256; b++ {
		of[b] = true // part of a character: the expression itself will tell
	}
	return &of
}

// fits says whether a match may begin with the word at from, which is true where the lead does not
// tell.
func (l *lead) fits(text, word string, from int) bool {
	if len(l.text) < 2 {
		return true
	}
	if low := strings.ToLower(l.text); !strings.HasPrefix(low, word) && !strings.HasPrefix(word, low) {
		return true
	}
	if !strings.HasPrefix(text[from:], l.text) || l.boundary && from > 0 && wordByte(text[from-1]) {
		return false
	}
	rest := text[from+len(l.text):]
	return l.of == nil || span(rest, l.least, func(b byte) bool { return l.of[b] }) == l.least
}

func wordByte(b byte) bool { return letter(b) || digit(b) || b == '_' }

// entropy is Shannon's, in bits a byte.
func entropy(s string) float64 {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	var h float64
	for _, n := range count {
		if n > 0 {
			f := float64(n) / float64(len(s))
			h -= f * math.Log2(f)
		}
	}
	return h
}
