package permission

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"agent/recovery/journal"
)

// Rule is one rule as it is written. What is empty is not said.
type Rule struct {
	Decision journal.Decision
	Tool     string // its name, or a glob such as mcp__github__*
	Text     string // of shell, to allow: a whole script by its normal form; a word {number} stands for any digits
	Command  string // of shell: literal words; a last * stands for any further words
	Access   string // of shell and of edits: allow up to this; deny and ask from this on: read, write or full
	Full     bool   // of shell, to allow: what nobody has seen may do everything
	Path     string // of file tools: a glob below the workspace
	Host     string // of calls that go out: a host, *.host or *, with a port or without
	Method   string // of fetch
	Folder   string // the workspace in which it holds, absolute
	Where    string // the file and line at which it stands, for people
}

// Accesses are what a command may ask for, from the least.
func Accesses() []string { return []string{"read", "write", "full"} }

// Methods are those of requests, as a rule may name them.
func Methods() []string { return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} }

// fileTools work on paths in the workspace; walkers among them look at all that lies below one.
var (
	fileTools = []string{"read_file", "write_file", "edit_file", "apply_patch", "list_dir", "find_files", "search"}
	walkers   = []string{"list_dir", "find_files", "search"}
	editTools = []string{"write_file", "edit_file", "apply_patch"}
)

// Tools are the built-in tools that a rule may name.
func Tools() []string {
	return append(slices.Clone(fileTools), "read_output", "shell", "fetch", "delegate")
}

// KeyError is what is wrong with one key of a rule.
type KeyError struct {
	Key string // as it is written in a file
	Err error
}

func (e *KeyError) Error() string { return e.Key + ": " + e.Err.Error() }

func (e *KeyError) Unwrap() error { return e.Err }

func wrong(key, format string, a ...any) error { return &KeyError{key, fmt.Errorf(format, a...)} }

// Check says what is wrong with a rule: what cannot be read, and what could never match. Each part
// is a *KeyError.
func (r Rule) Check() error {
	if r.Tool == "" {
		return wrong("tool", `a rule names its tool, such as tool = "shell"`)
	}
	if !doublestar.ValidatePattern(r.Tool) {
		return wrong("tool", "%q is no name and no glob of names", r.Tool)
	}
	if r.Tool == "ask_user" || r.Tool == "confirm_action" {
		return wrong("tool", "%s is a question to a person, and needs no permission", r.Tool)
	}
	if names := Tools(); !r.glob() && !strings.HasPrefix(r.Tool, "mcp__") && !slices.Contains(names, r.Tool) {
		return wrong("tool", "there is no tool %q; there are %s, and mcp__SERVER__TOOL of an MCP server", r.Tool, strings.Join(names, ", "))
	}
	return errors.Join(r.checkShell(), r.checkPath(), r.checkOut(), r.checkFolder())
}

