package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent/recovery/journal"
	"agent/tools"
)

// Name is the name of the tool.
const Name = "delegate"

const description = `Have a run of its own carry out a task, and get its last answer. That run knows nothing of this conversation: put everything that it needs into task, with the paths of files, and say what its answer must hold. It works in the same folder, with the same rules, and may do no more than you may. Use it for work that needs much reading and brings a short result, and for independent parts of a larger task. With mode "plan" it only reads, and several such calls in one answer run side by side; others run one after another.`

const schema = `{
	"type": "object",
	"properties": {
		"task": {"type": "string", "minLength": 1, "description": "what is to be done, complete in itself"},
		"mode": {"type": "string", "enum": ["plan", "ask", "auto", "yolo"], "description": "plan only reads; never more than your own mode allows, which is the default"},
		"model": {"type": "string", "description": "another model, as provider/model; yours by default"},
		"tools": {"type": "array", "items": {"type": "string"}, "description": "names of the only tools that it gets; all of yours by default"},
		"outputs": {"type": "array", "items": {"type": "string"}, "maxItems": 100, "description": "files that it must leave behind, relative to the folder; each is checked, and named with its size and, up to 1 GiB in all, its SHA-256 in the result"},
		"max_turns": {"type": "integer", "minimum": 1, "description": "answers that it may need before a person is asked"},
		"max_tokens": {"type": "integer", "minimum": 1, "description": "tokens that it may use before a person is asked"},
		"max_cost": {"type": "number", "exclusiveMinimum": 0, "description": "US dollars that it may cost before a person is asked"}
	},
	"required": ["task"],
	"additionalProperties": false
}`

// arguments are those of a call.
type arguments struct {
	Task      string       `json:"task"`
	Mode      journal.Mode `json:"mode"`
	Model     string       `json:"model"`
	Tools     []string     `json:"tools"`
	Outputs   []string     `json:"outputs"`
	MaxTurns  int          `json:"max_turns"`
	MaxTokens int64        `json:"max_tokens"`
	MaxCost   float64      `json:"max_cost"`
}

// Spec describes the tool.
func (d *Delegate) Spec() tools.Spec {
	return tools.Spec{Name: Name, Description: description, Schema: json.RawMessage(schema)}
}

// Describe says that a task which only reads is a read, and that any other may change anything,
// each call of it with a yes of its own.
func (d *Delegate) Describe(_ string, args json.RawMessage) tools.Traits {
	is := tools.Traits{Effect: journal.EffectWriteExternal, Inner: true, Paths: []string{}, Touches: tools.TouchesNone}
	if a, err := tools.Decode[arguments](args); err == nil && a.Mode == journal.ModePlan {
		is.Effect = journal.EffectRead
	}
	return is
}

// Check refuses what the schema cannot describe.
func (d *Delegate) Check(args json.RawMessage) error {
	a, err := tools.Decode[arguments](args)
	if err != nil {
		return err
	}
	if strings.TrimSpace(a.Task) == "" {
		return errors.New("the task is empty: say what is to be done")
	}
	if a.Tools != nil && len(a.Tools) == 0 { // none would stand for all of them
		return errors.New("tools is an empty list: name the tools that the task needs, or leave tools out for all of yours")
	}
	for _, p := range a.Outputs {
		if err := checkOutput(p); err != nil {
			return err
		}
	}
	return nil
}

// levels is how many runs may be above a run that a task is delegated to.
const levels = 2

// level is how many runs are above a run; levels stands for more, too.
func level(c journal.RunCreated) int {
	switch c.Parent {
	case "":
		return 0
	case c.Root:
		return 1
	}
	return levels
}

// MissingToolError says that a tool which was named for a run is not there. Nothing was done.
type MissingToolError struct {
	Run, Tool string
	Why       error
}

func (e *MissingToolError) Error() string {
	return fmt.Sprintf("give run %s its tools: %v", e.Run, e.Why)
}

// Unwrap returns why it is not there.
func (e *MissingToolError) Unwrap() error { return e.Why }

// Cause is why a run goes no further that a child could not be driven.
func Cause(err error) journal.Cause {
	if errors.As(err, new(*MissingToolError)) {
		return journal.CauseTools
	}
	return journal.CauseFailing
}

// Tools are the tools of a run, given those of its process: a child has no more than were named for
// it, and the last one in a row delegates nothing.
func Tools(reg *tools.Registry, c journal.RunCreated) (*tools.Registry, error) {
	last := level(c) >= levels
	if len(c.Only) == 0 && !last {
		return reg, nil
	}
	var list []tools.Tool
	for _, name := range reg.Names() {
		if last && name == Name || len(c.Only) > 0 && !slices.Contains(c.Only, name) {
			continue
		}
		t, err := reg.Get(name)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	for _, name := range c.Only {
		if _, err := reg.Get(name); err != nil {
			return nil, &MissingToolError{Run: c.Run, Tool: name, Why: err}
		}
	}
	return tools.NewRegistry(list...)
}
