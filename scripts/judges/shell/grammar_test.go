package shell

import (
	"math/rand/v2"
	"strings"
)

// The programs of generated scripts: stubs that write down with what they were run. Those with an f
// fail; dd is what a rule denies.
func stubs() []string { return []string{"aa", "bb", "cc", "ff", "dd", "x#y", "é", "a-b"} }

// grammar makes scripts out of a shell's whole grammar, most of them such as a shell takes.
type grammar struct {
	*rand.Rand
	depth   int
	pending []string // bodies of here-documents, which follow at the next newline
}

// script makes one script.
func (g *grammar) script() string {
	text := g.list()
	text += g.documents()
	if g.IntN(12) == 0 { // what no grammar makes
		at := g.IntN(len(text) + 1)
		text = text[:at] + g.pick("\r", "\x00", "\xff", "\u00a0", "\u2014", "\u3164", `\`, "#", "'", `"`, "`", "(", ")", "{", "}", ";;", "&", "|", "\n", "$(", "<<E\n", "!", "=", "\\\n") + text[at:]
	}
	return text
}

func (g *grammar) pick(of ...string) string { return of[g.IntN(len(of))] }

// documents are the bodies that are due.
func (g *grammar) documents() string {
	if len(g.pending) == 0 {
		return ""
	}
	text := "\n" + strings.Join(g.pending, "")
	g.pending = nil
	return text
}

func (g *grammar) list() string {
	text := g.pipeline()
	for g.IntN(5) < 2 {
		join := g.pick("; ", "\n", "\n", " && ", " || ", " & ", "\n\n", " &&\n", " ||\n", g.comment()+"\n")
		if strings.Contains(join, "\n") && len(g.pending) > 0 {
			text += g.documents()
			continue
		}
		text += join + g.pipeline()
	}
	return text
}

// comment is one, as it stands behind a command.
func (g *grammar) comment() string {
	return " #" + g.pick("", " aa", " bb x", " $(aa)", " 'aa", ` aa \`, `\`, ` \\`, " `", " <<E", " é", "!")
}

func (g *grammar) pipeline() string {
	text := g.command()
	for g.IntN(6) == 0 {
		text += g.pick(" | ", " | ", "|", " |\n", " |& ") + g.command()
	}
	if g.IntN(20) == 0 {
		text = "! " + text
	}
	return text
}

func (g *grammar) command() string {
	if g.depth > 3 || g.IntN(4) > 0 {
		return g.simple()
	}
	g.depth++
	defer func() { g.depth-- }()
	inner := func() string {
		text := g.list()
		if d := g.documents(); d != "" {
			return text + d + ":"
		}
		return text
	}
	var text string
	switch g.IntN(14) {
	case 0:
		text = "(" + inner() + ")"
	case 1:
		text = "{ " + inner() + "\n}"
	case 2:
		text = "if " + inner() + "\nthen " + inner() + "\nelse " + inner() + "\nfi"
	case 3:
		text = "for " + g.pick("i", "PATH", "x") + " in " + g.word() + " " + g.word() + "\ndo " + inner() + "\ndone"
	case 4:
		text = "case " + g.word() + " in " + g.pick("x", "*", "a*", "aa|bb") + ") " + inner() + "\n;; *) " + inner() + "\n;; esac"
	case 5:
		text = "while ff\ndo " + inner() + "\ndone"
	case 6:
		text = g.pick("f", "aa", "dd") + "() { " + inner() + "\n}"
	case 7:
		text = "eval " + quote(inner())
	case 8:
		text = g.pick("sh", "bash", "dash") + " -c " + quote(inner())
	case 9:
		text = g.pick("env ", "command ", "exec ", "env A=b ", "nohup ", "time ", "time -- ", "time -p ") + g.simple()
	case 10:
		text = "alias " + g.pick("zz", "aa") + "=" + quote(g.pick("dd", "dd x", "bb ")) + "\n" + g.pick("zz", "aa", "zz x")
	case 11:
		text = "printf " + quote(g.pick("dd x", "bb y", "x")+`\n`) + " | " + g.pick("sh", "xargs", "xargs aa", "bash -s")
	case 12:
		text = "set " + g.pick("-e", "-u", "-f", "-k", "-o noglob", "-- a b", "+e")
	default:
		text = "[[ " + g.word() + " == " + g.word() + " ]]"
	}
	return text + g.redirects()
}

func (g *grammar) simple() string {
	var parts []string
	if g.IntN(15) == 0 {
		parts = append(parts, g.pick("A=b", "a=()", "a=(x)#", "PATH=.", "A=$(bb)", "A='x y'", "IFS=a"))
	}
	name := g.pick(stubs()...)
	switch g.IntN(12) {
	case 0:
		name = g.spelled(name)
	case 1:
		name = g.pick(":", "true", "echo", "[", "test", "cd", "exit", "return", "$x", "zz", "if", "done", "function", "a=b", "coproc", "select", "''", "=aa")
	}
	parts = append(parts, name)
	for g.IntN(5) < 3 {
		parts = append(parts, g.word())
	}
	return strings.Join(parts, g.pick(" ", " ", " ", "\t", " \\\n", "  ")) + g.redirects()
}

func (g *grammar) redirects() string {
	var text string
	for g.IntN(8) == 0 {
		switch r := g.pick(">/dev/null", " 2>&1", " 1>&2", " >&2", " 2>/dev/null", " 1>/dev/null", " >f", " >>f", " <f", " <&-", " &>/dev/null", " >|f", " <<<", " <<E", " <<'E'", " <<-E", " {v}>f", " 2 >/dev/null", " >$x"); r {
		case " <<E", " <<'E'", " <<-E":
			text += r
			g.pending = append(g.pending, g.pick("x", "$(bb doc)", "dd y", `a \`, "'", "#", "a\\\n\tE", "\ta \\\ndd")+"\n"+g.pick("", "\t")+"E\nE\n")
		case " <<<":
			text += r + g.word()
		default:
			text += r
		}
	}
	return text
}

// spelled is a name in another spelling.
func (g *grammar) spelled(name string) string {
	switch g.IntN(5) {
	case 0:
		return "'" + name + "'"
	case 1:
		return `"` + name + `"`
	case 2:
		return `\` + name
	case 3:
		return name[:1] + "''" + name[1:]
	}
	return name + "\\\n"
}

func (g *grammar) word() string {
	var text string
	for range 1 + g.IntN(2)*g.IntN(3) {
		switch g.IntN(12) {
		case 0:
			text += "'" + g.pick("a b", "", "$x", `\`, "#", "a\nb", "a\tb", `"`, "*", "dd", "! {a,b}", "~") + "'"
		case 1:
			text += `"` + g.pick("a b", "", "#", "'", "a\nb", "*", "dd", "~", "{a,b}", "a#b", "=") + `"`
		case 2:
			text += `"` + g.pick("$x", "$(bb in)", "`bb in`", `\$x`, `\`+"\n", `\a`, "!", "!!", "${x:-dd}", "$\\\n(dd)", "$\\\n{x}", "${y:-'$(dd)'}") + `"`
		case 3:
			text += g.pick("$x", "${x}", "$(bb in)", "`bb in`", "$((1+1))", "${x:=a}", "$@", "$1", "<(bb in)", `$'a\'b'`, `$"a"`, "${#x}", "${y:-<(dd)}", "${y:-$(dd)}", "$\\\n(dd)", `$'\x24'`)
		case 4:
			text += g.pick("*", "?", "[a]", "{a,b}", "{a..c}", "~", "~/x", "a~", "x=~", "@(a)", "[", "]", "{", "}", "{}", "!", "^", "%1", "+x", ",")
		case 5:
			text += g.pick(`\ `, `\'`, `\\`, `\a`, "\\\n", `\#`, `\$`, `\*`)
		default:
			text += g.pick("a", "b", "x", "dd", "-n", "--a=b", "a=b", "=a", "a#b", "#c", "1", "é", "a:b", "a,b", "@", "%", "+", ".", "a.b", "if", "then", "in", "do", "time")
		}
	}
	return text
}

// quote is a text as one word of a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
