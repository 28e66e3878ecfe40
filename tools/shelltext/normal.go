package shelltext

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// Script is a text in normal form: at least one pipeline.
type Script []Pipeline

// Pipeline is simple commands of which each feeds the next.
type Pipeline struct {
	Join     string // what joins it to the one before: "&&" or "||"; "" where it simply follows
	Commands []Simple
}

// Simple is one simple command: its words as the program gets them, at least one, and what becomes
// of its outputs, in order.
type Simple struct {
	Words     []string
	Redirects []string // 1>/dev/null 2>/dev/null 2>&1 1>&2
}

// Print is the text that a shell is given: every command on a line of its own, every word in single
// quotes.
func (s Script) Print() string {
	var b strings.Builder
	for i, p := range s {
		switch {
		case p.Join != "":
			b.WriteString(" " + p.Join + "\n")
		case i > 0:
			b.WriteString("\n")
		}
		for j, c := range p.Commands {
			if j > 0 {
				b.WriteString(" |\n")
			}
			b.WriteString(c.print())
		}
	}
	return b.String()
}

// print is the command with every word in single quotes.
func (c Simple) print() string {
	parts := make([]string, 0, len(c.Words)+len(c.Redirects))
	for _, w := range c.Words {
		parts = append(parts, quoted(w))
	}
	return strings.Join(append(parts, c.Redirects...), " ")
}

func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'" }

// Quote writes a word as a person would: bare where every shell takes it as it stands, in single
// quotes elsewhere.
func Quote(word string) string {
	bare := word != "" && strings.IndexFunc(word, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_./+-:@%,=", r))
	}) < 0
	if bare && word[0] != '=' && !reserved(word) {
		return word
	}
	return quoted(word)
}

// reserved reports whether a bare word may be a part of a shell's grammar.
func reserved(word string) bool {
	return slices.Contains(strings.Fields("if then else elif fi for while until do done case esac in select function time coproc declare export local readonly typeset nameref let"), word)
}

// Text is the script in one line, as a person would write it. Its normal form is the script.
func (s Script) Text() string {
	return s.TextWith(func(c Simple, i int) string { return Quote(c.Words[i]) })
}

// TextWith is Text with each word of a command, by its place, as write has it.
func (s Script) TextWith(write func(c Simple, i int) string) string {
	var b strings.Builder
	for i, p := range s {
		switch {
		case p.Join != "":
			b.WriteString(" " + p.Join + " ")
		case i > 0:
			b.WriteString("; ")
		}
		for j, c := range p.Commands {
			if j > 0 {
				b.WriteString(" | ")
			}
			for k := range c.Words {
				if k > 0 {
					b.WriteByte(' ')
				}
				b.WriteString(write(c, k))
			}
			for _, r := range c.Redirects {
				b.WriteString(" " + r)
			}
		}
	}
	return b.String()
}

// Reasons why a text has no normal form, in the order in which they are looked for.
const (
	aComment = iota
	aBackslash
	anExpansion
	aPattern
	aBrace
	aTilde
	anAssignment
	aRedirection
	aHereDocument
	aBackgroundCommand
	aCompoundCommand
	aFunction
	noCommand
	reasons
)

// reasonTexts are the reasons in English.
func reasonTexts() [reasons]string {
	return [reasons]string{
		"a comment", "a backslash", "an expansion", "a pattern", "a brace", "a tilde", "an assignment", "a redirection to a file",
		"a here-document", "a background command", "a compound command", "a function", "it runs no command",
	}
}

