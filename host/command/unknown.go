package command

import (
	"context"
	"strings"
	"time"

	"agent/db"
	"agent/host"
)

// unknownJSON is a call whose outcome is unknown and on which no person has decided. Fields are only ever added.
type unknownJSON struct {
	ID      string     `json:"id"`
	Tool    string     `json:"tool"`
	Summary string     `json:"summary"` // of its arguments; empty where they cannot be read
	Started *time.Time `json:"started_at,omitempty"`
	Next    []string   `json:"next"` // the commands that decide
}

func unknownView(id, tool, summary string, started time.Time) unknownJSON {
	v := unknownJSON{ID: id, Tool: tool, Summary: summary, Next: wordsOn(id)}
	if !started.IsZero() {
		v.Started = &started
	}
	return v
}

func unknownViews(calls []host.NamedCall) []unknownJSON {
	out := []unknownJSON{}
	for _, c := range calls {
		out = append(out, unknownView(c.ID, c.Tool, c.Words, c.Started))
	}
	return out
}

// deniedJSON is a call that a rule, the mode or a person refused. Fields are only ever added.
type deniedJSON struct {
	ID      string `json:"id"`
	Tool    string `json:"tool"`
	Summary string `json:"summary"` // of its arguments
	Reason  string `json:"reason"`
}

func deniedViews(calls []host.NamedCall) []deniedJSON {
	out := []deniedJSON{}
	for _, c := range calls {
		out = append(out, deniedJSON{c.ID, c.Tool, c.Words, c.Why})
	}
	return out
}

// undecided completes rows of undecided calls with what their arguments say. A list must stand where the journal is damaged.
func (s *session) undecided(ctx context.Context, rows []db.CallRow) []unknownJSON {
	out := []unknownJSON{}
	for _, row := range rows {
		summary := ""
		if call, err := s.Store.Call(ctx, row.ID); err == nil { // doctor reports what cannot be read
			summary = host.Words(call.Tool, call.Proposal.Args)
		}
		out = append(out, unknownView(row.ID, row.Tool, summary, row.Started))
	}
	return out
}

// commandsOn are the commands that decide on calls.
func commandsOn(calls []unknownJSON) []string {
	var out []string
	for _, c := range calls {
		out = append(out, c.Next...)
	}
	return out
}

// line says what is not known about the call, and which commands decide.
func (u unknownJSON) line() string {
	name := u.Tool
	if u.Summary != "" {
		name += ": " + u.Summary
	}
	if len(u.Next) == 0 {
		return "call " + u.ID + " (" + name + ") may or may not have happened, and its run is damaged: look for its effect yourself"
	}
	return "call " + u.ID + " (" + name + ") may or may not have happened; decide: " + strings.Join(u.Next, ", or: ")
}
