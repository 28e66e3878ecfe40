package view

import (
	"fmt"
	"strings"
	"time"

	"agent/db"
	"agent/host"
	"agent/recovery/journal"
)

// Unknown is a call whose outcome is unknown and on which no person has decided. Fields are only
// ever added.
type Unknown struct {
	ID      string     `json:"id"`
	Tool    string     `json:"tool"`
	Summary string     `json:"summary"` // of its arguments; empty where they cannot be read
	Started *time.Time `json:"started_at,omitempty"`
	Next    []string   `json:"next"` // the commands that decide
}

// NewUnknown shows one call of unknown outcome.
func NewUnknown(id, tool, summary string, started time.Time) Unknown {
	v := Unknown{ID: id, Tool: tool, Summary: summary, Next: ResolveCommands(id)}
	if !started.IsZero() {
		v.Started = &started
	}
	return v
}

// NewUnknowns shows calls of unknown outcome.
func NewUnknowns(calls []host.NamedCall) []Unknown {
	out := []Unknown{}
	for _, c := range calls {
		out = append(out, NewUnknown(c.ID, c.Tool, c.Words, c.Started))
	}
	return out
}

// Resolvable refuses a call on whose outcome there is nothing to decide.
func Resolvable(call db.CallRow) error {
	switch {
	case call.Phase != journal.PhaseSettled:
		return fmt.Errorf("answer %s: the call has no result yet (it is %s); nothing is unknown about it", call.ID, call.Phase)
	case call.Resolved == journal.WordRun:
		return fmt.Errorf("answer %s: the call was run once more since, by a person's decision, and that settled it", call.ID)
	case call.Outcome != journal.OutcomeUnknown:
		return fmt.Errorf("answer %s: the call's outcome is not unknown: it is %s (%s)", call.ID, call.Outcome, call.How)
	}
	return nil
}

// Denied is a call that a rule, the mode or a person refused. Fields are only ever added.
type Denied struct {
	ID      string `json:"id"`
	Tool    string `json:"tool"`
	Summary string `json:"summary"` // of its arguments
	Reason  string `json:"reason"`
}

// NewDenied shows calls that were refused.
func NewDenied(calls []host.NamedCall) []Denied {
	out := []Denied{}
	for _, c := range calls {
		out = append(out, Denied{c.ID, c.Tool, c.Words, c.Why})
	}
	return out
}

// DecideCommands are the commands that decide on calls.
func DecideCommands(calls []Unknown) []string {
	var out []string
	for _, c := range calls {
		out = append(out, c.Next...)
	}
	return out
}

// Line says what is not known about the call, and which commands decide.
func (u Unknown) Line() string {
	name := u.Tool
	if u.Summary != "" {
		name += ": " + u.Summary
	}
	if len(u.Next) == 0 {
		return "call " + u.ID + " (" + name + ") may or may not have happened, and its run is damaged: look for its effect yourself"
	}
	return "call " + u.ID + " (" + name + ") may or may not have happened; decide: " + strings.Join(u.Next, ", or: ")
}
