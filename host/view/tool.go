package view

import (
	"encoding/json"
	"strings"

	"agent/recovery/journal"
)

// Tool is a tool as agent tools prints it.
type Tool struct {
	Name        string          `json:"name"`
	Effects     []Effect        `json:"effects"`       // what its calls can be, the usual one first
	Asks        bool            `json:"asks_a_person"` // its calls are questions and run nothing
	Inspects    bool            `json:"can_look"`      // it can see afterwards whether a call happened
	Outlives    bool            `json:"outlives_host"` // its calls go on without the host and are found again
	Schema      json.RawMessage `json:"input_schema"`
	Description string          `json:"description"`
	Written     string          `json:"written_as,omitempty"` // as an item of a runbook
	Server      *Origin         `json:"mcp,omitempty"`        // the MCP server that offers it
}

// Effect is what a call of a tool may change, and what each mode makes of it.
type Effect struct {
	Effect journal.Effect                    `json:"effect"`
	When   string                            `json:"when,omitempty"` // the argument that makes it
	Modes  map[journal.Mode]journal.Decision `json:"modes"`
}

// Tools is what tools prints with --json. Fields are only ever added.
type Tools struct {
	Version     int      `json:"version"`
	Tools       []Tool   `json:"tools"`
	Digest      string   `json:"digest"`
	Environment []string `json:"environment"`
	Hidden      []string `json:"environment_hidden"` // not given to commands, because they are secrets
	Sandbox     string   `json:"sandbox"`
	Servers     []Server `json:"mcp_servers"`
}

// ModesWith lists the modes that make d of it; "-" for none.
func (e Effect) ModesWith(d journal.Decision) string {
	var out []string
	for _, m := range journal.Modes() {
		if e.Modes[m] == d {
			out = append(out, string(m))
		}
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ", ")
}

// Text says of one effect of a tool what the modes make of it.
func (e Effect) Text() string {
	head, asks, refused := string(e.Effect), e.ModesWith(journal.DecisionAsk), e.ModesWith(journal.DecisionDeny)
	if e.When != "" {
		head = "with " + e.When + ": " + head
	}
	switch {
	case asks == "-" && refused == "-":
		return head + ": needs no yes"
	case refused == "-":
		return head + ": needs a yes in " + asks
	case asks == "-":
		return head + ": refused in " + refused
	}
	return head + ": needs a yes in " + asks + "; refused in " + refused
}

// Server is an MCP server as agent tools prints it. Fields are only ever added.
type Server struct {
	Name     string   `json:"name"`
	From     string   `json:"from"` // person or workspace
	Command  []string `json:"command,omitempty"`
	URL      string   `json:"url,omitempty"`
	Trusted  bool     `json:"trusted"` // its annotations are believed
	Disabled bool     `json:"disabled,omitempty"`
	Started  bool     `json:"started"`
	Tools    int      `json:"tools"`
	Error    string   `json:"error,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

// Origin is where a tool of an MCP server comes from.
type Origin struct {
	Server  string `json:"server"`
	Name    string `json:"name"` // as the server calls it
	Trusted bool   `json:"trusted"`
	Pin     string `json:"pin"` // SHA-256 of name, description, schema and hints
	Outward bool   `json:"outward"`
}
