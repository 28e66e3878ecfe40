package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"agent/host/stream"
	"agent/recovery/journal"
)

// QuestionText is what a person is asked, whole. Its own lines are set in, so that no text of a
// model can look like a line of this program.
func QuestionText(r *journal.Request) string {
	return "? " + strings.ReplaceAll(AskText(r), "\n", "\n  ")
}

// AskText is the question with what each answer does. What cannot be seen in it is shown by its
// number.
func AskText(r *journal.Request) string {
	text := strings.TrimRight(stream.Visible(r.Message), "\n")
	width := 0
	for _, c := range r.Choices {
		width = max(width, displaywidth.String(c))
	}
	usual := len(r.Hints) == 0 && slices.Equal(r.Choices, []string{"yes", "no"})
	numbers := numbered(r.Question)
	for i, c := range r.Choices {
		c = strings.Join(strings.Fields(stream.Sanitize(c)), " ")
		switch {
		case i < len(r.Hints):
			text += "\n  " + c + strings.Repeat(" ", max(0, width-displaywidth.String(c))) + "  " + stream.Visible(r.Hints[i])
		case numbers:
			text += fmt.Sprintf("\n  %*d  %s", len(strconv.Itoa(len(r.Choices))), i+1, c)
		case !usual:
			text += "\n  " + c
		}
	}
	return text
}

// RulesText shows what each answer adds, as it would stand in the configuration.
func RulesText(r *journal.Request) string {
	var b strings.Builder
	for _, c := range r.Choices {
		if rules := r.Rules[c]; rules != "" {
			b.WriteString("  " + c + "\n    " + strings.ReplaceAll(strings.TrimRight(stream.Visible(rules), "\n"), "\n", "\n    ") + "\n")
		}
	}
	return b.String()
}

// PromptText is what stands before the place where the answer is typed.
func PromptText(r *journal.Request) string {
	if len(r.Choices) == 0 {
		return "answer"
	}
	if text := strings.Join(r.Choices, "/"); len(text) <= 60 {
		return "answer (" + text + ")"
	}
	return "answer (one of these)"
}
