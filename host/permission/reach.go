package permission

import (
	"path"
	"slices"
	"strings"

	"agent/tools/shelltext"
)

// reached is one command that a script may come to run.
type reached struct {
	words []shelltext.Word
	sure  bool // it does run it, as far as can be seen
}

// reach is all that a script may come to run, as far as that can be seen, and why it cannot be seen
// whole; "" when it can.
type reach struct {
	commands []reached
	opaque   string
	texts    int // that were parsed
}

// Bounds of what is followed: what lies beyond is not seen.
const (
	maxReached = 10_000
	maxTexts   = 200
	maxUnwraps = 6 // scripts in arguments of scripts
)

// add takes one more command.
func (r *reach) add(c reached) {
	if len(r.commands) >= maxReached {
		r.hide("it is too long to be followed")
		return
	}
	r.commands = append(r.commands, c)
}

// reachOf follows a script through everything that is known to run other commands.
func reachOf(text, shell string) reach {
	var r reach
	r.script(shelltext.Read(text, shell), shell, true, 0)
	return r
}

func (r *reach) hide(why string) {
	if r.opaque == "" {
		r.opaque = why
	}
}

func (r *reach) script(s shelltext.Reading, shell string, sure bool, depth int) {
	if s.Opaque != "" {
		r.hide(s.Opaque)
	}
	for _, c := range s.Commands {
		r.command(c, shell, sure, depth)
	}
	for _, t := range s.Texts {
		r.tokens(t) // a builtin may carry out what such a text substitutes
	}
}

// text follows a text that may be a script.
func (r *reach) text(t string, shell string, sure bool, depth int) {
	if r.texts++; depth >= maxUnwraps || r.texts > maxTexts {
		r.hide("it holds scripts within scripts")
		return
	}
	s := shelltext.Read(t, shell)
	if !sure {
		s.Opaque = "" // most texts are no scripts
	}
	r.script(s, shell, sure, depth+1)
}

func (r *reach) command(c shelltext.Command, shell string, sure bool, depth int) {
	if !c.Words[0].Literal {
		return // its script is opaque
	}
	r.add(reached{c.Words, sure})
	name := path.Base(c.Words[0].Text)
	known := kindOf(name)
	for _, in := range c.Input {
		r.text(in, shell, sure && known == interpreter, depth)
	}
	args := c.Words[1:]
	switch known {
	case wrapper, never:
		r.unwrap(name, args, shell, sure, depth)
	case interpreter:
		r.interpret(name, args, shell, sure, depth)
	case language:
		r.phrases(name, args)
	default:
		if runsCode(name, args) {
			r.options(name, args, shell, sure, depth)
		}
	}
}

// phrases follows text in a language of its own: each word of it may be a command.
func (r *reach) phrases(name string, args []shelltext.Word) {
	blind := !slices.Contains(strings.Fields("awk gawk mawk nawk sed gsed less more most man bc dc"), name)
	for _, a := range args {
		if strings.Contains(a.Text, "system") || strings.Contains(a.Text, "|") || strings.Contains(a.Text, "!") || !a.Literal {
			blind = true
		}
		r.tokens(a.Text)
	}
	if blind {
		r.hide(name + " can run other commands")
	}
}

// tokens takes each word of a text as the possible beginning of a command.
func (r *reach) tokens(text string) {
	var words []shelltext.Word
	for _, t := range strings.FieldsFunc(text, func(c rune) bool { return !strings.ContainsRune(letters, c) }) {
		words = append(words, shelltext.Word{Text: t, Literal: true})
	}
	for i := range words {
		r.add(reached{words: words[i:]})
	}
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-"

// options follows what a program runs because of an option. Of most it is not known how they take
// it.
func (r *reach) options(name string, args []shelltext.Word, shell string, sure bool, depth int) {
	r.unwrap(name, args, shell, sure, depth)
	for _, a := range args {
		r.tokens(a.Text)
	}
	if !slices.Contains(strings.Fields("find gfind fd fdfind docker podman npm pnpm yarn uv poetry bundle kubectl"), name) {
		r.hide("an option of " + name + " may run other commands")
	}
}

// unwrap follows what a command does with its arguments: each of them may begin a command, and may
// be a script.
func (r *reach) unwrap(name string, args []shelltext.Word, shell string, sure bool, depth int) {
	if name == "alias" || name == "enable" || name == "hash" {
		r.hide(name + " changes what later words mean")
	}
	for i, a := range args {
		if len(r.commands) >= maxReached || r.texts > maxTexts {
			r.hide("it is too long to be followed")
			return
		}
		if !a.Literal {
			r.hide("what " + name + " runs is not literal")
			continue
		}
		if strings.HasPrefix(a.Text, "-") || a.Text == "" {
			continue
		}
		if a.Text == "{}" && (i == 0 || strings.HasPrefix(args[i-1].Text, "-")) {
			r.hide("what " + name + " runs comes from its input")
		}
		tail := args[i:]
		r.add(reached{tail, sure})
		if k := kindOf(a.Text); k == interpreter {
			r.interpret(path.Base(a.Text), tail[1:], shell, sure, depth)
		} else if k == never {
			r.unwrap(a.Text, tail[1:], shell, sure, depth+1)
		}
		if strings.ContainsAny(a.Text, " \t\n;|&$`'\"()<>{}\\") {
			r.text(a.Text, shell, sure, depth)
		}
	}
}

// interpret follows what an interpreter is given: text after an option, or what it reads.
func (r *reach) interpret(name string, args []shelltext.Word, shell string, sure bool, depth int) {
	script := false
	for i, a := range args {
		switch {
		case !a.Literal:
			r.hide("what " + name + " runs is not literal")
		case !strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, "+"):
			script = true
		case strings.ContainsAny(a.Text, "ceEpr") && !strings.HasPrefix(a.Text, "--") || slices.Contains([]string{"--eval", "--print", "--command"}, a.Text):
			if !shellName(name) {
				r.hide("it runs text by " + name)
			}
			if i == len(args)-1 {
				r.hide("what " + name + " runs comes from its input")
			}
			for _, t := range args[i+1:] {
				if !t.Literal {
					r.hide("what " + name + " runs is not literal")
				}
				r.text(t.Text, shell, sure && shellName(name), depth)
			}
			return
		}
	}
	if !script {
		r.hide("what " + name + " runs comes from its input")
	}
}

func shellName(name string) bool {
	return slices.Contains(strings.Fields("sh bash dash ash zsh ksh mksh yash rbash"), name)
}

// match is how a restricting rule meets a command.
type match int

const (
	misses match = iota
	perhaps
	meets
)

// restricts says how a deny or ask rule with the pattern meets a command: its words are a
// beginning, flags may stand anywhere.
func (p pattern) restricts(c reached) match {
	if path.Base(c.words[0].Text) != path.Base(p.words[0]) {
		return misses
	}
	var flags, operands []string
	for _, w := range p.words[1:] {
		if strings.HasPrefix(w, "-") && len(w) > 1 {
			flags = append(flags, w)
		} else {
			operands = append(operands, w)
		}
	}
	args := c.words[1:]
	switch {
	case hasFlags(args, flags) && begins(args, operands):
		if c.sure {
			return meets
		}
		return perhaps
	case slices.ContainsFunc(args, func(w shelltext.Word) bool { return !w.Literal }):
		return perhaps
	case hasFlags(args, flags) && within(args, operands):
		return perhaps
	}
	return misses
}

// hasFlags says whether each flag stands among the arguments, a cluster of letters in any split.
func hasFlags(args []shelltext.Word, flags []string) bool {
	given, letters := []string{}, ""
	for _, a := range args {
		if a.Literal && strings.HasPrefix(a.Text, "-") {
			name, _, _ := strings.Cut(a.Text, "=")
			given = append(given, a.Text, name)
			if !strings.HasPrefix(a.Text, "--") {
				letters += a.Text[1:]
			}
		}
	}
	for _, f := range flags {
		if slices.Contains(given, f) {
			continue
		}
		if strings.HasPrefix(f, "--") || strings.Trim(f[1:], letters) != "" {
			return false
		}
	}
	return true
}

// begins says whether the operands stand at the beginning of the arguments that are no flags.
func begins(args []shelltext.Word, operands []string) bool {
	n := 0
	for _, a := range args {
		if n == len(operands) {
			break
		}
		if a.Literal && strings.HasPrefix(a.Text, "-") && a.Text != operands[n] {
			continue
		}
		if !a.Literal || a.Text != operands[n] {
			return false
		}
		n++
	}
	return n == len(operands)
}

// within says whether the operands stand among the arguments, in their order.
func within(args []shelltext.Word, operands []string) bool {
	n := 0
	for _, a := range args {
		if n < len(operands) && a.Literal && a.Text == operands[n] {
			n++
		}
	}
	return n == len(operands)
}
