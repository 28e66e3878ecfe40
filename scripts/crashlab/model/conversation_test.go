//go:build linux

package model

import (
	"fmt"
	"strings"
	"testing"

	"agent/host/model/modeltest"
)

// The conversation of a request is read alike in every shape.
func TestReadConversation(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/messages": `{"messages":[{"role":"user","content":[{"type":"text","text":"old [turns done: 2]"},{"type":"text","text":"tell"}]},
			{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"a","name":"shell","input":{}},{"type":"tool_use","id":"b","name":"search","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"one"},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"two"}]}]}]}`,
		"/v1/chat/completions": `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"old [turns done: 2]"},{"role":"user","content":"tell"},
			{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"shell"}},{"id":"b","function":{"name":"search"}}]},
			{"role":"tool","tool_call_id":"a","content":"one"},{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"two"}]}]}`,
		"/v1/responses": `{"input":[{"role":"user","content":[{"type":"input_text","text":"old [turns done: 2]"}]},{"role":"user","content":"tell"},
			{"type":"reasoning"},{"role":"assistant","content":[{"text":"so"}]},{"type":"function_call","call_id":"a","name":"shell"},{"type":"function_call","call_id":"b","name":"search"},
			{"type":"function_call_output","call_id":"a","output":"one"},{"type":"function_call_output","call_id":"b","output":"two"}]}`,
	} {
		c, err := readConversation(path, []byte(body))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if !strings.HasSuffix(c.prompt, "tell") || c.before != 2 || len(c.turns) != 1 || len(c.turns[0]) != 2 {
			t.Errorf("%s: %+v", path, c)
			continue
		}
		if a, b := c.turns[0][0], c.turns[0][1]; *a != (call{"a", "shell", "one"}) || *b != (call{"b", "search", "two"}) {
			t.Errorf("%s: %+v %+v", path, *a, *b)
		}
		if _, err := readConversation(path, []byte("{")); err == nil {
			t.Errorf("%s: half a request is read", path)
		}
	}
}

// What became unknown is asked for once more, once; what was done is not.
func TestDecide(t *testing.T) {
	shell := func(words string) modeltest.Call {
		return modeltest.Call{Tool: "shell", Args: []byte(`{"command":"` + words + `"}`)}
	}
	s := &Server{stories: []*script{{prompt: "tell", turns: []modeltest.Turn{
		{Calls: []modeltest.Call{shell("a"), shell("b")}}, {Calls: []modeltest.Call{{Tool: "read_output", Args: []byte(`{"call":"{{call}}"}`)}}}, {Text: "end"},
	}, again: make([]bool, 3), seen: map[int]bool{}}}}
	shown := func(results ...string) string {
		c := &conversation{prompt: "please tell"}
		for i, r := range results {
			c.addTurn()
			for k, words := range strings.Split(r, ";") {
				c.addCall(fmt.Sprintf("%d.%d", i, k), "shell")
				c.addResult(fmt.Sprintf("%d.%d", i, k), words)
			}
		}
		s.decide(c)
		var out []string
		for _, turn := range s.stories[0].turns {
			for _, call := range turn.Calls {
				out = append(out, string(call.Args))
			}
		}
		return strings.Join(out, " ")
	}
	if got := shown("call c-0123abcd: cut;outcome unknown: it was lost"); got != `{"command":"a"} {"command":"b"} {"command":"b"} {"call":"c-0123abcd"}` {
		t.Error(got)
	}
	if got := shown("call c-0123abcd: cut;outcome unknown: it was lost", "not executed: leave"); strings.Count(got, `"b"`) != 2 {
		t.Error(got)
	}
	if got := shown("call c-0123abcd: cut;outcome unknown: it was lost"); strings.Count(got, `"b"`) != 2 {
		t.Error("asked anew, it says otherwise: " + got)
	}
}
