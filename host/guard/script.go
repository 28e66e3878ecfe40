package guard

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agent/recovery"
	"agent/tools/shelltext"
)

// Bounds of what is followed of a script.
const (
	maxCommands = 2000
	maxTexts    = 50 // scripts in arguments, heredocs and pipes
	maxInside   = 6  // scripts within scripts
)

// reading gathers the simple commands of a script.
type reading struct {
	folder   string
	follow   func(string) string
	dirs     []string          // folders, seen from the workspace, in which a command may run
	names    map[string]string // variables that are set to a plain word
	commands []recovery.Command
	texts    int
	inside   int
	opaque   string // why a text that a shell carries out could not be read
}

// script is what acts of a shell call.
func script(text, shell, folder string, follow func(string) string) recovery.Acts {
	r := &reading{folder: folder, follow: follow, dirs: []string{"."}, names: map[string]string{"PWD": folder}}
	var minified string
	if f := r.text(text, shell); f != nil {
		minified = printed(f)
	}

	acts := recovery.Acts{Commands: r.commands, Opaque: r.opaque}
	switch normal := shelltext.Read(text, shell).Normal; {
	case normal != nil:
		acts.Text = normal.Print()
	case minified != "":
		acts.Text = minified
	default:
		acts.Text = strings.Join(strings.Fields(text), " ")
	}
	return acts
}

// text takes the commands of a text that a shell carries out; nil where it cannot be read.
func (r *reading) text(text, shell string) *syntax.File {
	if r.texts++; r.texts > maxTexts || r.inside >= maxInside {
		r.opaque = "it holds scripts within scripts"
		return nil
	}
	f, why := shelltext.Parse(text, shell)
	if f == nil {
		r.opaque = why
		return nil
	}
	r.inside++
	syntax.Walk(f, r.visit)
	r.inside--
	return f
}

func (r *reading) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		r.statement(n)
	case *syntax.BinaryCmd:
		r.piped(n)
	}
	return true
}

// piped follows a text that is printed into a shell.
func (r *reading) piped(n *syntax.BinaryCmd) {
	if n.Op != syntax.Pipe && n.Op != syntax.PipeAll || n.Y == nil || n.X == nil {
		return
	}
	to, ok := n.Y.Cmd.(*syntax.CallExpr)
	if !ok || len(to.Args) == 0 || !isShell(path.Base(r.word(to.Args[0]))) {
		return
	}
	from, ok := n.X.Cmd.(*syntax.CallExpr)
	if !ok || len(from.Args) < 2 {
		return
	}
	var words []string
	for _, w := range from.Args[1:] {
		words = append(words, r.word(w))
	}
	if r.word(from.Args[0]) == "cat" {
		for _, file := range words {
			r.run([]string{file})
		}
		return
	}
	r.text(strings.Join(words, " "), "")
}

// fed takes a script that a shell reads as its input: sh < FILE, cat FILE | sh.
func (r *reading) fed(n *syntax.Stmt) {
	call, ok := n.Cmd.(*syntax.CallExpr)
	if !ok {
		return
	}
	var words []string
	for _, a := range call.Args {
		words = append(words, r.word(a))
	}
	if words = r.unwrapped(words); len(words) == 0 || !isShell(path.Base(words[0])) {
		return
	}
	for _, d := range n.Redirs {
		if d.Op == syntax.RdrIn && d.Word != nil {
			r.run([]string{r.word(d.Word)})
		}
	}
}

func (r *reading) statement(n *syntax.Stmt) {
	call, ok := n.Cmd.(*syntax.CallExpr)
	if n.Cmd != nil && !ok || len(r.commands) >= maxCommands {
		return
	}
	var words []string
	if call != nil {
		for _, a := range call.Assigns {
			if len(call.Args) == 0 && a.Name != nil && a.Value != nil {
				if value, plain := shelltext.Literal(a.Value); plain {
					r.names[a.Name.Value] = value
				}
			}
		}
		for _, a := range call.Args {
			words = append(words, r.word(a))
		}
	}
	r.fed(n)
	writes, input := r.redirections(n.Redirs)
	r.command(words, writes, input)
}

// redirections are the files that a statement writes, and the text that it is fed.
func (r *reading) redirections(list []*syntax.Redirect) (writes, input string) {
	for _, d := range list {
		switch d.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if d.Hdoc != nil {
				input += r.word(d.Hdoc)
			}
		case syntax.WordHdoc:
			input += r.word(d.Word)
		case syntax.RdrIn, syntax.DplIn, syntax.DplOut:
		default:
			if to := r.word(d.Word); to != "/dev/null" {
				writes += " " + d.Op.String() + " " + fromFolder(r.folder, to)
			}
		}
	}
	return writes, input
}

// command takes a simple command, through the programs that only run another one.
func (r *reading) command(words []string, writes, input string) {
	words = r.unwrapped(words)
	if len(words) == 0 {
		if writes != "" {
			r.add(recovery.Command{Names: []string{strings.TrimSpace(writes)}})
		}
		return
	}
	name := path.Base(words[0])
	r.handed(name, words)
	switch {
	case name == "eval":
		return
	case name == "cd" || name == "pushd":
		r.move(words)
	case name == "." || name == "source":
		r.run(words[1:])
		return
	case isShell(name):
		if r.shell(name, words[1:], input) {
			return
		}
	case isInterpreter(name):
		if i := operand(words, 1, ""); i < len(words) && i == firstWithout(words, "-c", "-e", "-m") {
			r.run(words[i:])
			return
		}
	case strings.Contains(words[0], "/"):
		r.run(words)
		return
	}
	idle := slices.Contains(strings.Fields(idlers), name)
	text := strings.Join(r.clean(words, name), "\x00")
	if idle && writes != "" {
		r.add(recovery.Command{Names: []string{text + writes + "\x00" + input}})
		return
	}
	r.add(recovery.Command{Names: []string{text}, Idle: idle})
}

