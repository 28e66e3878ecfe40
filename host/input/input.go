// Package input reads what a person gives to a run: the prompt, and the name by which it says how it is to be carried out.
//
// A prompt is for a model. It is a runbook only where it is named as one: by its front matter, whose line "agent: runbook" this
// package reads, or by a flag, which is the command line's. What a text looks like decides nothing.
package input

import (
	"fmt"
	"io"
	"strings"

	"agent/host/markdown"
)

// MaxPrompt bounds a prompt, in bytes: what is larger belongs into a file that the run reads.
const MaxPrompt = 16 << 20

// key is the field of front matter that names how a prompt is carried out, and runbook is its one value.
const (
	key     = "agent"
	runbook = "runbook"
)

// Named reports whether the front matter of a prompt names it a runbook. An unknown name is an error, and so is front matter with
// a name that is never closed: what was meant to be carried out must not be sent to a model.
func Named(prompt string) (bool, error) {
	if !strings.HasPrefix(strings.TrimPrefix(prompt, "\ufeff"), "---") {
		return false, nil // most prompts are no Markdown at all, and may be long
	}
	lines := markdown.Lines(prompt)
	count, fields := markdown.FrontMatter(lines)
	if count == 0 && len(lines) > 1 && strings.TrimRight(lines[0], " \t") == "---" && strings.HasPrefix(lines[1], key+":") {
		return false, fmt.Errorf("line 1: the front matter is never closed: a line of three dashes ends it")
	}
	named := false
	for _, f := range fields {
		switch {
		case f.Name != key:
		case f.Value != runbook:
			return false, fmt.Errorf("line %d: %s: %s is not known to this version; known is %s: %s", f.Line, key, f.Value, key, runbook)
		case named:
			return false, fmt.Errorf("line %d: %s is given twice", f.Line, key)
		default:
			named = true
		}
	}
	return named, nil
}

// Naming is the lines that name a prompt a runbook, as they have to stand in it: whole front matter, or one line for the front
// matter that the prompt has.
func Naming(prompt string) []string {
	line := key + ": " + runbook
	if count, _ := markdown.FrontMatter(markdown.Lines(prompt)); count > 0 {
		return []string{line}
	}
	return []string{"---", line, "---"}
}

// Read reads a prompt.
func Read(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxPrompt+1))
	if err != nil {
		return "", err
	}
	if len(b) > MaxPrompt {
		return "", fmt.Errorf("it is larger than %d MiB; put the bulk into a file of the folder and name it", MaxPrompt>>20)
	}
	return string(b), nil
}
