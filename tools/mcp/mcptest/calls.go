package mcptest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

func text(s string) object {
	return object{"content": []object{{"type": "text", "text": s}}}
}

// call carries out one tool.
func (s *server) call(params json.RawMessage) (any, any) {
	var p struct {
		Name      string
		Arguments struct{ Text string }
		Meta      struct {
			Key   string          `json:"agent/idempotency-key"`
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, object{"code": -32602, "message": err.Error()}
	}
	switch p.Name {
	case "echo", "bare", "a.b", "rules":
		if s.mode == "stuck" {
			note(s.log, p.Name)
		}
		s.wait("stuck")
		return text(p.Arguments.Text), nil
	case "note", "mail":
		note(s.log, p.Name+" "+p.Arguments.Text+" "+p.Meta.Key)
		s.wait("stuck")
		return text("sent " + p.Arguments.Text), nil
	case "key":
		return text(p.Meta.Key), nil
	case "env":
		return text(strings.Join(os.Environ(), "\n")), nil
	case "fail":
		return object{"content": []object{{"type": "text", "text": "the disk is full"}}, "isError": true}, nil
	case "refuse":
		return nil, object{"code": -32602, "message": "no such\x1b[2J thing"}
	case "progress":
		for i := range 3 {
			s.notify("notifications/progress", object{"progressToken": p.Meta.Token, "progress": i + 1, "total": 3, "message": "step\x1b[31m"})
			time.Sleep(150 * time.Millisecond)
		}
		return text("done"), nil
	case "long":
		return text("begin " + strings.Repeat("0123456789", 300_000) + " end"), nil
	case "structured":
		v := object{"sum": 3, "who": "a<b"}
		return object{"content": []object{{"type": "text", "text": `{"who": "a<b", "sum": 3}`}}, "structuredContent": v}, nil
	case "media":
		return object{"content": []object{
			{"type": "image", "mimeType": "image/png", "data": "AAEC"},
			{"type": "audio", "mimeType": "audio/wav", "data": "AAEC"},
			{"type": "resource_link", "uri": "file:///x", "name": "x"},
			{"type": "resource", "resource": object{"uri": "file:///y", "text": "inside y"}},
			{"type": "resource", "resource": object{"uri": "file:///z", "mimeType": "application/zip", "blob": "AAEC"}},
		}}, nil
	}
	return s.misbehave(p.Name, p.Meta.Token)
}

func (s *server) misbehave(name string, token json.RawMessage) (any, any) {
	switch name {
	case "die", "die.read":
		note(s.log, name)
		fmt.Fprintln(os.Stderr, "panic: out of\x1b[31m cheese")
		os.Exit(3)
	case "hang":
		note(s.log, name)
		select {}
	case "flood":
		s.mu.Lock()
		defer s.mu.Unlock()
		for range 64 {
			s.out.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"`))
			s.out.Write([]byte(strings.Repeat("x", 1<<20)))
		}
		s.out.Write([]byte("\"}}\n"))
	case "pour":
		for n := 1; ; n++ {
			if n == 2500 { // more than a client takes in a second
				note(s.log, name)
			}
			s.notify("notifications/progress", object{"progressToken": token, "progress": 1, "message": strings.Repeat("x", 1000)})
		}
	case "garbage":
		s.mu.Lock()
		s.out.Write([]byte("DEBUG: called\n{\"half\": \n\x00\xff\n[]\n{}\n"))
		s.mu.Unlock()
		return text("still here"), nil
	case "change", "swap":
		s.mu.Lock()
		s.changed = "echo"
		s.mu.Unlock()
		if name == "change" {
			s.notify("notifications/tools/list_changed", object{})
		}
		return text("changed"), nil
	case "ask", "ask_secret", "ask_url":
		return s.ask(name), nil
	}
	return nil, object{"code": -32602, "message": "unknown tool " + name}
}

// ask puts a question to the person of the client and says what came back.
func (s *server) ask(name string) any {
	params := object{"message": "Who\x1b[31m are you?", "requestedSchema": object{
		"type": "object", "required": []string{"name"}, "properties": object{
			"name": object{"type": "string", "description": "your name"}, "age": object{"type": "integer"},
		},
	}}
	switch {
	case s.mode == "ask":
		params["requestedSchema"] = object{"type": "object", "properties": object{"name": object{"type": "string"}}}
	case name == "ask_secret":
		params["requestedSchema"] = object{"type": "object", "properties": object{"dbPassword": object{"type": "string"}}}
	case name == "ask_url":
		params = object{"message": "Log in.", "mode": "url", "url": "https://example.invalid/login", "elicitationId": "1"}
	}
	b, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	s.asked++
	id := json.RawMessage(fmt.Sprintf(`"ask-%d"`, s.asked))
	s.mu.Unlock()
	back := make(chan message, 1)
	s.waiting.Store(string(id), back)
	s.send(message{ID: id, Method: "elicitation/create", Params: b})
	answer := <-back
	said, err := json.Marshal(answer.Result)
	if err != nil {
		panic(err)
	}
	if answer.Error != nil {
		said = fmt.Append(said, answer.Error)
	}
	return text(string(said))
}