// normalOf makes the normal form of a parsed text, or returns why it has none.
func normalOf(text string, f *syntax.File) (*Script, string) {
	o := objections{text: text}
	syntax.Walk(f, o.visit)
	if len(f.Stmts) == 0 {
		o.add(noCommand)
	}

	// The tree has neither comments nor all backslashes: each that is not quoted counts.
	if strings.Count(text, "#") != o.hashes {
		o.add(aComment)
	}
	if strings.Count(text, `\`) != o.backslashes {
		o.add(aBackslash)
	}

	for reason, found := range o.found {
		if found {
			return nil, reasonTexts()[reason]
		}
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && (r < ' ' || r > '~') && !unicode.IsLetter(r) {
			return nil, fmt.Sprintf("the character U+%04X", r)
		}
	}

	var s Script
	for _, statement := range f.Stmts {
		s.list(statement, "")
	}
	if len(s.Print()) > maxText {
		return nil, "its words in quotes are longer than 64 KiB"
	}
	return &s, ""
}

// objections are the reasons against a normal form that a walk found.
type objections struct {
	text                string
	found               [reasons]bool
	hashes, backslashes int // in quotes and here-documents, where they are themselves
}

func (o *objections) add(reason int) { o.found[reason] = true }

// quoted notes text in which a hash and a backslash are themselves.
func (o *objections) quoted(text string) {
	o.hashes += strings.Count(text, "#")
	o.backslashes += strings.Count(text, `\`)
}

func (o *objections) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case nil, *syntax.File:
	case *syntax.Stmt:
		o.statement(n)
	case *syntax.BinaryCmd:
		if n.Op != syntax.AndStmt && n.Op != syntax.OrStmt && n.Op != syntax.Pipe {
			o.add(aCompoundCommand)
		}
	case *syntax.CallExpr:
		o.call(n)
	case *syntax.Redirect:
		return o.redirect(n)
	case *syntax.Word:
		o.word(n)
	case *syntax.Lit: // a part of a word, which looks at it
	case *syntax.SglQuoted:
		if n.Dollar {
			o.add(anExpansion)
		}
		o.quoted(n.Value)
	case *syntax.DblQuoted:
		o.doubleQuoted(n)
	case *syntax.Assign, *syntax.DeclClause, *syntax.ArrayExpr:
		o.add(anAssignment)
	case *syntax.FuncDecl:
		o.add(aFunction)
	case *syntax.ExtGlob:
		o.add(aPattern)
	case *syntax.BraceExp:
		o.add(aBrace)
	case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst:
		o.add(anExpansion)
	default: // whatever else there is in a shell's grammar
		o.add(aCompoundCommand)
	}
	return true
}

func (o *objections) statement(n *syntax.Stmt) {
	if n.Background || n.Coprocess || n.Disown {
		o.add(aBackgroundCommand)
	}
	if n.Cmd == nil {
		o.add(noCommand)
	}
	if _, several := n.Cmd.(*syntax.BinaryCmd); n.Negated || several && len(n.Redirs) > 0 {
		o.add(aCompoundCommand)
	}
}

func (o *objections) call(n *syntax.CallExpr) {
	if len(n.Assigns) > 0 {
		o.add(anAssignment)
	}
	if len(n.Args) == 0 {
		o.add(noCommand)
		return
	}
	if strings.Contains(value(n.Args[0]), "=") {
		o.add(anAssignment)
	}
}

// redirect takes only what sends standard output or error to /dev/null or to the other one. It
// reports whether there is more to look at: what a here-document holds is no word.
func (o *objections) redirect(n *syntax.Redirect) bool {
	switch n.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		o.add(aHereDocument)
		if n.Hdoc != nil {
			o.quoted(o.text[n.Hdoc.Pos().Offset():n.Hdoc.End().Offset()])
		}
		return false
	}
	if redirection(n) == "" {
		o.add(aRedirection)
	}
	return true
}

// redirection is a redirection as it is printed; "" for one that no normal form has.
func redirection(n *syntax.Redirect) string {
	from := "1"
	if n.N != nil {
		from = n.N.Value
	}
	if n.Word == nil {
		return ""
	}
	to := value(n.Word)
	switch {
	case from != "1" && from != "2":
		return ""
	case n.Op == syntax.RdrOut && to == "/dev/null":
		return from + ">" + to
	case n.Op == syntax.DplOut && (to == "1" || to == "2") && to != from:
		return from + ">&" + to
	}
	return ""
}

// word looks at the bare parts of a word: what a shell may expand there, and a = at its beginning,
// behind which zsh looks for a program.
func (o *objections) word(n *syntax.Word) {
	for i, p := range n.Parts {
		bare, is := p.(*syntax.Lit)
		if !is {
			continue
		}
		if i == 0 && strings.HasPrefix(bare.Value, "=") {
			o.add(anAssignment)
		}
		if len(n.Parts) == 1 && (bare.Value == "[" || bare.Value == "]") {
			continue // the command, and its last word
		}

		for reason, characters := range map[int]string{anExpansion: "$`!", aPattern: "*?[]", aBrace: "{}", aTilde: "~"} {
			if strings.ContainsAny(bare.Value, characters) {
				o.add(reason)
			}
		}
	}
}

func (o *objections) doubleQuoted(n *syntax.DblQuoted) {
	if n.Dollar {
		o.add(anExpansion)
	}
	for _, p := range n.Parts {
		text, is := p.(*syntax.Lit)
		if !is || strings.ContainsAny(text.Value, "$`!") {
			o.add(anExpansion)
			continue
		}
		o.hashes += strings.Count(text.Value, "#")
	}
}

// list takes a statement to which a walk found no objection.
func (s *Script) list(n *syntax.Stmt, join string) {
	if b, is := n.Cmd.(*syntax.BinaryCmd); is && b.Op != syntax.Pipe {
		s.list(b.X, join)
		s.list(b.Y, b.Op.String())
		return
	}
	p := Pipeline{Join: join}
	p.add(n)
	*s = append(*s, p)
}

func (p *Pipeline) add(n *syntax.Stmt) {
	switch cmd := n.Cmd.(type) {
	case *syntax.BinaryCmd:
		p.add(cmd.X)
		p.add(cmd.Y)
	case *syntax.CallExpr:
		var c Simple
		for _, w := range cmd.Args {
			c.Words = append(c.Words, value(w))
		}
		for _, r := range n.Redirs {
			c.Redirects = append(c.Redirects, redirection(r))
		}
		p.Commands = append(p.Commands, c)
	}
}

// value is the text of a word's literal parts: all of the word where there is no objection to it.
func value(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if l, is := q.(*syntax.Lit); is {
					b.WriteString(l.Value)
				}
			}
		}
	}
	return b.String()
}
