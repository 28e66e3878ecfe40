//go:build linux

// Package mcp is the MCP server whose tools the stories call: the crash lab's own binary, started
// with another first argument. It knows nothing of the lab but the address of the counter.
package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
)

// Command is the first argument with which the lab is an MCP server on its standard streams. The
// counter's address and the number of the world follow.
const Command = "__mcp"

// Name is the server's name among the person's servers; its tools' names begin with it.
const Name = "lab"

func Tool(name string) string { return "mcp__" + Name + "__" + name }

// Config are the person's MCP servers: the lab itself, which is trusted with what it says of its
// tools.
func Config(exe, counter string, world int) ([]byte, error) {
	def := map[string]any{"command": exe, "args": []string{Command, counter, strconv.Itoa(world)}, "trusted": true}
	return json.Marshal(map[string]any{"mcpServers": map[string]any{Name: def}})
}

// message is a message of JSON-RPC 2.0, as the Model Context Protocol uses it (revision
// 2025-06-18): one a line.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

type server struct {
	counter, world string
	out            io.Writer
	mu             sync.Mutex // guards out and what follows
	asked          int
	waiting        map[string]chan json.RawMessage
}

// Serve answers until the stream ends. Effects go into the file of effects, so that none comes
// after the server has ended.
func Serve(in io.Reader, out io.Writer, counter, world string) error {
	s := &server{counter: counter, world: world, out: out, waiting: map[string]chan json.RawMessage{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // the client is gone
		}
		var m message
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

func (s *server) answer(m message) {
	var result any
	switch m.Method {
	case "initialize":
		result = map[string]any{
			"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": Name, "version": "1"},
		}
	case "ping":
		result = map[string]any{}
	case "tools/list":
		result = map[string]any{"tools": tools()}
	case "tools/call":
		text, err := s.call(m.Params)
		if err != nil {
			text = err.Error()
		}
		result = map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": err != nil}
	default:
		s.send(message{ID: m.ID, Error: map[string]any{"code": -32601, "message": "method not found: " + m.Method}})
		return
	}
	s.send(message{ID: m.ID, Result: marshal(result)})
}

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of texts always encode
	}
	return b
}

func (s *server) send(m message) {
	m.JSONRPC = "2.0"
	b := append(marshal(m), '\n')
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(b) // a client that is gone is seen when it is read from
}

func tools() []any {
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

func (s *server) call(params json.RawMessage) (string, error) {
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

// ask notifies the lab that a question is coming, and puts it to the person.
func (s *server) ask() (string, error) {
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
	s.send(message{ID: id, Method: "elicitation/create", Params: marshal(map[string]any{
		"message": "Which colour?", "requestedSchema": map[string]any{
			"type": "object", "required": []string{"colour"}, "properties": map[string]any{"colour": map[string]any{"type": "string"}},
		},
	})})
	var reply struct {
		Action  string
		Content struct{ Colour string }
	}
	if err := json.Unmarshal(<-back, &reply); err != nil {
		return "", err
	}
	if reply.Action != "accept" {
		return "", fmt.Errorf("nobody chose a colour: %s", reply.Action)
	}
	return reply.Content.Colour, nil
}
