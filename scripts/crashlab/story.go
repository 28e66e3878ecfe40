//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"agent/host/model/modeltest"
)

// story is what one run is asked to do, and how.
type story struct {
	tool, situation, shape string
	turns                  [][]step
	files                  map[string]string
	mode                   string
	maxTurns               int
	window                 int // of the model, tokens; 0 for more than is ever used
	fails                  bool
	after                  float64           // seconds that a provider which fails wants no request
	flags                  []string          // of the run, beside the usual
	mark                   string            // of the call that the story is about
	dir, counter           string            // the workspace, and the address of the counter
	spellings              []json.RawMessage // in which the model asks for the call again, where it was not done
	anyway                 bool              // and where it was
	read                   subject           // the tool's line of the table
}

// situations say where the call stands. The order is the one of the report.
func situations() []string {
	return []string{"first", "reads", "effects", "question", "limit", "recovery", "compaction", "failure"}
}

// tell makes the story of a tool in a situation; why says that there is none.
func tell(tool, situation, shape string, world int, counter string) (s story, why string) {
	sub, ok := subjects()[tool]
	if !ok {
		return s, "the lab has no story for the tool " + tool
	}
	mark := func(letter string) string { return markIn(world, letter) }
	s = story{tool: tool, situation: situation, shape: shape, mode: "yolo", read: sub, mark: mark("a"), counter: counter, files: map[string]string{"notes.txt": "hay\nneedle\n"}}
	call := sub.call(mark("a"), counter)
	switch situation {
	case "first", "recovery":
		s.turns = [][]step{{call}, {shellStep(mark("c"))}}
	case "reads":
		if sub.class != reads {
			return s, "only reads run side by side"
		}
		s.turns = [][]step{{note(), call, look()}, {shellStep(mark("c"))}}
	case "effects":
		s.turns = [][]step{{shellStep(mark("c")), call, shellStep(mark("d"))}}
	case "question":
		ask := subjects()["confirm_action"].call("", "")
		s.mode, s.turns = "ask", [][]step{{ask}, {call}}
	case "limit":
		s.maxTurns, s.turns = 1, [][]step{{call}, {shellStep(mark("c"))}}
	case "compaction":
		s.window = 14000
		s.files["long.txt"] = strings.Repeat("sixteen letters\n", 560)
		long := step{tool: "read_file", args: map[string]any{"path": "long.txt"}}
		s.turns = [][]step{{long, shellStep(mark("c"))}, {long, call}, {long, shellStep(mark("d"))}, {long, shellStep(mark("e"))}}
	case "failure":
		s.fails, s.turns = true, [][]step{{call}, {shellStep(mark("c"))}}
	}
	if sub.files != nil {
		for name, text := range sub.files(mark("a")) {
			s.files[name] = text
		}
	}
	if sub.before != nil {
		first := sub.before(mark("b"))
		s.turns = append([][]step{first}, s.turns...)
	}
	return s, s.unsaid()
}

func note() step { return subjects()["read_file"].call("", "") }
func look() step { return subjects()["search"].call("", "") }

// unsaid says why the shape cannot tell the story; "" when it can.
func (s *story) unsaid() string {
	if s.shape != "runbook" {
		return ""
	}
	switch s.situation {
	case "reads", "effects":
		return "a runbook makes one call a turn"
	case "compaction":
		return "the runbook model has no window"
	case "failure":
		return "the runbook model is not asked over a wire"
	}
	for _, turn := range s.turns {
		for _, st := range turn {
			if st.tool == "read_output" {
				return "a runbook cannot name a call that is yet to come"
			}
			if strings.HasPrefix(st.tool, "mcp__") {
				return "a runbook cannot name a tool of an MCP server"
			}
		}
	}
	return ""
}

// book is the story as a runbook.
func (s *story) book() string {
	var b strings.Builder
	b.WriteString("# A story\n")
	for _, turn := range s.turns {
		for _, st := range turn {
			b.WriteString("\n" + bookOf(st))
		}
	}
	return b.String()
}

func bookOf(st step) string {
	if st.book != "" {
		return st.book
	}
	command, _ := st.args["command"].(string)
	return "```sh\n" + command + "\n```\n"
}

// script is the story as a model tells it.
func (s *story) script() ([]modeltest.Turn, error) {
	var turns []modeltest.Turn
	for i, calls := range s.turns {
		t := modeltest.Turn{Text: fmt.Sprintf("This is step %d of the story.", i+1)}
		for _, st := range calls {
			args, err := json.Marshal(st.args)
			if err != nil {
				return nil, fmt.Errorf("write the arguments of %s: %v", st.tool, err)
			}
			t.Calls = append(t.Calls, modeltest.Call{Tool: st.tool, Args: args})
		}
		if s.fails && i == len(s.turns)-1 {
			t.Faults = []modeltest.Fault{{Kind: modeltest.Overloaded, Attempt: 1, After: s.after}}
		}
		turns = append(turns, t)
	}
	return append(turns, modeltest.Turn{Text: "The story is told."}), nil
}

// passes says whether a story of the shape passes by a point at all; why says why not.
func (s *story) passes(point string) (why string) {
	place, _, _ := strings.Cut(point, ".")
	wire := s.shape != "runbook"
	asked := s.asked()
	runs, moves := false, s.read.moves
	for _, turn := range s.turns {
		for _, st := range turn {
			runs = runs || st.tool == "shell"
		}
	}
	switch {
	case point == "process.started" && s.situation != "first":
		return "a process that ends before it did anything leaves nothing, wherever the call stands"
	case (place == "runner" || point == "call.before_forget") && !runs:
		return "no command runs in the story"
	case strings.HasSuffix(point, "_prepare") && !runs && !moves:
		return "no call of the story looks before it acts"
	case place == "write" && !moves:
		return "no file is written in the story"
	case strings.HasSuffix(point, "_summary") && s.situation != "compaction":
		return "the story fits the window"
	case point == "model.after_failed" && s.situation != "failure":
		return "every request of the story is answered"
	case point == "model.mid_answer" && !wire:
		return "the runbook model's answer has no middle"
	case (point == "answer.recorded" || place == "request") && !asked:
		return "nobody is asked in the story"
	case (place == "recovery" || place == "look") && s.situation != "recovery":
		return "nothing was interrupted before"
	case (place == "recovery" || place == "look") && s.read.class == asks:
		return "a run that waits is not interrupted, and its question has no outcome to decide about"
	}
	return ""
}

// asked says that somebody is asked in the story.
func (s *story) asked() bool {
	return s.situation == "question" || s.situation == "limit" || s.read.class == asks || s.read.elicits
}
