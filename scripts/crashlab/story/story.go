//go:build linux

// Package story holds the situations in which the lab kills: which tool is called, where the call
// stands, in which shape of a provider the model asks for it, and what its result must hold. It is
// pure: a story is data, and nothing here starts a process or writes a file.
//
// Subjects has a line for each tool, Situations says where a call can stand. A new tool is a line
// there.
package story

import (
	"encoding/json"
	"fmt"
	"strings"

	"agent/host/model/modeltest"
	"agent/scripts/crashlab/marks"
)

// Story is what one run is asked to do, and how.
type Story struct {
	Tool, Situation, Shape string
	Turns                  [][]Step
	Files                  map[string]string
	Mode                   string
	maxTurns               int
	window                 int // of the model, tokens; 0 for more than is ever used
	fails                  bool
	RetryAfter             float64           // seconds that a provider which fails wants no request
	Flags                  []string          // of the run, beside the usual
	Mark                   string            // of the call that the story is about
	Dir, Counter           string            // the workspace, and the address of the counter
	Spellings              []json.RawMessage // in which the model asks for the call again, where it was not done
	AskAnyway              bool              // and where it was
	Subject                Subject           // the tool's line of the table
}

// Situations say where in the run the call stands, in the order of the report.
func Situations() []string {
	return []string{"first", "reads", "effects", "question", "limit", "recovery", "compaction", "failure"}
}

// New makes the story of a tool in a situation; why says that there is none.
func New(tool, situation, shape string, world int, counter string) (s Story, why string) {
	sub, ok := Subjects()[tool]
	if !ok {
		return s, "the lab has no story for the tool " + tool
	}
	mark := func(letter string) string { return marks.In(world, letter) }
	s = Story{Tool: tool, Situation: situation, Shape: shape, Mode: "yolo", Subject: sub, Mark: mark("a"), Counter: counter, Files: map[string]string{"notes.txt": "hay\nneedle\n"}}
	call := sub.Call(mark("a"), counter)
	switch situation {
	case "first", "recovery":
		s.Turns = [][]Step{{call}, {ShellStep(mark("c"))}}
	case "reads":
		if sub.Class != Reads {
			return s, "only reads run side by side"
		}
		s.Turns = [][]Step{{readNotes(), call, searchNotes()}, {ShellStep(mark("c"))}}
	case "effects":
		s.Turns = [][]Step{{ShellStep(mark("c")), call, ShellStep(mark("d"))}}
	case "question":
		ask := Subjects()["confirm_action"].Call("", "")
		s.Mode, s.Turns = "ask", [][]Step{{ask}, {call}}
	case "limit":
		s.maxTurns, s.Turns = 1, [][]Step{{call}, {ShellStep(mark("c"))}}
	case "compaction":
		s.window = 14000
		s.Files["long.txt"] = strings.Repeat("sixteen letters\n", 560)
		long := Step{Tool: "read_file", Args: map[string]any{"path": "long.txt"}}
		s.Turns = [][]Step{{long, ShellStep(mark("c"))}, {long, call}, {long, ShellStep(mark("d"))}, {long, ShellStep(mark("e"))}}
	case "failure":
		s.fails, s.Turns = true, [][]Step{{call}, {ShellStep(mark("c"))}}
	}
	if sub.Files != nil {
		for name, text := range sub.Files(mark("a")) {
			s.Files[name] = text
		}
	}
	if sub.Before != nil {
		first := sub.Before(mark("b"))
		s.Turns = append([][]Step{first}, s.Turns...)
	}
	return s, s.impossible()
}

func readNotes() Step { return Subjects()["read_file"].Call("", "") }

func searchNotes() Step { return Subjects()["search"].Call("", "") }

// impossible says why there is no such story in the shape; "" when it can.
func (s *Story) impossible() string {
	if s.Shape != "runbook" {
		return ""
	}
	switch s.Situation {
	case "reads", "effects":
		return "a runbook makes one call a turn"
	case "compaction":
		return "the runbook model has no window"
	case "failure":
		return "the runbook model is not asked over a wire"
	}
	for _, turn := range s.Turns {
		for _, st := range turn {
			if st.Tool == "read_output" {
				return "a runbook cannot name a call that is yet to come"
			}
			if strings.HasPrefix(st.Tool, "mcp__") {
				return "a runbook cannot name a tool of an MCP server"
			}
		}
	}
	return ""
}

// Book is the story as a runbook.
func (s *Story) Book() string {
	var b strings.Builder
	b.WriteString("# A story\n")
	for _, turn := range s.Turns {
		for _, st := range turn {
			b.WriteString("\n" + bookOf(st))
		}
	}
	return b.String()
}

func bookOf(st Step) string {
	if st.Book != "" {
		return st.Book
	}
	command, _ := st.Args["command"].(string)
	return "```sh\n" + command + "\n```\n"
}

// Script is the story as a model asks for it.
func (s *Story) Script() ([]modeltest.Turn, error) {
	var turns []modeltest.Turn
	for i, calls := range s.Turns {
		t := modeltest.Turn{Text: fmt.Sprintf("This is step %d of the story.", i+1)}
		for _, st := range calls {
			args, err := json.Marshal(st.Args)
			if err != nil {
				return nil, fmt.Errorf("write the arguments of %s: %v", st.Tool, err)
			}
			t.Calls = append(t.Calls, modeltest.Call{Tool: st.Tool, Args: args})
		}
		if s.fails && i == len(s.Turns)-1 {
			t.Faults = []modeltest.Fault{{Kind: modeltest.Overloaded, Attempt: 1, After: s.RetryAfter}}
		}
		turns = append(turns, t)
	}
	return append(turns, modeltest.Turn{Text: "The story is over."}), nil
}

// Misses says why no process of the story reaches a fault point; "" where one does.
func (s *Story) Misses(point string) (why string) {
	place, _, _ := strings.Cut(point, ".")
	wire := s.Shape != "runbook"
	asked := s.AsksSomebody()
	runs, moves := false, s.Subject.Moves
	for _, turn := range s.Turns {
		for _, st := range turn {
			runs = runs || st.Tool == "shell"
		}
	}
	switch {
	case point == "process.started" && s.Situation != "first":
		return "a process that ends before it did anything leaves nothing, wherever the call stands"
	case (place == "runner" || point == "call.before_forget") && !runs:
		return "no command runs in the story"
	case strings.HasSuffix(point, "_prepare") && !runs && !moves:
		return "no call of the story looks before it acts"
	case place == "write" && !moves:
		return "no file is written in the story"
	case strings.HasSuffix(point, "_summary") && s.Situation != "compaction":
		return "the story fits the window"
	case point == "model.after_failed" && s.Situation != "failure":
		return "every request of the story is answered"
	case point == "model.mid_answer" && !wire:
		return "the runbook model's answer has no middle"
	case (point == "answer.recorded" || place == "request") && !asked:
		return "nobody is asked in the story"
	case (place == "recovery" || place == "look") && s.Situation != "recovery":
		return "nothing was interrupted before"
	case (place == "recovery" || place == "look") && s.Subject.Class == Asks:
		return "a run that waits is not interrupted, and its question has no outcome to decide about"
	}
	return ""
}

// AsksSomebody says that somebody is asked in the story.
func (s *Story) AsksSomebody() bool {
	return s.Situation == "question" || s.Situation == "limit" || s.Subject.Class == Asks || s.Subject.Elicits
}
