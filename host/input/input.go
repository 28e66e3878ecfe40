// Package input reads what a person gives to a run: the prompt, the name by which it says how it is
// to be carried out, and what is piped in beside it.
//
// A prompt is for a model. It is a runbook or a flow only where it is named as one: by its front
// matter, whose line "agent: runbook" or "agent: flow" this package reads, or by a flag, which is
// the command line's. What a text looks like decides nothing.
package input

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"agent/host/markdown"
)

// MaxPrompt bounds a prompt, in bytes: what is larger belongs into a file that the run reads.
const MaxPrompt = 16 << 20

// key is the field of front matter that names how a prompt is carried out.
const key = "agent"

// The names that a prompt may give itself.
const (
	Runbook = "runbook"
	Flow    = "flow"
)

// Named is the name that the front matter of a prompt gives it: Runbook, Flow or nothing. An
// unknown name is an error, and so is front matter with a name that is never closed: what was meant
// to be carried out must not be sent to a model.
func Named(prompt string) (string, error) {
	if !strings.HasPrefix(strings.TrimPrefix(prompt, "\ufeff"), "---") {
		return "", nil // most prompts are no Markdown at all, and may be long
	}
	lines := markdown.Lines(prompt)
	count, fields := markdown.FrontMatter(lines)
	if count == 0 && len(lines) > 1 && strings.TrimRight(lines[0], " \t") == "---" && strings.HasPrefix(lines[1], key+":") {
		return "", fmt.Errorf("line 1: the front matter is never closed: a line of three dashes ends it")
	}
	named := ""
	for _, f := range fields {
		switch {
		case f.Name != key:
		case f.Value != Runbook && f.Value != Flow:
			return "", fmt.Errorf("line %d: %s: %s is not known to this version; known are %s: %s and %s: %s", f.Line, key, f.Value, key, Runbook, key, Flow)
		case named != "":
			return "", fmt.Errorf("line %d: %s is given twice", f.Line, key)
		default:
			named = f.Value
		}
	}
	return named, nil
}

// Strays are the fields of the front matter of a prompt that say nothing: all but its name.
func Strays(prompt string) []markdown.Field {
	_, fields := markdown.FrontMatter(markdown.Lines(prompt))
	return slices.DeleteFunc(fields, func(f markdown.Field) bool { return f.Name == key })
}

// Naming is the lines that give a prompt a name, as they have to stand in it: whole front matter,
// or one line for the front matter that the prompt has.
func Naming(prompt, name string) []string {
	line := key + ": " + name
	if count, _ := markdown.FrontMatter(markdown.Lines(prompt)); count > 0 {
		return []string{line}
	}
	return []string{"---", line, "---"}
}

// Text checks that what was read as a prompt is text. The error names the line.
func Text(b []byte) (string, error) {
	text := string(b)
	if at := strings.IndexByte(text, 0); at >= 0 {
		return "", fmt.Errorf("line %d: holds a NUL byte: a prompt is text", lineOf(text, at))
	}
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("line %d: not valid UTF-8: a prompt is text in UTF-8", lineOf(text, len(validStart(text))))
	}
	return text, nil
}

// Piped makes text of what was piped in. What is not UTF-8, which logs hold, becomes U+FFFD;
// replaced counts those bytes. A NUL byte is an error that names its line: such data is no text at
// all.
func Piped(b []byte) (text string, replaced int, err error) {
	text = string(b)
	if at := strings.IndexByte(text, 0); at >= 0 {
		return "", 0, fmt.Errorf("line %d holds a NUL byte, and only text can be piped in", lineOf(text, at))
	}
	for rest := text; rest != ""; {
		rest = rest[len(validStart(rest)):]
		if rest != "" {
			rest = rest[1:]
			replaced++
		}
	}
	if replaced == 0 {
		return text, 0, nil
	}
	return string([]rune(text)), replaced, nil
}

// validStart is the part of a text before its first byte that is not UTF-8.
func validStart(text string) string {
	for i, r := range text {
		if r != utf8.RuneError {
			continue
		}
		if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
			return text[:i]
		}
	}
	return text
}

// lineOf is the number of the line that a byte stands in, from 1.
func lineOf(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }
