// Package brief is what a model is to know of its run beside the prompt, and whether its answer is
// what was asked for. It follows from the facts alone, so it is the same before and after a crash.
package brief

import (
	"fmt"

	"agent/recovery"
	"agent/recovery/journal"
)

// planOnly is what a model in mode plan is to know beside its system prompt: what it would be
// refused, and what its answer is for.
const planOnly = `
# Mode plan

This run is in mode plan: it looks, and changes nothing. Calls that write, and commands with more access than read, are refused; do not try them. Find out with calls that read what you need to know. Your last answer is the plan that a person decides on: what is to be changed, file by file and in which order, how it will be checked, and what you are not sure of. Say nowhere that any of it is done.
`

// beside names the folders that a run reaches beside its workspace.
func beside(dirs []journal.Dir) string {
	if len(dirs) == 0 {
		return ""
	}
	text := "\n# Folders beside the workspace\n\nYou also reach these folders. Name what lies in them by its absolute path.\n"
	for _, d := range dirs {
		may := "read only"
		if d.Write {
			may = "read; write_file and edit_file also write there, and a person is asked"
		}
		text += fmt.Sprintf("- %s: %s\n", d.Path, may)
	}
	return text
}

// System is the system prompt of the next request.
func System(s *recovery.State) string {
	text := s.Created.Setup.System
	if text != "" {
		text += beside(s.Created.Dirs)
	}
	if s.Mode == journal.ModePlan && text != "" {
		text += planOnly
	}
	if of := s.Created.OutputSchema; of != nil {
		text += outputOnly + string(of) + "\n"
	}
	return text
}
