package mcp

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
)

// Pool has the MCP servers of one process. Runs that need the same server in the same folder share
// it: it is started for the first of them, and ends with the last.
type Pool struct {
	mu    sync.Mutex // guards the rest
	known map[string]*counted
}

type counted struct {
	*server
	users int
}

// NewPool makes a pool without servers.
func NewPool() *Pool { return &Pool{known: map[string]*counted{}} }

// take counts one more use of a server, which need not be started yet. give takes that back, and
// ends the server behind its last use.
func (p *Pool) take(def Server, o Options) (s *server, give func()) {
	key := keyOfServer(def, o)
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.known[key]
	if c == nil {
		c = &counted{server: newServer(def, o)}
		p.known[key] = c
	}
	c.users++
	return c.server, sync.OnceFunc(func() {
		if p.left(key, c) {
			c.close()
		}
	})
}

// left takes back one use, and says whether it was the last.
func (p *Pool) left(key string, c *counted) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.users--; c.users > 0 {
		return false
	}
	delete(p.known, key)
	return true
}

// keyOfServer is the same for servers that one process can be: of one definition, in one folder,
// with one environment and sandbox.
func keyOfServer(def Server, o Options) string {
	var variant string
	if o.Variant != nil {
		variant = o.Variant(def)
	}
	text, err := json.Marshal([]any{def, o.Folder, o.Environ, o.Version, o.Level, variant})
	if err != nil {
		panic(err) // texts always encode
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}
