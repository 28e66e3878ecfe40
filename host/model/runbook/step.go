package runbook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"agent/recovery/journal"
)

// The tools that the model treats differently from the rest.
const (
	toolShell   = "shell"
	toolConfirm = "confirm_action"
	toolAsk     = "ask_user"
	toolWrite   = "write_file"
	toolPatch   = "apply_patch"
	toolFetch   = "fetch"
)

// heading is a heading of the runbook.
type heading struct {
	level, line int
	text        string
}

// step is one thing to carry out.
type step struct {
	line  int       // of the fence or the item, from 1
	path  []heading // the headings above it, outermost first
	tool  string
	args  map[string]any
	noun  string // what it is: sh block, bash block, or the tool's name
	title string // its first line that says something; with … where a script has more

	command string // of a block, beside args: most have nothing but that, and there may be very many
}

// arguments are all of the call's.
func (s step) arguments() map[string]any {
	if s.command == "" {
		return s.args
	}
	all := map[string]any{"command": s.command}
	maps.Copy(all, s.args)
	return all
}

// titleLimit bounds a step's first line where it is shown, in characters.
const titleLimit = 72

// provider is the model's own id for the call of a step. It says which step a recorded call
// answers.
func provider(index int) string { return fmt.Sprintf("step-%d", index+1) }

// call makes the block that asks for the step.
func (s step) call(index int) (journal.Block, error) {
	args, err := encode(s.arguments())
	if err != nil {
		return journal.Block{}, fmt.Errorf("encode the arguments of line %d: %v", s.line, err)
	}
	return journal.Block{Kind: journal.BlockCall, Call: &journal.CallBlock{
		Provider: provider(index), Tool: s.tool, Args: args,
	}}, nil
}

// encode gives the same bytes for the same arguments: keys sorted, no HTML escapes, no space.
func encode(args map[string]any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(args); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// where names the step's place for a person: "line 12 (Release > Build)".
func (s step) where() string {
	if len(s.path) == 0 {
		return fmt.Sprintf("line %d", s.line)
	}
	names := make([]string, len(s.path))
	for i, h := range s.path {
		names[i] = h.text
	}
	return fmt.Sprintf("line %d (%s)", s.line, strings.Join(names, " > "))
}

// brief names the step in a list: "line 12: sh: make release".
func (s step) brief() string {
	if s.noun != s.tool {
		return fmt.Sprintf("line %d: %s: %s", s.line, strings.TrimSuffix(s.noun, " block"), s.title)
	}
	return fmt.Sprintf("line %d: %s", s.line, s.title)
}

// news is the text of the headings that hold for the step and did not for the one before it.
func (s step) news(before *step) string {
	same := 0
	if before != nil {
		for same < len(s.path) && same < len(before.path) && s.path[same] == before.path[same] {
			same++
		}
	}
	var lines []string
	for _, h := range s.path[same:] {
		lines = append(lines, strings.Repeat("#", h.level)+" "+h.text)
	}
	return strings.Join(lines, "\n")
}

// firstLine is the first line of text that is not blank, cut to limit characters.
func firstLine(text string, limit int) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return cut(line, limit)
		}
	}
	return ""
}

// cut shortens a line to limit characters.
func cut(line string, limit int) string {
	if utf8.RuneCountInString(line) <= limit {
		return line
	}
	for i := range line {
		if limit--; limit == 0 {
			return line[:i] + "…"
		}
	}
	return line
}
