package openai

import (
	"slices"

	"agent/host/model"
	"agent/recovery/journal"
)

// sent is what of the last request is written already and mostly stands in the next one too:
// everything before the last answer that it showed.
type sent struct {
	system   string
	messages []journal.Message // before that answer
	items    [][]byte          // what they are as items
	open     said              // the last of them, as in talk
}

// resume gives what was kept where the request repeats it, and how many of its messages that stands
// for.
func (s *sent) resume(req model.Request, items *[][]byte, open *said) int {
	if len(s.messages) == 0 || req.System != s.system || model.Repeats(s.messages, req.Messages) < len(s.messages) {
		*s = sent{}
		return 0
	}
	*items = slices.Clone(s.items) // the last of them may be taken back
	if open != nil {
		*open = s.open
	}
	return len(s.messages)
}

// keep keeps the items before the message at that place of the request, if it is the last answer.
func (s *sent) keep(req model.Request, at int, items [][]byte, open said) {
	if req.Messages[at].Role != journal.RoleAssistant || slices.ContainsFunc(req.Messages[at+1:], isAnswer) {
		return
	}
	*s = sent{
		system: req.System, messages: req.Messages[:at], items: slices.Clone(items),
		open: said{slices.Clip(open.parts), slices.Clip(open.texts), open.pictures},
	}
}

func isAnswer(m journal.Message) bool { return m.Role == journal.RoleAssistant }