func (r Rule) glob() bool { return strings.ContainsAny(r.Tool, `*?[{\`) }

// Named says whether the rule is about a tool.
func (r Rule) Named(tool string) bool {
	ok, err := doublestar.Match(r.Tool, tool)
	return ok && err == nil // Check refuses a pattern that cannot be read
}

func (r Rule) checkShell() error {
	if r.Command != "" && r.Tool != "shell" {
		return wrong("command", `only a rule with tool = "shell" has it`)
	}
	if r.Access != "" && r.Tool != "shell" && !slices.ContainsFunc(editTools, r.Named) {
		return wrong("access", "only a rule for shell, write_file, edit_file or apply_patch has it")
	}
	all := []error{r.checkText(), r.checkCommand(), r.checkFull()}
	if r.Access != "" && !slices.Contains(Accesses(), r.Access) {
		all = append(all, wrong("access", "%q is no access; choose read, write or full", r.Access))
	}
	return errors.Join(all...)
}

func (r Rule) checkText() error {
	switch {
	case r.Text == "":
		return nil
	case r.Tool != "shell":
		return wrong("text", `only a rule with tool = "shell" has it`)
	case r.Decision != journal.DecisionAllow:
		return wrong("text", "only an allow rule has it; a rule that asks or denies has command")
	case r.Command != "":
		return wrong("text", "not beside command")
	case len(r.Text) > maxText:
		return wrong("text", "longer than %d bytes", maxText)
	}
	if _, err := parseText(r.Text); err != nil {
		return wrong("text", "%w", err)
	}
	return nil
}

func (r Rule) checkCommand() error {
	if r.Command == "" {
		return nil
	}
	p, err := parsePattern(r.Command)
	switch {
	case err != nil || r.Decision != journal.DecisionAllow:
	case p.comment:
		err = errors.New("what stands behind # is no part of it; put it in quotes if it is meant as it stands")
	case slices.Contains(p.words, number):
		err = errors.New(number + " stands for digits in text alone")
	}
	if err != nil {
		return wrong("command", "%q: %w", r.Command, err)
	}
	return nil
}

func (r Rule) checkFull() error {
	switch {
	case !r.Full:
		return nil
	case r.Decision != journal.DecisionAllow:
		return wrong("full", "only an allow rule in your own config.toml has it")
	case r.Tool != "shell":
		return wrong("full", `only a rule with tool = "shell" has it`)
	case !r.broad() || r.Access != "":
		return wrong("full", "it is for rules that end in * or name no command, and is their access")
	}
	return nil
}

// broad reports whether a rule about shell covers what nobody has seen: its command ends in *, or
// it names none.
func (r Rule) broad() bool {
	if r.Command == "" {
		return r.Text == ""
	}
	// A star in quotes has one of them behind it, and an escaped one no blank in front.
	command := strings.TrimRight(r.Command, " \t\n")
	return command[strings.LastIndexAny(command, " \t\n")+1:] == "*"
}

// grants is the most that an allow rule about shell lets a command do. What nobody has seen is
// confined to the workspace by the system, unless the rule has full.
func (r Rule) grants() string {
	switch {
	case r.Full:
		return "full"
	case r.broad() && r.Access != "read":
		return "write"
	case r.Access != "":
		return r.Access
	}
	return "full"
}

func (r Rule) checkPath() error {
	switch {
	case r.Path == "":
	case !slices.ContainsFunc(fileTools, r.Named):
		return wrong("path", "the tool %s has no path", r.Tool)
	case !doublestar.ValidatePattern(r.Path):
		return wrong("path", "%q is no glob", r.Path)
	case path.IsAbs(r.Path) || strings.HasPrefix(r.Path, "~"):
		return wrong("path", "%q matches nothing: it is seen from the workspace, such as docs/**", r.Path)
	case path.Clean(r.Path) != r.Path || r.Path == ".." || strings.HasPrefix(r.Path, "../"):
		return wrong("path", "%q matches nothing: write it without ./, ../ and // and without a / at its end", r.Path)
	}
	return nil
}

func (r Rule) checkOut() error {
	var all []error
	if (r.Host != "" || r.Method != "") && r.Tool != "fetch" {
		all = append(all, wrong("host", `only a rule with tool = "fetch" has host and method`))
	}
	if r.Method != "" && !slices.Contains(Methods(), r.Method) {
		all = append(all, wrong("method", "%q is no method; choose one of %s", r.Method, strings.Join(Methods(), ", ")))
	}
	if name := strings.TrimPrefix(r.Host, "*."); r.Host != "" && r.Host != "*" &&
		(name == "" || strings.ContainsAny(name, "*?[]{}/@ \\") && !strings.HasPrefix(name, "[") || name != strings.ToLower(name)) {
		all = append(all, wrong("host", "%q is no host; write example.com, *.example.com or *, in small letters, with :port or without", r.Host))
	}
	return errors.Join(all...)
}

func (r Rule) checkFolder() error {
	if r.Folder != "" && (!filepath.IsAbs(r.Folder) || filepath.Clean(r.Folder) != r.Folder) {
		return wrong("folder", "%q is no absolute path of a workspace", r.Folder)
	}
	return nil
}

// text words what the rule is about.
func (r Rule) text() string {
	words := []string{shortened(cmp.Or(r.Text, r.Command, r.Tool), 200)} // in one line: none of it can look like another
	for _, w := range []string{r.Method, r.Host, r.Path} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// said words the rule with its place.
func (r Rule) said() string {
	if r.Where == "" {
		return "rule: " + r.text()
	}
	return "rule at " + r.Where + ": " + r.text()
}
