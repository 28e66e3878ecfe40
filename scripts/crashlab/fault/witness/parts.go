//go:build linux

package witness

import (
	"fmt"
	"slices"

	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/story"
)

// delegates has a run delegate a task, and write behind it.
func delegates(st *story.Story) {
	var number int
	if _, err := fmt.Sscanf(st.Mark, "mark-%d-", &number); err != nil {
		panic(err) // the form of a mark is a constant
	}
	st.Turns = [][]story.Step{
		{{Tool: story.Delegates, Args: map[string]any{"task": part}}}, {story.ShellStep(marks.In(number, "e"))},
	}
}

// part is the task.
const part = "PART one"

// addParts has the model know the task.
func (x *attempt) addParts() error {
	writes := story.Story{}
	for _, letter := range []string{"c", "d"} {
		writes.Turns = append(writes.Turns, []story.Step{story.ShellStep(marks.In(x.World.Number, letter))})
	}
	turns, err := writes.Script()
	if err == nil {
		x.World.Model.Add(part, turns)
	}
	return err
}

// next is what a person would do now; nil at the end. A question may be of a run below.
func (x *attempt) next() ([]string, error) {
	top := x.top()
	if !x.script.parts || top == nil {
		return x.Next()
	}
	for _, q := range x.Record.Requests {
		if q.Status != "open" {
			continue
		}
		for _, h := range x.Histories {
			if h.Run.No == q.Run {
				word, err := x.Reply(h, h.Asked[q.ID])
				return []string{"answer", q.ID, word}, err
			}
		}
	}
	if slices.Contains([]string{"completed", "failed", "cancelled"}, top.Run.Status) {
		return nil, nil
	}
	return []string{"resume", top.Run.ID}, nil
}
