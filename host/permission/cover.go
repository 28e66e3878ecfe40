package permission

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agent/tools/shelltext"
)

// pattern is a rule's command: literal words, and whether any further ones may follow.
type pattern struct {
	words   []string
	more    bool
	comment bool // there is one behind it, which is no part of it
}

// parsePattern reads the command of a rule. The error says what cannot be one.
func parsePattern(text string) (pattern, error) {
	if why := shelltext.Strange(text); why != "" {
		return pattern{}, fmt.Errorf("%s", why)
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
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
	p := pattern{comment: len(stmt.Comments)+len(f.Last) > 0}
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

// covers reports whether an allow rule with the pattern covers a simple command of a normal form.
func (p pattern) covers(words []string) bool {
	if p.more {
		return len(words) >= len(p.words) && slices.Equal(words[:len(p.words)], p.words)
	}
	return slices.Equal(words, p.words)
}
