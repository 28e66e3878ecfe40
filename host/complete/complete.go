// Package complete gives a shell what may stand where a command line is being typed: commands,
// flags, their values, and the ids of runs and questions. It looks at the words and carries nothing
// out.
package complete

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/urfave/cli/v3"

	"agent/db/family"
	"agent/host/app"
	"agent/host/help"
	"agent/host/stream"
	"agent/host/view"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// Command is the hidden first argument with which the scripts of agent completion ask what may
// stand next. The words typed so far follow, the one that is being typed last. They are looked at
// and never carried out.
const Command = "__complete"

// What a shell completes by itself.
const (
	files   = ":files"
	folders = ":folders"
)

// Completer knows the commands and the state folder. It prints one candidate a line: the word, a
// tab, what it is; or :files or :folders alone, which the shell knows best.
type Completer struct {
	*app.App
	Root func() *cli.Command // the command line
	Out  io.Writer
}

// newestCompleted is how many runs are offered beside those that have not ended.
const newestCompleted = 50

// typedLine is a command line as far as it was typed.
type typedLine struct {
	c       *Completer
	cmd     *cli.Command // the last command that was named
	args    []string     // its arguments before the word that is being typed
	value   string       // the flag whose value is being typed
	current string       // the word that is being typed
	before  string       // what stands before it in the same word: --mode=
	literal bool         // -- came: no flag follows
}

// Complete prints what may stand where the last word is being typed.
func (a *Completer) Complete(ctx context.Context, words []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	t := &typedLine{c: a, cmd: a.Root(), current: words[len(words)-1]}
	for _, w := range words[:len(words)-1] {
		if !t.read(w) {
			return // a command that there is not
		}
	}
	switch name, value, joined := strings.Cut(t.current, "="); {
	case t.value != "":
		t.current = strings.TrimPrefix(t.current, "=") // bash makes a word of it
		t.values(ctx)
	case !t.literal && joined && t.takesValue(name):
		t.before, t.current, t.value = name+"=", value, strings.TrimLeft(name, "-")
		t.values(ctx)
	case !t.literal && strings.HasPrefix(t.current, "-"):
		t.flags()
	case t.cmd.Name == "agent":
		t.commands()
	default:
		t.arguments(ctx)
	}
}

// read takes one whole word. It is false where the word names no command.
func (t *typedLine) read(w string) bool {
	switch {
	case t.value != "" && w == "=": // bash makes a word of it
	case t.value != "":
		t.value = ""
	case !t.literal && w == "--":
		t.literal = true
	case !t.literal && len(w) > 1 && w[0] == '-':
		if t.takesValue(w) {
			t.value = strings.TrimLeft(w, "-")
		}
	case t.cmd.Name == "agent":
		sub := t.cmd.Command(w)
		if sub == nil {
			return false
		}
		t.cmd = sub
	default:
		t.args = append(t.args, w)
	}
	return true
}

// takesValue says whether a word is a flag of the command that a value follows.
func (t *typedLine) takesValue(w string) bool {
	name := strings.TrimLeft(w, "-")
	for _, f := range t.cmd.Flags {
		doc, ok := f.(cli.DocGenerationFlag)
		if ok && name != w && slices.Contains(f.Names(), name) {
			return doc.TakesValue()
		}
	}
	return false
}

func (t *typedLine) flags() {
	for _, f := range t.cmd.Flags {
		about := ""
		if doc, ok := f.(cli.DocGenerationFlag); ok {
			about = strings.ReplaceAll(doc.GetUsage(), "`", "")
		}
		t.offer("--"+f.Names()[0], about)
	}
	t.offer("--help", "show help")
}

func (t *typedLine) commands() {
	for _, c := range t.cmd.Commands {
		t.offer(c.Name, c.Usage)
	}
}

// topics completes the names of the help's topics. What is wrong with them is reported by agent
// help.
func (t *typedLine) topics() {
	topics, err := help.Topics()
	if err != nil {
		return
	}
	for _, topic := range topics {
		t.offer(topic.Name, topic.About)
	}
}

// values completes the value of a flag.
func (t *typedLine) values(ctx context.Context) {
	switch t.value {
	case "f", "file", "salvage", "image", "record":
		fmt.Fprintln(t.c.Out, files)
	case "dir":
		fmt.Fprintln(t.c.Out, folders)
	case "model":
		t.models()
	case "effort":
		for _, e := range journal.Efforts() {
			t.offer(string(e), "")
		}
	case "mode":
		for _, m := range journal.Modes() {
			t.offer(string(m), "")
		}
	case "thread":
		t.c.withStore(ctx, t.threads)
	case "format":
		t.offer("md", "Markdown")
		t.offer("html", "a page without script")
		t.offer("json", "what show and diff print with --json")
	}
}

// arguments completes the arguments of a command.
func (t *typedLine) arguments(ctx context.Context) {
	first := len(t.args) == 0
	switch t.cmd.Name {
	case "help":
		if first {
			t.cmd = t.c.Root()
			t.commands()
			t.topics()
		}
	case "flow":
		if first {
			t.offer("check", "print what a flow file says, and every mistake")
		} else if len(t.args) == 1 {
			fmt.Fprintln(t.c.Out, files)
		}
	case "git":
		if first {
			t.offer("on", "have git name checkpoints in commits")
			t.offer("off", "remove what on added")
			t.offer("status", "show what is on, and what else runs")
		}
	case "completion":
		if first {
			t.offer("bash", "")
			t.offer("zsh", "")
			t.offer("fish", "")
		}
	case "models":
		if first {
			t.models()
		}
	case "show", "attach", "checkpoints", "diff", "export", "resume", "tell", "cancel":
		if !first && (t.cmd.Name == "diff" || t.cmd.Name == "export") {
			fmt.Fprintln(t.c.Out, files)
		}
		if first {
			about := "the newest run"
			if t.cmd.Name == "resume" {
				about = "the newest run of this folder that can be resumed"
			}
			t.offer("last", about)
			t.c.withStore(ctx, func(s *app.Store) error { return t.runs(ctx, s) })
		}
	}
	if t.cmd.Name == "answer" || t.cmd.Name == "cancel" && first {
		t.c.withStore(ctx, func(s *app.Store) error { return t.requests(ctx, s) })
	}
	if t.cmd.Name == "answer" {
		t.c.withStore(ctx, func(s *app.Store) error { return t.calls(ctx, s) })
	}
}

// models completes the name of a model. What is wrong with the configuration is said by every
// command that reads it.
func (t *typedLine) models() {
	conf, err := t.c.Settings("")
	if err != nil {
		return
	}
	for _, m := range conf.ModelNames() {
		t.offer(m[0], m[1])
	}
}

// offered are all runs that have not ended and the newest of all: those that people started.
func offered(ctx context.Context, s *app.Store) ([]app.RunRow, error) {
	return s.Runs(ctx, app.Filter{Limit: newestCompleted})
}

// withBelow are the runs that are offered, each with all runs below it behind it.
func withBelow(ctx context.Context, s *app.Store) (out []app.RunRow, err error) {
	rows, err := offered(ctx, s)
	if err != nil {
		return nil, err
	}
	sizes, err := family.Sizes(ctx, s, rows)
	for _, row := range rows {
		out = append(out, row)
		if err == nil && sizes[row.ID].Children > 0 {
			var below []app.RunRow
			below, err = family.Below(ctx, s, row.ID)
			out = append(out, below...)
		}
	}
	return out, err
}

// runs completes ids of runs: only such as can still go on, where the command is about going on.
// Runs below others that have ended are many, and offered once an id was begun.
func (t *typedLine) runs(ctx context.Context, s *app.Store) error {
	rows, err := withBelow(ctx, s)
	for _, r := range rows {
		ended := r.Status.Terminal()
		switch {
		case ended && !slices.Contains([]string{"show", "checkpoints", "diff", "export"}, t.cmd.Name):
		case ended && r.Root != "" && len(t.current) <= len("r-"):
		case r.Root != "":
			t.offer(r.ID, string(r.Status)+", "+r.Role+" of "+r.Root)
		default:
			t.offer(r.ID, string(r.Status)+", "+view.PromptStart(r.Prompt))
		}
	}
	return err
}

func (t *typedLine) threads(s *app.Store) error {
	rows, err := offered(context.Background(), s)
	seen := map[string]bool{}
	for _, r := range rows {
		if !seen[r.Thread] {
			seen[r.Thread] = true
			t.offer(r.Thread, view.PromptStart(r.Prompt))
		}
	}
	return err
}

// requests completes the ids of open questions, and the answers that fit the one that was named.
func (t *typedLine) requests(ctx context.Context, s *app.Store) error {
	rows, err := s.Pending(ctx, false)
	for _, r := range rows {
		switch {
		case !r.Expires.IsZero() && !fault.Now().Before(r.Expires):
		case len(t.args) == 0:
			t.offer(r.ID, r.Request.Message)
		case len(t.args) == 1 && t.args[0] == r.ID:
			for i, word := range r.Request.Choices {
				hint := ""
				if i < len(r.Request.Hints) {
					hint = r.Request.Hints[i]
				}
				t.offer(word, hint)
			}
		}
	}
	return err
}

// calls completes the ids of calls whose outcome is unknown, and what can be said about one.
func (t *typedLine) calls(ctx context.Context, s *app.Store) error {
	if len(t.args) > 0 {
		if len(t.args) == 1 && strings.HasPrefix(t.args[0], "c-") {
			t.offer(string(journal.WordHappened), "it took place")
			t.offer(string(journal.WordLeave), "it stays unknown")
		}
		return nil
	}
	rows, err := withBelow(ctx, s)
	for _, r := range rows {
		if err != nil {
			break
		}
		if r.Unknown == 0 {
			continue
		}
		var calls []app.CallRow
		calls, err = s.Calls(ctx, r.ID)
		for _, c := range calls {
			if c.Unknown() {
				t.offer(c.ID, view.CallName(c.Tool, c.Proposal.Args))
			}
		}
	}
	return err
}

// offer prints a candidate that begins as what was typed.
func (t *typedLine) offer(word, about string) {
	word = strings.Join(strings.Fields(stream.Sanitize(word)), " ")
	if !strings.HasPrefix(word, t.current) {
		return
	}
	about = strings.Join(strings.Fields(stream.Sanitize(about)), " ")
	fmt.Fprintf(t.c.Out, "%s%s\t%s\n", t.before, word, displaywidth.TruncateString(about, 60, "…"))
}

// withStore reads the state folder without changing anything. An error is not shown: it would be
// printed into the line that the person is typing, and every command shows it when it is run.
func (a *Completer) withStore(ctx context.Context, f func(*app.Store) error) {
	home, err := a.Home()
	if err != nil {
		return
	}
	s, err := app.OpenRead(ctx, home)
	if err != nil {
		return
	}
	_ = f(s)      // as above
	_ = s.Close() // it was only read
}
