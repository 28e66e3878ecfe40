//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// serverCommand is the first argument with which the lab is an MCP server on its standard streams. The counter's address and
// the number of the world follow.
const serverCommand = "__mcp"

// mcpName is the server's name among the person's servers; its tools' names begin with it.
const mcpName = "lab"

func mcpTool(name string) string { return "mcp__" + mcpName + "__" + name }

// servers are the person's MCP servers: the lab itself, which is trusted with what it says of its tools.
func servers(exe, counter string, world int) ([]byte, error) {
	def := map[string]any{"command": exe, "args": []string{serverCommand, counter, strconv.Itoa(world)}, "trusted": true}
	return json.Marshal(map[string]any{"mcpServers": map[string]any{mcpName: def}})
}

// mcpMessage is a message of JSON-RPC 2.0, as the Model Context Protocol uses it (revision 2025-06-18): one a line.
type mcpMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

type mcpServer struct {
	counter, world string
	out            io.Writer
	mu             sync.Mutex // guards out and what follows
	asked          int
	waiting        map[string]chan json.RawMessage
}

// serveMCP answers until the stream ends. Effects go into the file of effects, so that none comes after the server has ended.
func serveMCP(in io.Reader, out io.Writer, counter, world string) error {
	s := &mcpServer{counter: counter, world: world, out: out, waiting: map[string]chan json.RawMessage{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // the client is gone
		}
		var m mcpMessage
		if err := json.Unmarshal(line, &m); err != nil {
			return fmt.Errorf("read a message: %v", err)
		}
		switch {
		case m.Method == "" && m.ID != nil:
			s.mu.Lock()
			if c := s.waiting[string(m.ID)]; c != nil {
				c <- m.Result
			}
			s.mu.Unlock()
		case m.ID != nil:
			go s.answer(m)
		}
	}
}

func (s *mcpServer) answer(m mcpMessage) {
	var result any
	switch m.Method {
	case "initialize":
		result = map[string]any{
			"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": mcpName, "version": "1"},
		}
	case "ping":
		result = map[string]any{}
	case "tools/list":
		result = map[string]any{"tools": mcpTools()}
	case "tools/call":
		text, err := s.call(m.Params)
		if err != nil {
			text = err.Error()
		}
		result = map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": err != nil}
	default:
		s.send(mcpMessage{ID: m.ID, Error: map[string]any{"code": -32601, "message": "method not found: " + m.Method}})
		return
	}
	s.send(mcpMessage{ID: m.ID, Result: marshal(result)})
}

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of texts always encode
	}
	return b
}

func (s *mcpServer) send(m mcpMessage) {
	m.JSONRPC = "2.0"
	b := append(marshal(m), '\n')
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(b) // a client that is gone is seen when it is read from
}

func mcpTools() []any {
	tool := func(name, about string, reads bool) any {
		return map[string]any{
			"name": name, "description": about, "annotations": map[string]any{"readOnlyHint": reads, "openWorldHint": false},
			"inputSchema": map[string]any{"type": "object", "properties": map[string]any{
				"mark": map[string]any{"type": "string"}, "times": map[string]any{"type": "integer", "default": 1},
			}},
		}
	}
	return []any{tool("look", "Looks for a needle.", true), tool("count", "Counts a mark.", false), tool("ask", "Counts a mark once a colour is chosen.", false)}
}

func (s *mcpServer) call(params json.RawMessage) (string, error) {
	var p struct {
		Name      string
		Arguments struct{ Mark string }
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return "", err
	}
	colour := ""
	switch p.Name {
	case "look":
		return "a needle in the hay", nil
	case "count":
	case "ask":
		var err error
		if colour, err = s.ask(); err != nil {
			return "", err
		}
		colour = ", " + colour
	default:
		return "", fmt.Errorf("there is no tool %s", p.Name)
	}
	f, err := os.OpenFile("effects", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return "", err
	}
	if _, err := f.WriteString(p.Arguments.Mark + "\n"); err != nil {
		return "", err
	}
	return "counted" + colour, f.Close()
}

// ask tells the lab that a question is coming, and puts it to the person.
func (s *mcpServer) ask() (string, error) {
	resp, err := http.Post("http://"+s.counter+"/asks/"+s.world, "text/plain", nil)
	if err != nil {
		return "", err
	}
	if err := resp.Body.Close(); err != nil {
		return "", err
	}
	back := make(chan json.RawMessage, 1)
	s.mu.Lock()
	s.asked++
	id := marshal(fmt.Sprintf("ask-%d", s.asked))
	s.waiting[string(id)] = back
	s.mu.Unlock()
	s.send(mcpMessage{ID: id, Method: "elicitation/create", Params: marshal(map[string]any{
		"message": "Which colour?", "requestedSchema": map[string]any{
			"type": "object", "required": []string{"colour"}, "properties": map[string]any{"colour": map[string]any{"type": "string"}},
		},
	})})
	var said struct {
		Action  string
		Content struct{ Colour string }
	}
	if err := json.Unmarshal(<-back, &said); err != nil {
		return "", err
	}
	if said.Action != "accept" {
		return "", fmt.Errorf("nobody chose a colour: %s", said.Action)
	}
	return said.Content.Colour, nil
}

// serversGone waits until no MCP server of the world is left: they end with the host that started them.
func (w *world) serversGone() error {
	if !w.hasServer {
		return nil
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(limit)
	line := []byte("\x00" + serverCommand + "\x00" + w.witness.counter.addr() + "\x00" + strconv.Itoa(w.number) + "\x00")
	for {
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return err
		}
		left := ""
		for _, path := range all {
			if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, line) {
				left = path
			}
		}
		if left == "" {
			return nil
		}
		select {
		case <-tick.C:
		case <-late:
			return fmt.Errorf("%w: an MCP server outlives its host by %s: %s", errStuck, limit, left)
		}
	}
}

// attend waits for a command. Where calls ask in the middle, their questions are answered meanwhile, by a command of its own.
func (t *tale) attend(c *command) (output, bool, error) {
	asks := t.world.witness.counter.askedIn(t.world.number)
	late := time.After(limit)
	for {
		select {
		case <-asks:
			if err := t.answerOpen(c); err != nil {
				return output{}, true, err
			}
			continue
		case <-c.ended:
		case <-late:
		}
		o, ok := c.wait()
		return o, ok, nil
	}
}

// answerOpen answers the question that was announced, until it is no longer open: who answers may be killed too.
func (t *tale) answerOpen(c *command) error {
	last := ""
	for {
		id, err := t.asking(c, last == "")
		if err != nil || id == "" || id == last && t.cmd >= mostCommands {
			return err
		}
		last = id
		if err := t.command([]string{"answer", id, "blue"}); err != nil {
			return err
		}
	}
}

// asking is the question of a call that is under way; "" where none is open, after waiting for it until the command ended.
func (t *tale) asking(c *command, wait bool) (string, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		o, err := t.world.agent(context.Background(), "pending", "--json")
		if err != nil {
			return "", err
		}
		var v struct {
			Requests []struct{ ID, Kind, Status string }
		}
		if i := strings.Index(o.text, "{\""); i >= 0 {
			if err := json.NewDecoder(strings.NewReader(o.text[i:])).Decode(&v); err != nil {
				return "", fmt.Errorf("agent pending --json: %v: %s", err, o.text)
			}
		}
		for _, r := range v.Requests {
			if r.Kind == "elicitation" && r.Status == "open" {
				return r.ID, nil
			}
		}
		if !wait {
			return "", nil
		}
		select {
		case <-c.ended:
			return "", nil
		case <-tick.C:
		}
	}
}
