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

// gitleaksJSON holds the rules of gitleaks v8.30.1 (MIT: LICENSE-gitleaks): its configuration without what asks for
// the path of a file, one rule a line.
//
//go:embed gitleaks.json
var gitleaksJSON []byte

// catalogue is every pattern. It is read once, when the first text is looked at.
var catalogue = sync.OnceValue(func() *patterns { return newPatterns(gitleaksJSON) })

type patterns struct {
	rules []*rule
	words *automaton
	of    [][]int32 // the rules of each word
	sizes []int     // its length
	allow []*exception
}

// rule says what a secret looks like near one of some words.
type rule struct {
	id      string
	regex   func() *regexp.Regexp // compiled when a word of it is found first
	group   int                   // the part of the match that is the secret; 0 is the first that is not empty
	entropy float64               // bits a byte that a secret has more of
	allow   []*exception
	assign  bool // the word stands left of an operator, as gitleaks' own generator writes it
	lead    lead
	reach   int  // bytes before and after the word in which the match lies
	long    bool // it goes on beyond that as long as there is no blank and no quote

	find func(text string, from, to int, add func(from, to int, rule string)) // in place of all that: the word is text[from:to]
}

// exception is a list of what is no secret.
type exception struct {
	target    string // what the expressions look at: match, line, else the secret
	regexes   []func() *regexp.Regexp
	stopwords *automaton
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
	p.words = newAutomaton(words)
	return p
}

func newException(d exceptionData) *exception {
	e := &exception{target: d.Target}
	for _, x := range d.Regexes {
		e.regexes = append(e.regexes, lazily(x))
	}
	if len(d.Stopwords) > 0 {
		e.stopwords = newAutomaton(d.Stopwords)
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
)

// newRule is nil for a rule that code of this package replaces.
func newRule(d ruleData) *rule {
	r := &rule{id: d.ID, regex: lazily(d.Regex), group: d.Group, entropy: d.Entropy}
	for _, a := range d.Allow {
		r.allow = append(r.allow, newException(a))
	}
	switch d.ID {
	case "private-key":
		return nil
	case "airtable-personnal-access-token", "facebook-access-token", "sourcegraph-access-token", "kubernetes-secret-yaml",
		"curl-auth-header", "curl-auth-user":
		r.reach = farReach
		return r
	}
	tree, err := syntax.Parse(d.Regex, syntax.Perl)
	if err != nil {
		panic("redact: rule " + d.ID + ": " + err.Error())
	}
	r.assign = strings.HasPrefix(d.Regex, assignHead) && tree.Op == syntax.OpConcat
	r.long = longest(tree) > mostReach
	r.reach = min(max(longest(tree)+8, nearReach), mostReach)
	if !r.assign {
		r.lead = leadOf(tree)
	}
	return r
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

// lead is what an expression begins with: a cheap look at a word's place before the expression is tried.
type lead struct {
	text     string
	boundary bool // what stands before it is no letter, digit or _
}

// leadOf is the literal with which every match begins. It is empty where there is none or its case does not matter.
func leadOf(x *syntax.Regexp) lead {
	var l lead
	for {
		switch x.Op {
		case syntax.OpCapture:
			x = x.Sub[0]
		case syntax.OpConcat:
			if x.Sub[0].Op == syntax.OpWordBoundary && len(x.Sub) > 1 {
				l.boundary = true
				rest := leadOf(&syntax.Regexp{Op: syntax.OpConcat, Sub: x.Sub[1:]})
				l.text = rest.text
				return l
			}
			x = x.Sub[0]
		case syntax.OpLiteral:
			if x.Flags&syntax.FoldCase == 0 {
				l.text = string(x.Rune)
			}
			return l
		default:
			return l
		}
	}
}

// fits says whether a match may begin with the word at from, which is true where the lead does not tell.
func (l lead) fits(text, word string, from int) bool {
	if len(l.text) < 2 || !strings.HasPrefix(strings.ToLower(l.text), word) && !strings.HasPrefix(word, strings.ToLower(l.text)) {
		return true
	}
	return strings.HasPrefix(text[from:], l.text) && (!l.boundary || from == 0 || !wordByte(text[from-1]) || !wordByte(l.text[0]))
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
