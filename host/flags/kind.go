package flags

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/flow/file"
	"agent/host/input"
	"agent/host/model/catalog"
	"agent/host/model/runbook"
	"agent/host/view"
)

// mistakesShown bounds how many mistakes of front matter are named at once.
const mistakesShown = 10

// Named takes up what the front matter of the prompt says. A prompt that names itself a runbook
// does not go with another model.
func (f *Run) Named(c *cli.Command, req host.StartRequest) error {
	what := "the prompt"
	if req.Source != "" {
		what = filepath.Base(req.Source)
	}
	name, err := input.Named(req.Prompt)
	switch {
	case err != nil:
		return app.Usage(fmt.Errorf("read the front matter of %s: %v", what, err))
	case name == input.Flow && f.Runbook != "":
		return app.Usage(fmt.Errorf("--runbook: %s says in its front matter that it is a flow; leave --runbook out", what))
	case name == input.Runbook && f.Flow:
		return app.Usage(fmt.Errorf("--flow: %s says in its front matter that it is a runbook; leave --flow out", what))
	case f.Flow, name == input.Flow:
		f.Flow = true
		return f.flowOnly(c)
	case req.Task != "":
		return app.Usage(errors.New("give the prompt as an argument or with -f, not both; a task beside -f is for a flow: agent help flows"))
	case f.Runbook != "":
		return strays(c, req.Prompt, what, name != "")
	case name == "":
		return unnamedFlow(c, req.Prompt)
	case f.Model != "" && f.Model != runbook.Name:
		return app.Usage(fmt.Errorf("--model %s: %s says in its front matter that it is a runbook; leave --model out to carry it out, "+
			`or take the line "agent: runbook" out to send it to the model`, f.Model, what))
	case f.Model == "":
		f.Runbook = "its front matter"
	}
	return strays(c, req.Prompt, what, true)
}

// strays refuses keys of a runbook's front matter, which mean nothing there: whoever wrote mode:
// plan relies on it. Front matter that does not name the file is another program's, and so are its
// keys but those that are flags here.
func strays(c *cli.Command, prompt, what string, named bool) error {
	var wrong []string
	for _, f := range input.Strays(prompt) {
		fix := "the only key here is agent"
		if slices.ContainsFunc(c.Flags, func(flag cli.Flag) bool { return slices.Contains(flag.Names(), f.Name) }) {
			fix = "it is a flag: --" + f.Name
		} else if !named {
			continue
		}
		wrong = append(wrong, fmt.Sprintf("line %d: there is no key %q in the front matter of a runbook; %s", f.Line, f.Name, fix))
	}
	if len(wrong) == 0 {
		return nil
	}
	if more := len(wrong) - mistakesShown; more > 0 {
		wrong = append(wrong[:mistakesShown], fmt.Sprintf("and %d more", more))
	}
	return app.Usage(fmt.Errorf("read the front matter of %s: %s", what, strings.Join(wrong, "\n       ")))
}

// flowOnly refuses what a flow has no use for.
func (f *Run) flowOnly(c *cli.Command) error {
	switch {
	case c.String("file") == "":
		return app.Usage(errors.New("a flow is read from a file: agent run -f FILE [TASK]"))
	case len(f.Images) > 0:
		return app.Usage(errors.New("--image: a flow shows no pictures to its phases; leave it out"))
	}
	return nil
}

// unnamedFlow refuses a file with phases in it that is not named a flow: sent as a prompt, or
// carried out as a runbook, it would be something else than its author wrote.
func unnamedFlow(c *cli.Command, prompt string) error {
	if c.String("file") == "" && c.Args().First() != "-" {
		return nil
	}
	line := file.First(prompt)
	if line == 0 {
		return nil
	}
	what, from := "the prompt", "FILE"
	if name := c.String("file"); name != "" {
		what, from = name, view.ShellWord(name)
	}
	where, lines := whereToName(prompt, input.Flow)
	return app.Usage(fmt.Errorf("%s has phases (the first at line %d) and does not say that it is a flow; %s:\n           %s\n"+
		`       to show it to a model as text: agent run "what to do with it" < %s`, what, line, where, lines, from))
}

// noModelError refuses a prompt that no model is there for, with what makes the prompt a runbook
// where it looks like one.
type noModelError struct {
	*catalog.NoModelError
	hint    string
	command string // carries the prompt out as a runbook; "" where it does not look like one
}

func (e *noModelError) Error() string {
	return e.NoModelError.Error() + " (agent models lists what there is)" + e.hint
}

// Fixes is the command that carries the prompt out, where it looks like a runbook, else that which
// lists models.
func (e *noModelError) Fixes() []view.Fix {
	if e.command == "" {
		return []view.Fix{{Does: "see the models", Command: "agent models"}}
	}
	return []view.Fix{{Does: "carry it out", Command: e.command}}
}

// NoModel completes the refusal of a prompt for which no model is configured.
func NoModel(c *cli.Command, prompt string, err error) error {
	var none *catalog.NoModelError
	if !errors.As(err, &none) {
		return err
	}
	out := &noModelError{NoModelError: none}
	if looks := looksLike(c, prompt); looks != "" {
		out.command = asRunbook(c)
		out.hint = "\n       " + looks + howToName(out.command, prompt)
	}
	return app.Usage(out)
}

// SentAsPrompt says, before anything is sent, that a file with steps goes to a model as a prompt;
// "" where that is not so.
func SentAsPrompt(c *cli.Command, prompt, model string) string {
	if model == runbook.Name || c.String("file") == "" && c.Args().First() != "-" {
		return ""
	}
	looks := looksLike(c, prompt)
	if looks == "" {
		return ""
	}
	return fmt.Sprintf("%s, and is sent to %s as a prompt%s", looks, model, howToName(asRunbook(c), prompt))
}

// looksLike describes a prompt with steps in it; "" where there are none. It decides nothing.
func looksLike(c *cli.Command, prompt string) string {
	steps, first := runbook.Steps(prompt)
	if steps == 0 {
		return ""
	}
	name := "the prompt"
	if file := c.String("file"); file != "" {
		name = file
	}
	return fmt.Sprintf("%s looks like a runbook (%s, the first at %s)", name, view.Count(steps, "step"), first)
}

// howToName is the two ways to have a prompt carried out as a runbook.
func howToName(command, prompt string) string {
	where, lines := whereToName(prompt, input.Runbook)
	return fmt.Sprintf("\n       to carry it out: %s\n       or %s:\n           %s", command, where, lines)
}

// whereToName is the lines that name a prompt, and where they are to stand.
func whereToName(prompt, name string) (where, lines string) {
	where = "begin it with"
	all := input.Naming(prompt, name)
	if len(all) == 1 {
		where = "add to its front matter"
	}
	return where, strings.Join(all, "\n           ")
}

// asRunbook is the command that carries the same prompt out as a runbook.
func asRunbook(c *cli.Command) string {
	words := []string{"agent", "run", "--runbook"}
	for _, name := range []string{"dir", "mode", "thread", "max-turns", "timeout", "expire", "start-key"} {
		if c.IsSet(name) {
			words = append(words, "--"+name, view.ShellWord(fmt.Sprint(c.Value(name))))
		}
	}
	for _, name := range []string{"continue", "json"} {
		if c.Bool(name) {
			words = append(words, "--"+name)
		}
	}
	switch prompt := c.Args().First(); {
	case c.String("file") != "":
		words = append(words, "-f", view.ShellWord(c.String("file")))
	case strings.Contains(prompt, "\n"):
		words = append(words, `"…"`)
	default:
		words = append(words, view.ShellWord(prompt))
	}
	return strings.Join(words, " ")
}
