package view

import (
	"maps"
	"slices"

	"agent/host/stream"
	"agent/recovery/journal"
)

// AnswerCommands are the commands that answer a question, one for each choice: what is printed may
// be pasted as it is, so no command leaves a choice to whoever pastes it.
func AnswerCommands(r *journal.Request) []string {
	if form, words := formOf(r.Question); form != nil {
		filled := fields(slices.Sorted(maps.Keys(form.Properties)))
		return append([]string{AnswerCommand(r.ID) + " " + ShellWord(stream.Sanitize(filled))}, AnswerCommand(r.ID)+" "+texts(words.Enum)[0])
	}
	if len(r.Choices) == 0 {
		return []string{AnswerCommand(r.ID) + ` "TEXT"`}
	}
	var out []string
	for _, c := range r.Choices {
		out = append(out, AnswerCommand(r.ID)+" "+ShellWord(stream.Sanitize(c)))
	}
	return out
}

// AnswerCommand is the command that asks for the answer at the terminal, and says what there is to
// choose from.
func AnswerCommand(id string) string { return "agent answer " + id }

// ResolveCommands are the commands that say what became of a call whose outcome is unknown.
func ResolveCommands(call string) []string {
	return []string{AnswerCommand(call) + " " + string(journal.WordHappened), AnswerCommand(call) + " " + string(journal.WordLeave)}
}
