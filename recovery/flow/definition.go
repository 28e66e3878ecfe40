package flow

import (
	"agent/recovery/journal"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Definition is a flow as its file said it when the run was created. It is stored with the run's
// first fact and counts to the end, whatever becomes of the file. Whoever parses a file fills in
// every default but those that belong to the run (see [Phase]), so that a later version of the
// program reads the same flow.
type Definition struct {
	Name     string         `json:"name"`               // base name of the file
	Title    string         `json:"title,omitempty"`    // first heading before the phases
	Preamble string         `json:"preamble,omitempty"` // text before the first phase, shown to every phase that asks a model
	Task     TaskMode       `json:"task"`
	Parallel int            `json:"parallel"`         // branches of one phase side by side, where the phase says nothing
	OnFail   OnFail         `json:"on_fail"`          // for phases without their own, and once rounds are used up; never back
	Limits   journal.Limits `json:"limits,omitzero"`  // of the whole flow; MaxTurns is not used
	Digest   string         `json:"digest,omitempty"` // SHA-256 of the file as read, hex
	Phases   []Phase        `json:"phases"`           // in the order of the file

	// Setups are what the models of phases are asked with, by Phase.Model, filled in by the host
	// when the run is created; a phase without a model of its own is asked as the run says.
	Setups map[string]journal.Setup `json:"setups,omitempty"`
}

// Phase is one step of a flow. Model, Effort and Mode are empty where the run's count.
type Phase struct {
	Name   string         `json:"name"`             // [a-z][a-z0-9-]{0,31}
	Title  string         `json:"title,omitempty"`  // behind the name in the heading
	Prompt string         `json:"prompt,omitempty"` // text of the phase; with model "runbook", the runbook
	Model  string         `json:"model,omitempty"`
	Effort journal.Effort `json:"effort,omitempty"`
	Mode   journal.Mode   `json:"mode,omitempty"`  // the tighter of this and the run's holds
	Tools  *[]string      `json:"tools,omitempty"` // the only tools of the phase; nil: all of the run's

	After   []string `json:"after,omitempty"` // phases that must be done first; the phase above, where the file names none
	Inputs  []Input  `json:"inputs,omitempty"`
	Outputs []Output `json:"outputs,omitempty"`
	Answer  *Output  `json:"answer,omitempty"` // written by the host: the phase's last answer

	Checks []Command `json:"checks,omitempty"`  // must exit 0 before the phase is done
	SkipIf *Command  `json:"skip_if,omitempty"` // exit 0 skips the phase
	Tries  int       `json:"tries"`             // attempts until outputs and checks hold, from 1

	Pass   string `json:"pass,omitempty"` // line of the first output without which the phase's verdict on the work is no
	OnFail OnFail `json:"on_fail"`
	Back   string `json:"back,omitempty"` // with OnFail back: the earlier phase to go back to
	Rounds int    `json:"rounds"`         // how often OnFail may go back

	Ask      string `json:"ask,omitempty"`      // question to a person before the phase starts
	Each     string `json:"each,omitempty"`     // path of an input, a JSON array: one branch an item
	Parallel int    `json:"parallel,omitempty"` // branches side by side; 0: see Definition.Branches
	Redo     Redo   `json:"redo"`

	Limits journal.Limits `json:"limits,omitzero"` // of all attempts together; with Each, of each branch
}

// Input is what a phase reads: a path, or all outputs of an earlier phase. One of the two is set.
type Input struct {
	Path  string `json:"path,omitempty"` // below the workspace, with slashes
	Phase string `json:"phase,omitempty"`
}

// Output is a file that a phase makes, and what must hold of it.
type Output struct {
	Path   string   `json:"path"`             // below the workspace, with slashes; dir/ is all files below; {name} is the item's name
	Min    int64    `json:"min,omitempty"`    // bytes that it must have at least
	Has    []string `json:"has,omitempty"`    // lines that it must have, without white space at their ends
	Match  string   `json:"match,omitempty"`  // regular expression (RE2) that must match somewhere in it
	Schema string   `json:"schema,omitempty"` // path of a JSON Schema that it must satisfy
	Empty  bool     `json:"empty,omitempty"`  // it may be empty
	NoCopy bool     `json:"no_copy,omitempty"`

	// SchemaText is the file that Schema names, as it was read when the run was created.
	SchemaText string `json:"schema_text,omitempty"`
}

// Dir says whether the output is all files below a folder.
func (o Output) Dir() bool { return strings.HasSuffix(o.Path, "/") }

// Command is a shell command of the flow's author.
type Command struct {
	Run     string        `json:"run"`
	Access  string        `json:"access"`  // read or write
	Timeout time.Duration `json:"timeout"` // in nanoseconds
}

// TaskMode says whether a flow wants a task beside its file.
type TaskMode string

// The wants.
const (
	TaskRequired TaskMode = "required"
	TaskOptional TaskMode = "optional"
	TaskNone     TaskMode = "none"
)

// OnFail says what happens when a phase has failed.
type OnFail string

// What may happen then.
const (
	FailStop     OnFail = "stop"     // the flow ends failed
	FailAsk      OnFail = "ask"      // a person says: retry, continue or stop
	FailContinue OnFail = "continue" // the flow goes on without it; what comes after is informed
	FailBack     OnFail = "back"     // an earlier phase is done again with this one's outputs
)

// Redo says what must happen before a phase that did more than write its outputs is done again.
type Redo string

// The answers.
const (
	RedoAsk   Redo = "ask"   // a person decides
	RedoSafe  Redo = "safe"  // the author: all that it does may be done again
	RedoNever Redo = "never" // it is kept, or the flow stops
)

// Defaults and bounds of a definition.
const (
	DefaultTries    = 2 // of a phase that asks a model
	RunbookTries    = 1
	DefaultRounds   = 3
	DefaultParallel = 4
	DefaultAccess   = "write"
	DefaultTimeout  = 30 * time.Minute // of a command

	MaxPhases   = 64
	MaxBranches = 1000

	Runbook = "runbook" // the model of a phase whose text is a runbook
)

// Defined is the definition that a run was created with; nil for a run that is no flow. One that
// says more than this binary knows is a *journal.UnknownFactError: half of it would be another
// flow.
func Defined(b journal.RunCreated) (*Definition, error) {
	if len(b.Flow) == 0 {
		return nil, nil
	}
	d, in := new(Definition), json.NewDecoder(bytes.NewReader(b.Flow))
	in.DisallowUnknownFields()
	if err := in.Decode(d); err == nil && d.known() {
		return d, nil
	}
	if err := json.Unmarshal(b.Flow, new(Definition)); err != nil {
		return nil, fmt.Errorf("read the flow of run %s: %v", b.Run, err)
	}
	return nil, &journal.UnknownFactError{What: fmt.Sprintf("read the flow of run %s: it says more than this binary knows; carry it out with the newer one that began it", b.Run)}
}

// known says whether every choice of the definition is one that this binary has.
func (d *Definition) known() bool {
	ok := slices.Contains([]TaskMode{"", TaskRequired, TaskOptional, TaskNone}, d.Task)
	fails := []OnFail{"", FailStop, FailAsk, FailContinue, FailBack}
	ok = ok && slices.Contains(fails, d.OnFail)
	for _, p := range d.Phases {
		ok = ok && slices.Contains(fails, p.OnFail) && slices.Contains([]Redo{"", RedoAsk, RedoSafe, RedoNever}, p.Redo) &&
			(p.Mode == "" || slices.Contains(journal.Modes(), p.Mode))
	}
	return ok
}

// ValidName says whether a phase may be called so: [a-z][a-z0-9-]{0,31}.
func ValidName(name string) bool {
	return len(name) <= 32 && only(name, "abcdefghijklmnopqrstuvwxyz0123456789-") && name[0] >= 'a'
}

// longestItem is how many letters the name of an item has at most: it stands in the names of files,
// which may have 255.
const longestItem = 100

// ValidItem says whether an item of an each phase may be called so: [A-Za-z0-9._-]+, and no folder
// above.
func ValidItem(name string) bool {
	return len(name) <= longestItem && only(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") && name != "." && name != ".."
}

// only says whether a text is not empty and has no other letters.
func only(text, letters string) bool {
	return text != "" && strings.Trim(text, letters) == ""
}

// Phase finds a phase by its name; nil where there is none.
func (d *Definition) Phase(name string) *Phase {
	if i := d.index(name); i >= 0 {
		return &d.Phases[i]
	}
	return nil
}

// Redoable says why no person can have a phase of this name done again; nil where one can.
func (d *Definition) Redoable(name string) error {
	switch p := d.Phase(name); {
	case p == nil:
		return fmt.Errorf("redo %s: the flow has no such phase", name)
	case p.Redo == RedoNever:
		return fmt.Errorf("redo %s: its file says redo = \"never\"", name)
	}
	return nil
}

func (d *Definition) index(name string) int {
	return slices.IndexFunc(d.Phases, func(p Phase) bool { return p.Name == name })
}

// All lists what the phase makes: its outputs, and last its answer.
func (p *Phase) All() []Output {
	if p.Answer == nil {
		return p.Outputs
	}
	return append(slices.Clone(p.Outputs), *p.Answer)
}

// Branches is how many branches of an each phase may be at work at once, in the mode that holds for
// it: one after the other where they may write, unless the file says otherwise.
func (d *Definition) Branches(p *Phase, mode journal.Mode) int {
	switch {
	case p.Parallel > 0:
		return p.Parallel
	case mode == journal.ModePlan:
		return max(1, d.Parallel)
	}
	return 1
}