func (r *reading) add(c recovery.Command) { r.commands = append(r.commands, c) }

// idlers are programs and builtins that change nothing by themselves.
const idlers = `: true false echo printf cat head tail grep wc ls pwd cd pushd popd test [ set shopt exit return shift wait sleep date type which
basename dirname umask sort uniq cut tr id whoami uname`

// clean writes the paths among a command's words as they are from the workspace.
func (r *reading) clean(words []string, name string) []string {
	out := []string{name}
	for _, w := range words[1:] {
		if strings.Contains(w, "/") && !strings.Contains(w, "://") {
			w = fromFolder(r.folder, w)
		}
		out = append(out, w)
	}
	return out
}

// run takes a script that is run by its path, from each folder in which that may be.
func (r *reading) run(words []string) {
	if len(words) == 0 {
		return
	}
	if dir := path.Dir(words[0]); slices.Contains(strings.Fields("/bin /usr/bin /usr/local/bin /sbin /usr/sbin"), dir) {
		r.command(append([]string{path.Base(words[0])}, words[1:]...), "", "")
		return
	}
	var c recovery.Command
	args := r.clean(words, "")
	for _, dir := range r.dirs {
		args[0] = "run " + r.from(dir, words[0])
		c.Names = append(c.Names, strings.Join(args, "\x00"))
	}
	r.add(c)
}

// from is a path as it is seen from the workspace by a command in one of its folders.
func (r *reading) from(dir, p string) string {
	if !path.IsAbs(p) {
		p = path.Join(dir, p)
	}
	return place(r.folder, p, r.follow)
}

// move notes that the commands that follow may run in another folder.
func (r *reading) move(words []string) {
	if len(words) != 2 || strings.ContainsAny(words[1], "$`*?~") || words[1] == "-" {
		return
	}
	if to := r.from(r.dirs[len(r.dirs)-1], words[1]); !slices.Contains(r.dirs, to) && len(r.dirs) < maxInside {
		r.dirs = append(r.dirs, to)
	}
}

// shell takes what a shell carries out: a text after -c, a file, or what it is fed.
func (r *reading) shell(name string, args []string, input string) bool {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-o" || a == "+o" || a == "-O" || a == "--rcfile" || a == "--init-file":
			i++
		case a == "--":
		case strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "c"):
			if i++; i < len(args) {
				r.text(args[i], name)
			}
			return true
		case strings.HasPrefix(a, "-") || strings.HasPrefix(a, "+"):
		default:
			r.run(args[i:])
			return true
		}
	}
	if input == "" {
		return false
	}
	r.text(input, name)
	return true
}

func isShell(name string) bool {
	return slices.Contains(strings.Fields("sh bash dash ash zsh ksh mksh yash rbash"), name)
}

func isInterpreter(name string) bool {
	return slices.Contains(strings.Fields("python python2 python3 pypy3 perl ruby node php lua Rscript tclsh"), name)
}

// firstWithout is the place of the first operand, -1 where one of the options stands before it.
func firstWithout(words []string, options ...string) int {
	for i, w := range words[1:] {
		switch {
		case slices.Contains(options, w):
			return -1
		case !strings.HasPrefix(w, "-"):
			return i + 1
		}
	}
	return -1
}

// word is a word as far as it is known without a shell; what is not is kept as it is written.
func (r *reading) word(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	if text, plain := shelltext.Literal(w); plain {
		return text
	}
	var b strings.Builder
	for _, p := range w.Parts {
		b.WriteString(r.part(p))
	}
	return b.String()
}

func (r *reading) part(p syntax.WordPart) string {
	switch p := p.(type) {
	case *syntax.DblQuoted:
		var b strings.Builder
		for _, q := range p.Parts {
			if l, ok := q.(*syntax.Lit); ok {
				b.WriteString(r.word(&syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: []syntax.WordPart{l}}}}))
				continue
			}
			b.WriteString(r.part(q))
		}
		return b.String()
	case *syntax.ParamExp:
		if value, ok := r.names[cmp.Or(p.Param, &syntax.Lit{}).Value]; ok && plainParameter(p) {
			return value
		}
	case *syntax.CmdSubst:
		if len(p.Stmts) == 1 && printed(p.Stmts[0]) == "pwd" {
			return r.folder
		}
	case *syntax.Lit, *syntax.SglQuoted:
		if text, plain := shelltext.Literal(&syntax.Word{Parts: []syntax.WordPart{p}}); plain {
			return text
		}
	}
	return printed(p)
}

func plainParameter(p *syntax.ParamExp) bool {
	return p.Exp == nil && !p.Excl && !p.Length && !p.Width && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Names == 0
}

func printed(n syntax.Node) string {
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.Minify(true)).Print(&b, n); err != nil {
		return ""
	}
	return b.String()
}
