package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agent/recovery/journal"
)

// lease is the use that one run makes of a server. The descriptions of tools that the run began
// with hold for it, whatever other runs that use the server began with.
type lease struct {
	*server
	admit  func(Server) error
	pinned []journal.ServerPin // what servers said of their tools when the run began
	tools  []pinned            // fixed by begin
	notes  []string
	err    error // why its tools are missing

	said    sync.Mutex        // guards the rest
	changed map[string]string // how tools differ from what they are pinned as, by the server's names
	missing map[string]bool   // tools that the last list lacked
}

// begin has the server started unless another run did, and fixes the tools of this run.
func (l *lease) begin(ctx context.Context) {
	_, list, err := l.server.ready(ctx, l.admit, true)
	if err != nil {
		l.err = err
		return
	}
	l.tools, l.notes = pinAll(l.Server, list)
	l.hold()
}

// ready returns the server alive, with the run's tools compared with their pins.
func (l *lease) ready(ctx context.Context) (*live, error) {
	alive, list, err := l.server.ready(ctx, l.admit, false)
	if err == nil {
		l.differ(list)
	}
	return alive, err
}

// hold compares the tools with what the run was begun with. One that differs keeps its name, so
// that a call of it is refused with the reason; what its server says of it now is not passed on.
func (l *lease) hold() {
	for _, pins := range l.pinned {
		if pins.Name != l.Name {
			continue
		}
		for i, t := range l.tools {
			at := slices.IndexFunc(pins.Tools, func(p journal.ToolPin) bool { return p.Name == t.remote })
			if at < 0 {
				continue // it is new: the run was never shown another of its name
			}
			d := difference(pins.Tools[at], t.pin)
			if d == "" {
				continue
			}
			l.changed[t.remote] = d
			l.tools[i].description = "Not available in this run: its server changed it."
			l.tools[i].schema = json.RawMessage(`{"type":"object"}`)
			l.tools[i].unchecked = true
			l.tools[i].effect, l.tools[i].retrySafe, l.tools[i].outward = journal.EffectWriteExternal, false, true
			l.notes = append(l.notes, fmt.Sprintf("tool %q is not called in this run: it was changed since the run began: %s", brief(t.remote, 64), d))
		}
	}
}

// differ notes which of the pinned tools are not what they were. One that was changed once stays
// refused, whatever it is now.
func (l *lease) differ(list []*sdk.Tool) {
	now := map[string]journal.ToolPin{}
	for _, t := range list {
		if pin, err := pinOf(t); err == nil {
			now[t.Name] = pin
		}
	}
	l.said.Lock()
	defer l.said.Unlock()
	l.missing = map[string]bool{}
	for _, t := range l.tools {
		pin, there := now[t.remote]
		if !there {
			l.missing[t.remote] = true
		} else if d := difference(t.pin, pin); d != "" && l.changed[t.remote] == "" {
			l.changed[t.remote] = d
		}
	}
}

// refuse says why a tool may not be called now; nil when it may. The caller got the server ready.
func (l *lease) refuse(p pinned) error {
	l.said.Lock()
	defer l.said.Unlock()
	switch {
	case l.changed[p.remote] != "":
		return fmt.Errorf("MCP server %s changed what it says of tool %s since this run's list of tools was made, so it is not called (%s); "+
			"a new run shows it as it is now", l.Name, p.remote, l.changed[p.remote])
	case l.missing[p.remote]:
		return fmt.Errorf("MCP server %s no longer has tool %s", l.Name, p.remote)
	}
	return nil
}
