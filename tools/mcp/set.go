package mcp

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"agent/tools"
)

// Set is the servers of a run.
type Set struct {
	leases []*lease
	give   []func()
	tools  []tools.Tool
	notes  []string
}

// Started is how the start of one server went.
type Started struct {
	Server Server
	Err    error // why its tools are missing
	Tools  int
	Notes  []string // what is left out of it
	Took   time.Duration
}

// Start starts those of the servers that no other run of the pool uses, all at once, and returns
// when each has said its tools, or failed. Those that are disabled are left out. each is called
// with one as it comes, never twice at a time. Close ends the run's use of them.
func (p *Pool) Start(ctx context.Context, list []Server, o Options, each func(Started)) *Set {
	set := &Set{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, def := range list {
		if def.Disabled {
			continue
		}
		s, give := p.take(def, o)
		l := &lease{server: s, admit: o.Admit, pinned: o.Pinned, changed: map[string]string{}}
		set.leases, set.give = append(set.leases, l), append(set.give, give)
	}
	if o.Taken != nil {
		o.Taken()
	}
	for _, l := range set.leases {
		wg.Go(func() {
			began := time.Now()
			l.begin(ctx)
			mu.Lock()
			defer mu.Unlock()
			each(Started{Server: l.Server, Err: l.err, Tools: len(l.tools), Notes: l.notes, Took: time.Since(began)})
		})
	}
	wg.Wait()
	taken := map[string]string{}
	for _, l := range set.leases {
		for _, p := range l.tools {
			if other, is := taken[p.name]; is {
				set.notes = append(set.notes, fmt.Sprintf("MCP server %s: tool %q is left out: server %s has a tool of the name %s",
					l.Name, brief(p.remote, 64), other, p.name))
				continue
			}
			taken[p.name] = l.Name
			set.tools = append(set.tools, &tool{pinned: p, of: l})
		}
	}
	return set
}

// Tools are the tools of all servers that were started, in the order of the servers.
func (s *Set) Tools() []tools.Tool { return slices.Clone(s.tools) }

// Notes says which tools are left out because their names collide.
func (s *Set) Notes() []string { return slices.Clone(s.notes) }

// Close ends the run's use of its servers. Those that no other run uses are ended. Closing again
// does nothing.
func (s *Set) Close() {
	var wg sync.WaitGroup
	for _, give := range s.give {
		wg.Go(give)
	}
	wg.Wait()
}

// Origin is where a tool comes from.
type Origin struct {
	Server  Server
	Remote  string // the server's own name of the tool
	Pin     string // SHA-256 of its name, description, schema and hints
	Outward bool
}

// OriginOf says which server's tool it is; false for one that is none.
func OriginOf(t tools.Tool) (Origin, bool) {
	own, ok := t.(*tool)
	if !ok {
		return Origin{}, false
	}
	return Origin{Server: own.of.Server, Remote: own.remote, Pin: own.pin.Pin, Outward: own.outward}, true
}
