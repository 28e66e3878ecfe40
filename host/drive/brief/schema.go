package brief

import (
	"fmt"

	"agent/host/schema"
	"agent/recovery"
	"agent/recovery/journal"
)

// maxMisfits is how many answers that do not fit the output schema the model is asked to repair.
const maxMisfits = 1

// outputOnly is what a model is to know of the output schema of its run.
const outputOnly = `
# Output

When you are done, your last answer is read by a program. It must be one JSON value that fits the JSON Schema below, and nothing else: no words before or after it, and no code fence.

`

// Fitted are the facts that follow from an answer where the run has an output schema: the end of
// the run with the value alone, or, for one that does not fit, that the model is asked once more.
func Fitted(s *recovery.State, facts []journal.Body) []journal.Body {
	end, ok := facts[len(facts)-1].(journal.RunCompleted)
	if !ok || s.Created.OutputSchema == nil {
		return facts
	}
	text := schema.Answer(end.Text)
	err := schema.Fit(s.Created.OutputSchema, []byte(text))
	switch {
	case err == nil:
		return []journal.Body{journal.RunCompleted{Text: text}}
	case s.Misfits >= maxMisfits:
		return []journal.Body{journal.RunFailed{Reason: fmt.Sprintf("the answer does not fit the output schema: %v", err), Text: end.Text}}
	}
	return []journal.Body{journal.MessageAdded{
		Text: fmt.Sprintf("Your answer does not fit the output schema: %v. Answer again, with one JSON value that fits it and nothing else.", err),
		By:   "agent", Misfit: true,
	}}
}
