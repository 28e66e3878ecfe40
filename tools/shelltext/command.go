package shelltext

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Command is one simple command of a text.
type Command struct {
	Words []Word   // at least one
	Input []string // texts of here-documents that it reads; "" for one that is not literal
}

// Literals are the values of its words; nil where one of them is not literal.
func (c Command) Literals() []string {
	out := make([]string, 0, len(c.Words))
	for _, w := range c.Words {
		if !w.Literal {
			return nil
		}
		out = append(out, w.Text)
	}
	return out
}

// walker gathers what a syntax tree holds.
type walker struct{ r Reading }

func (w *walker) loose(format string, a ...any) {
	if w.r.Loose == "" {
		w.r.Loose = fmt.Sprintf(format, a...)
	}
}

func (w *walker) opaque(why string) {
	if w.r.Opaque == "" {
		w.r.Opaque = why
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
	case *syntax.ExtGlob:
		w.within(n)
		w.loose("it holds %s", named(n))
	case *syntax.ParamExp:
		w.within(n)
		if n.Exp != nil || n.Excl || n.Index != nil || n.Slice != nil || n.Repl != nil || n.Names != 0 {
			w.loose("it holds an expansion that may do more than expand")
		}
	case *syntax.Word:
		if len(n.Parts) > 1 { // its parts together may hold a substitution
			w.text(value(n))
		}
	case *syntax.SglQuoted:
		w.text(n.Value)
		if n.Dollar && escaped(n.Value) {
			w.opaque("it writes characters by their numbers")
		}
	case *syntax.Lit:
		w.text(n.Value)
	case nil, *syntax.File, *syntax.Comment, *syntax.DblQuoted, *syntax.CmdSubst,
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
	if substitutes(s) {
		w.r.Texts = append(w.r.Texts, s)
	}
}

// substitutes reports whether a text would run commands where a shell expands it.
func substitutes(s string) bool {
	return strings.Contains(s, "$(") || strings.Contains(s, "`") || strings.Contains(s, "<(") || strings.Contains(s, ">(")
}

// within looks at an expansion or a pattern. The parser keeps as text what a shell expands there,
// also in quotes.
func (w *walker) within(n syntax.Node) {
	syntax.Walk(n, func(part syntax.Node) bool {
		text := ""
		switch p := part.(type) {
		case *syntax.Lit:
			text = p.Value
		case *syntax.SglQuoted:
			text = p.Value
		}
		if substitutes(text) {
			w.opaque("a substitution stands within an expansion")
		}
		return true
	})
}

// escaped reports whether text in $'...' writes a character by its number, such as \x24 for $.
func escaped(text string) bool {
	for _, begins := range []string{`\x`, `\u`, `\U`, `\c`, `\0`, `\1`, `\2`, `\3`, `\4`, `\5`, `\6`, `\7`} {
		if strings.Contains(text, begins) {
			return true
		}
	}
	return false
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

	c := Command{Input: input}
	for _, a := range call.Args {
		c.Words = append(c.Words, readWord(a))
	}

	if c.Words[0].Literal && strings.HasPrefix(c.Words[0].Text, "-") { // behind time, and what else takes options before a command
		w.loose("a command is named %s", c.Words[0].Text)
		w.opaque("a command is named " + c.Words[0].Text)
	}
	if !c.Words[0].Literal || c.Words[0].Text == "" || strings.Contains(c.Words[0].Text, "{}") {
		w.loose("the name of a command is not literal")
		w.opaque("the name of a command is not literal")
	}

	w.r.Commands = append(w.r.Commands, c)
}

// redirect looks at a redirection, and returns the text that a here-document feeds to the command.
func (w *walker) redirect(r *syntax.Redirect) (input string, reads bool) {
	if r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" {
		w.loose("a redirection sets a variable")
	}
	to := Word{}
	if r.Word != nil {
		to = readWord(r.Word)
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return w.document(r.Hdoc)
	case syntax.WordHdoc:
		if !to.Literal {
			w.loose("what it feeds to a command is not literal")
			return "", true
		}
		return to.Text, true
	case syntax.RdrIn:
		if !to.Literal || strings.HasPrefix(to.Text, "/dev/") && to.Text != "/dev/null" {
			w.loose("it reads from what is no plain file")
		}
	case syntax.DplIn, syntax.DplOut:
		if !to.Literal || strings.Trim(to.Text, "0123456789-") != "" || to.Text == "" {
			w.loose("it writes to a file")
		}
	default:
		if !to.Literal || to.Text != "/dev/null" || r.Op == syntax.RdrInOut {
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
