// Package table says how a flow stands, phase by phase and file by file: from the fold of its facts
// and from where the runs stand that carry out what is under way. It opens nothing.
package table

import (
	"agent/recovery"
	"agent/recovery/flow"
	"agent/recovery/journal"
	"encoding/json"
	"strings"
	"time"
)

// Table is a flow in JSON. Fields are only ever added.
type Table struct {
	Phases    []Phase    `json:"phases"`    // in the order of the file
	Artifacts []Artifact `json:"artifacts"` // what phases made, in that order, then what nobody made and they read
}

// Phase is a phase, or one branch of it. Fields are only ever added.
type Phase struct {
	Name       string            `json:"name"`
	Title      string            `json:"title,omitempty"`
	Item       string            `json:"item,omitempty"` // of a branch
	Each       string            `json:"each,omitempty"` // the list that it has a branch for each item of
	Status     Status            `json:"status"`
	Part       journal.PhasePart `json:"part,omitempty"`   // that is under way
	Reason     string            `json:"reason,omitempty"` // why it stands so
	Passed     *bool             `json:"passed,omitempty"` // its verdict on the work, where its file asks for one
	Reused     bool              `json:"reused,omitempty"` // an earlier flow of the thread made what it would make
	Attempts   int               `json:"num_attempts"`
	Try        int               `json:"try"` // since it last began for another reason than a try; 0 before the first
	Tries      int               `json:"tries"`
	Run        string            `json:"run_id,omitempty"` // of what is under way, else of the last attempt
	Request    string            `json:"pending_request_id,omitempty"`
	DurationMS int64             `json:"duration_ms"`
	Tokens     int64             `json:"tokens"`
	CostUSD    *json.Number      `json:"cost_usd"`        // null where nothing was charged
	Outputs    []string          `json:"outputs"`         // paths of what it made that counts
	Files      *Files            `json:"files,omitempty"` // that its runs changed, whatever they are; absent: none
	Counts     map[Status]int    `json:"branches_by_status,omitempty"`
	Branches   []Phase           `json:"branches,omitempty"`

	Cost int64 `json:"-"` // what CostUSD shows, in millionths
}

// Files counts files by what became of them.
type Files struct {
	Added   int `json:"added"`
	Changed int `json:"changed"`
	Removed int `json:"removed"`
}

// Took is how long it was at work.
func (p Phase) Took() time.Duration { return time.Duration(p.DurationMS) * time.Millisecond }

// Artifact is a file that counts. Fields are only ever added.
type Artifact struct {
	Path    string                `json:"path"`
	Phase   string                `json:"phase,omitempty"` // that made it; absent: it was there
	Item    string                `json:"item,omitempty"`
	Digest  string                `json:"digest"` // SHA-256, hex
	Bytes   int64                 `json:"bytes"`
	State   journal.ArtifactState `json:"state"`              // as the last look found it
	PutBack bool                  `json:"put_back,omitempty"` // the host put it back from its copy
	Edited  bool                  `json:"edited,omitempty"`   // a person did, and this version counts
	Copied  bool                  `json:"copied"`             // the record has its bytes
	Call    string                `json:"call_id,omitempty"`  // that wrote it, where one is known
}

// Status is how a phase, or a branch of one, stands.
type Status string

// The statuses.
const (
	Done        Status = "done"
	Running     Status = "running"
	Waiting     Status = "waiting"     // for a person
	Interrupted Status = "interrupted" // it began, and nobody drives it
	NotYet      Status = "not yet"
	Failed      Status = "failed"
	Skipped     Status = "skipped"
	Cancelled   Status = "cancelled"
	Stale       Status = "stale"        // what it was made from is another thing now
	ToRedo      Status = "to be redone" // that is recorded, and it has not begun
)

// Statuses lists all, in the order in which they are counted.
func Statuses() []Status {
	return []Status{Done, Running, Waiting, Interrupted, Failed, Cancelled, Stale, ToRedo, Skipped, NotYet}
}

// Child is a run that carries out a part of a phase, as it stands now.
type Child struct {
	Status  recovery.Status
	Driven  bool   // by a process
	Request string // id of its open question, or of one below it
	Tokens  int64
	Cost    int64 // in millionths of a US dollar
	Took    time.Duration
}

// used is what a phase took so far.
type used struct {
	tokens, cost int64
	took         time.Duration
}

func (u *used) add(v used) {
	u.tokens, u.cost, u.took = u.tokens+v.tokens, u.cost+v.cost, u.took+v.took
}

// New says how a flow stands. The children are those that carry out what is under way, by their
// ids; one that is not there has no row yet.
func New(s *flow.State, children map[string]Child) *Table {
	b := builder{s, children, &Table{Phases: []Phase{}, Artifacts: []Artifact{}}}
	for i := range s.Def.Phases {
		b.out.Phases = append(b.out.Phases, b.phase(&s.Def.Phases[i]))
	}
	for _, m := range flow.Sources(s) {
		b.artifact(m, nil)
	}
	return b.out
}

// Open lists the runs that carry out what is under way.
func Open(s *flow.State) []string {
	var out []string
	for _, p := range s.Def.Phases {
		for _, x := range s.Instances(p.Name) {
			if x.Open != nil {
				out = append(out, x.Open.Run)
			}
		}
	}
	return out
}

// Label is what the phase or branch is called: NAME, or NAME[ITEM].
func (p Phase) Label() string {
	if p.Item == "" {
		return p.Name
	}
	return p.Name + "[" + p.Item + "]"
}

func dollars(micros int64) *json.Number {
	if micros <= 0 {
		return nil
	}
	n := json.Number(strings.TrimPrefix(journal.Dollars(micros), "$"))
	return &n
}
