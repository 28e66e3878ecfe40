package custody

import (
	"fmt"
	"slices"
	"strings"
)

// Fits says why a text is no answer to a question, as agent judges it; nil where it is one, or only
// the host can tell.
func (q Request) Fits(text string) error {
	choices := q.Choices
	switch {
	case slices.Contains([]string{"ask_user", "elicitation", "plan", "phase"}, q.Kind):
		return nil // it may take any text, or a choice with words behind it
	case q.Kind == "unknown call":
		choices = []string{"happened", "leave"}
	case len(choices) == 0 && strings.HasPrefix(q.Kind, "max_"):
		choices = []string{"yes", "no"}
	case len(choices) == 0:
		return nil
	}
	if slices.ContainsFunc(choices, func(c string) bool { return strings.EqualFold(c, text) }) || q.short(text) {
		return nil
	}
	listed := strings.Join(choices, ", ")
	if q.Kind == "permission" {
		listed += ", no REASON"
	}
	return fmt.Errorf("%q is no answer to %s, which takes one of: %s", text, q.ID, listed)
}

// short reports whether a text stands for a choice, or is one with the reason that it takes.
func (q Request) short(text string) bool {
	text = strings.ToLower(text)
	switch q.Kind {
	case "permission": // behind a no, the model gets the reason
		return slices.Contains([]string{"y", "n", "true", "false"}, text) ||
			len(text) > 2 && strings.HasPrefix(text, "no") && strings.ContainsRune(",:; ", rune(text[2]))
	case "twin", "copy":
		return slices.Contains([]string{"yes", "y", "no", "n", "leave"}, text)
	}
	return slices.Equal(q.Choices, []string{"yes", "no"}) && (text == "y" || text == "n")
}
