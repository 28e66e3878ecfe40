package permission

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// command is one simple command of a script.
type command struct {
	words []word
	input []string // texts of here-documents that it reads; "" for one that is not literal
}

// script is what is known of a script in one dialect.
type script struct {
	commands []command
	loose    string // why no allow rule covers it, whatever its commands are; "" when one may
	opaque   string // why what it runs cannot all be seen; "" when it can
	texts    []string
}

// Bounds of what is parsed. The parser recurses with the nesting of its input.
const (
	maxScript  = 64 << 10
	maxNesting = 200
	maxUnwraps = 6 // scripts in arguments of scripts
)

// variants are the dialects in which a script has to be read, by the shell that will run it.
func variants(shell string) []syntax.LangVariant {
	if shell == "bash" {
		return []syntax.LangVariant{syntax.LangBash}
	}
	return []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash}
}

// parseScript reads a script. What cannot be read is loose and opaque.
func parseScript(text string, lang syntax.LangVariant) (s script) {
	defer func() {
		if p := recover(); p != nil {
			s = unreadable("it cannot be parsed")
		}
	}()
	f, why := parse(text, lang)
	if why != "" {
		return unreadable(why)
	}
	w := walker{}
	syntax.Walk(f, w.visit)
	return w.s
}

func unreadable(why string) script { return script{loose: why, opaque: why} }

// strange says what keeps a text from being parsed at all: what the parser and a shell may read
// differently.
func strange(text string) string {
	if len(text) > maxScript {
		return fmt.Sprintf("it is longer than %d KiB", maxScript>>10)
	}
	if !utf8.ValidString(text) {
		return "it is not UTF-8"
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) || r == 0x115F || r == 0x1160 || r == 0x3164 || r == 0xFFA0 || r == 0x2800 {
			return fmt.Sprintf("it holds the character U+%04X, which cannot be seen", r)
		}
	}
	nesting := strings.Count(text, "(") + strings.Count(text, "{") + strings.Count(text, "`")
	for _, word := range []string{"if", "while", "until", "for", "case", "do"} {
		nesting = max(nesting, strings.Count(text, word)/8)
	}
	if nesting > maxNesting {
		return "it is nested too deeply to be looked at"
	}
	return ""
}

// walker gathers what a syntax tree holds.
type walker struct{ s script }

func (w *walker) loose(format string, a ...any) {
	if w.s.loose == "" {
		w.s.loose = fmt.Sprintf(format, a...)
	}
}

func (w *walker) opaque(why string) {
	if w.s.opaque == "" {
		w.s.opaque = why
	}
}

// loopName is a loop's variable that no shell and no program gives a meaning. It is compiled when
// it is first needed: every start of the binary would pay for it.
var loopName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9]{0,15}$`) })

func (w *walker) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		w.statement(n)
	case *syntax.CallExpr:
		if len(n.Assigns) > 0 {
			w.loose("it sets a variable")
		}
	case *syntax.WordIter:
		if !loopName().MatchString(n.Name.Value) {
			w.loose("its loop sets %s", n.Name.Value)
		}
	case *syntax.ParamExp:
		if n.Exp != nil || n.Excl || n.Index != nil || n.Slice != nil || n.Repl != nil || n.Names != 0 {
			w.loose("it holds an expansion that may do more than expand")
		}
	case *syntax.SglQuoted:
		w.text(n.Value)
	case *syntax.Lit:
		w.text(n.Value)
	case nil, *syntax.File, *syntax.Comment, *syntax.Word, *syntax.DblQuoted, *syntax.CmdSubst,
		*syntax.Redirect, *syntax.Subshell, *syntax.Block, *syntax.IfClause, *syntax.WhileClause, *syntax.BinaryCmd,
		*syntax.TimeClause, *syntax.CaseClause, *syntax.CaseItem:
	case *syntax.ForClause:
		if n.Select {
			w.loose("it holds a select")
		}
	case *syntax.FuncDecl:
		w.loose("it defines a function")
	case *syntax.Assign:
		w.loose("it sets a variable")
	default:
		w.loose("it holds %s", named(n))
	}
	return true
}

// named words a piece of syntax that no rule covers.
func named(n syntax.Node) string {
	switch n.(type) {
	case *syntax.TestClause:
		return "[[ ]]"
	case *syntax.ArithmCmd, *syntax.ArithmExp, *syntax.LetClause, *syntax.CStyleLoop:
		return "arithmetic"
	case *syntax.DeclClause:
		return "a declaration"
	case *syntax.ProcSubst:
		return "a process substitution"
	case *syntax.CoprocClause:
		return "a coprocess"
	}
	return "something that no rule is about"
}

// text keeps quoted text that holds a substitution of its own: some programs and builtins carry it
// out.
func (w *walker) text(s string) {
	if strings.Contains(s, "$(") || strings.Contains(s, "`") {
		w.s.texts = append(w.s.texts, s)
	}
}

// statement takes a command with its redirections.
func (w *walker) statement(n *syntax.Stmt) {
	var input []string
	for _, r := range n.Redirs {
		if text, reads := w.redirect(r); reads {
			input = append(input, text)
		}
	}
	call, ok := n.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	c := command{input: input}
	for _, a := range call.Args {
		c.words = append(c.words, readWord(a))
	}
	if !c.words[0].literal || c.words[0].text == "" || strings.Contains(c.words[0].text, "{}") {
		w.loose("the name of a command is not literal")
		w.opaque("the name of a command is not literal")
	}
	w.s.commands = append(w.s.commands, c)
}

// redirect looks at a redirection, and returns the text that a here-document feeds to the command.
func (w *walker) redirect(r *syntax.Redirect) (input string, reads bool) {
	if r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" {
		w.loose("a redirection sets a variable")
	}
	to := word{}
	if r.Word != nil {
		to = readWord(r.Word)
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return w.document(r.Hdoc)
	case syntax.WordHdoc:
		if !to.literal {
			w.loose("what it feeds to a command is not literal")
			return "", true
		}
		return to.text, true
	case syntax.RdrIn:
		if !to.literal || strings.HasPrefix(to.text, "/dev/") && to.text != "/dev/null" {
			w.loose("it reads from what is no plain file")
		}
	case syntax.DplIn, syntax.DplOut:
		if !to.literal || strings.Trim(to.text, "0123456789-") != "" || to.text == "" {
			w.loose("it writes to a file")
		}
	default:
		if !to.literal || to.text != "/dev/null" || r.Op == syntax.RdrInOut {
			w.loose("it writes to a file")
		}
	}
	return "", false
}

func (w *walker) document(doc *syntax.Word) (string, bool) {
	if doc == nil {
		return "", true
	}
	var b strings.Builder
	for _, p := range doc.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok {
			w.loose("its here-document is not literal")
			return "", true
		}
		b.WriteString(l.Value)
	}
	return b.String(), true
}

// Parse reads a script as the shell will that is to run it; nil where it cannot be read, or where
// it and a shell may read it differently.
func Parse(text, shell string) *syntax.File {
	for _, v := range variants(shell) {
		if f, why := parse(text, v); why == "" {
			return f
		}
	}
	return nil
}

// parse reads a script in one dialect, or says why it cannot.
func parse(text string, lang syntax.LangVariant) (f *syntax.File, why string) {
	defer func() {
		if p := recover(); p != nil {
			f, why = nil, "it cannot be parsed"
		}
	}()
	if why := strange(text); why != "" {
		return nil, why
	}
	f, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, "it cannot be parsed: " + err.Error()
	}
	return f, ""
}

// Literal is the value of a word that needs no shell to be known.
func Literal(w *syntax.Word) (string, bool) {
	read := readWord(w)
	return read.text, read.literal
}
