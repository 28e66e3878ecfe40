package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agent/tools/shelltext"
)

// pattern is a rule's command: literal words, and whether any further ones may follow.
type pattern struct {
	words []string
	more  bool
}

// parsePattern reads the command of a rule. The error says what cannot be one.
func parsePattern(text string) (pattern, error) {
	if why := shelltext.Strange(text); why != "" {
		return pattern{}, fmt.Errorf("%s", why)
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return pattern{}, fmt.Errorf("it cannot be parsed: %v", err)
	}
	if len(f.Stmts) != 1 {
		return pattern{}, fmt.Errorf("it wants one simple command, such as go test *; write a rule for each command")
	}
	stmt := f.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(stmt.Redirs) > 0 || len(call.Assigns) > 0 || len(call.Args) == 0 || stmt.Negated || stmt.Background {
		return pattern{}, fmt.Errorf("it wants one simple command without pipes, redirections and assignments, such as go test *")
	}
	var p pattern
	for i, a := range call.Args {
		if lit, ok := a.Parts[0].(*syntax.Lit); ok && len(a.Parts) == 1 && lit.Value == "*" && i > 0 {
			if i < len(call.Args)-1 {
				return pattern{}, fmt.Errorf(`only its last word may be *, which stands for any further words; in quotes, "*" is a star`)
			}
			p.more = true
			break
		}
		w, ok := shelltext.Literal(a)
		if !ok {
			return pattern{}, fmt.Errorf("its word %d is not literal, and would match nothing; put it in quotes if it is meant as it stands", i+1)
		}
		p.words = append(p.words, w)
	}
	if p.words[0] == "" {
		return pattern{}, fmt.Errorf("it names no command")
	}
	return p, nil
}

// allowable says why an allow rule with the pattern could never cover anything.
func (p pattern) allowable() error {
	name := p.words[0]
	known := programOf(name)
	switch {
	case known.kind == never:
		return fmt.Errorf("%s is never covered by a rule: it runs or changes what cannot be seen", name)
	case !p.more:
	case known.kind == wrapper || known.kind == language:
		return fmt.Errorf("%s runs what is in its arguments, so a rule for it says each word and ends without *", name)
	case known.kind == interpreter && p.script() == 0:
		return fmt.Errorf("%s runs what is in its arguments, so a rule for it names the script, such as %s build *", name, name)
	}
	return nil
}

// script is the place after the word that names an interpreter's script or module; 0 when there is
// none.
func (p pattern) script() int {
	for i, w := range p.words[1:] {
		switch {
		case w == "-m" && i+2 < len(p.words) && strings.HasPrefix(path.Base(p.words[0]), "py"):
			return i + 3
		case strings.HasPrefix(w, "-") || strings.HasPrefix(w, "+"):
			return 0 // what an option takes with it is not known
		default:
			return i + 2
		}
	}
	return 0
}

// covers says whether an allow rule with the pattern covers a simple command.
func (p pattern) covers(c shelltext.Command) bool {
	if len(c.Words) < len(p.words) || !p.more && len(c.Words) > len(p.words) {
		return false
	}
	for i, w := range p.words {
		if !c.Words[i].Literal || c.Words[i].Text != w {
			return false
		}
	}
	known := programOf(p.words[0])
	if known.kind == never || p.more && p.allowable() != nil {
		return false
	}
	if len(c.Input) > 0 && (known.kind == wrapper || known.kind == interpreter || known.kind == language) {
		return false // what it is fed may be its script
	}
	rest := c.Words[len(p.words):]
	if len(rest) == 0 {
		return true
	}
	first := len(p.words) == 1
	if known.sub && first && !known.subcommand(rest[0]) {
		return false
	}
	return known.risky(rest, first) == "" && (path.Base(p.words[0]) != "git" || riskyGit(p.words[1:], rest) == "")
}

// subcommand says whether a word under "*" may stand where the subcommand stands.
func (p program) subcommand(w shelltext.Word) bool {
	if !w.Literal || strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+") {
		return false
	}
	return len(p.subs) == 0 || slices.Contains(p.subs, w.Text)
}
