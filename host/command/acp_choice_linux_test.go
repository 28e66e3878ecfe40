package command_test

import (
	"fmt"
	"strings"
	"testing"

	"agent/host/model/modeltest"
)

// A prompt to a session whose run has not ended is neither lost nor a second run beside it: the
// person chooses. // windows, promise 18
func TestEditorChoosesBehindARun(t *testing.T) {
	const command = "echo once >> out; until test -e go; do sleep 0.05; done"
	for choice, want := range map[string]string{
		"wait":    "The first ended.The second ended.",
		"end":     "The second ended.",
		"message": "I heard of it.",
		"drop":    "",
	} {
		t.Run(choice, func(t *testing.T) {
			w, _ := talking(t,
				modeltest.Story{Prompt: "begin", Turns: []modeltest.Turn{{Calls: shellCall(command)}, {Text: "The first ended."}}},
				modeltest.Story{Prompt: "second", Turns: []modeltest.Turn{{Text: "The second ended."}}},
				modeltest.Story{Prompt: "by the way", Turns: []modeltest.Turn{{Text: "I heard of it."}}},
			)
			e := edits(t, w)
			s := e.begins(w, "auto")
			e.prompts(s, "begin")
			e.until("the command", updated("tool_call_update", "in_progress"))
			await(t, "the command", func() bool { return w.read("out") != "" })
			e.kill() // the session is loaded again, while its run goes on
			e = edits(t, w)
			e.ok(e.loads(w, s))
			e.ok(e.asks("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"auto"}`, s)))
			text := "second"
			if choice == "message" {
				text = "by the way"
			}
			id := e.prompts(s, text)
			q := e.question("wait", "message", "end", "drop")
			if !strings.Contains(q.Params.ToolCall.Title, "has not ended: running (begin)") {
				t.Errorf("%q", q.Params.ToolCall.Title)
			}
			refused := e.answered(e.prompts(s, "a third"))
			if refused.Error == nil || !strings.Contains(refused.Error.Message, "a prompt of this session is under way") {
				t.Errorf("%+v", refused)
			}
			e.picks(q, choice)
			if choice != "end" && choice != "drop" {
				w.write("go", "")
			}
			if got := e.ok(id); got != ended {
				t.Error(got)
			}
			said := e.said("agent_message_chunk")
			if choice == "message" { // the first answer may have been on its way
				said = said[max(0, len(said)-len(want)):]
			}
			if said != want || w.read("out") != "once\n" {
				t.Errorf("%q, %q\n%s", said, w.read("out"), e.seen())
			}
			w.write("go", "")
			e.leaves()
			w.quiet()
		})
	}
}

// A run that was interrupted goes on first, or is ended, as the person says. A question that is
// left open is put again before the next prompt is taken.
func TestEditorAfterAnInterruption(t *testing.T) {
	w, _ := talking(t,
		modeltest.Story{Prompt: "begin", Turns: []modeltest.Turn{{Calls: shellCall("touch made")}, {Text: "It is made."}}},
		modeltest.Story{Prompt: "second", Turns: []modeltest.Turn{{Text: "The second ended."}}},
	)
	e := edits(t, w)
	s := e.begins(w, "")
	id := e.prompts(s, "begin")
	e.picks(e.question("yes"), "")
	if got := e.ok(id); got != ended || !strings.Contains(e.said("agent_message_chunk"), "The question stays open: agent answer p-") {
		t.Errorf("%s\n%s", got, e.seen())
	}
	id = e.prompts(s, "second")
	e.picks(e.question("wait", "end", "drop"), "wait")
	e.picks(e.question("yes"), "yes")
	e.ok(id)
	if said := e.said("agent_message_chunk"); !strings.HasSuffix(said, "It is made.The second ended.") || w.read("made") != "" {
		t.Errorf("%q", said)
	}

	if code := w.agent("call.before_prepare:1:kill", "run", "--mode", "auto", "--thread", s, "begin"); code != -9 {
		t.Fatal(code)
	}
	id = e.prompts(s, "second")
	q := e.question("wait", "message", "end", "drop")
	if !strings.Contains(q.Params.ToolCall.Title, "has not ended: interrupted (begin)") {
		t.Errorf("%q", q.Params.ToolCall.Title)
	}
	e.picks(q, "wait")
	if got := e.ok(id); got != ended || !strings.HasSuffix(e.said("agent_message_chunk"), "It is made.The second ended.") {
		t.Errorf("%s\n%s", got, e.seen())
	}
	e.leaves()
	w.quiet()
}

// Only session/cancel ends a run: not the end of the connection, and not that of a request.
// windows, promises 7 and 18
func TestEditorCancels(t *testing.T) {
	const command = "echo once >> out; until test -e go; do sleep 0.05; done"
	w, _ := talking(t,
		modeltest.Story{Prompt: "begin", Turns: []modeltest.Turn{{Calls: shellCall(command)}, {Text: "It ended."}}},
		modeltest.Story{Prompt: "again", Turns: []modeltest.Turn{{Calls: shellCall("sleep 600")}, {Text: "never said"}}},
	)
	e := edits(t, w)
	s := e.begins(w, "auto")
	id := e.prompts(s, "begin")
	await(t, "the command", func() bool { return w.read("out") != "" })
	e.says(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}`, id))
	if m := e.answered(id); m.Error == nil || m.Error.Code != -32800 {
		t.Errorf("%+v", m)
	}
	e.leaves()
	w.write("go", "")
	await(t, "the end of the run", func() bool {
		return w.agent("", "ls", "--all", "--json") == 0 && strings.Contains(w.log.String(), `"status":"completed"`)
	})

	e = edits(t, w)
	e.ok(e.loads(w, s))
	e.ok(e.asks("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"mode","value":"auto"}`, s)))
	id = e.prompts(s, "again")
	e.until("the command", updated("tool_call_update", "in_progress"))
	e.says(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, s))
	if got := e.ok(id); got != `{"stopReason":"cancelled"}` {
		t.Error(got)
	}
	e.leaves()
	w.quiet()
}

// A cancel that comes at once, or with the prompt, ends what the prompt began; the next prompt of
// the session is carried out.
func TestEditorCancelsAtOnce(t *testing.T) {
	w, _ := talking(t,
		modeltest.Story{Prompt: "begin", Turns: []modeltest.Turn{{Calls: shellCall("echo hit >> out")}, {Text: "It ended."}}},
		modeltest.Story{Prompt: "again", Turns: []modeltest.Turn{{Text: "This was carried out."}}},
	)
	e := edits(t, w)
	for range 3 {
		s := e.begins(w, "")
		e.sent++
		id := e.sent
		e.says(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"begin"}]}}
{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, id, s, s))
		if got := e.ok(id); got != `{"stopReason":"cancelled"}` {
			t.Error(got)
		}
		if got := e.ok(e.prompts(s, "again")); got != ended {
			t.Error(got)
		}
	}
	if code := w.agent("", "ls", "--all", "--json"); code != 0 || strings.Contains(w.log.String(), `"status":"waiting"`) || w.read("out") != "" {
		t.Errorf("%d, %q\n%s", code, w.read("out"), w.log.String())
	}
	e.leaves()
	w.quiet()
}

// A resume of a session shows the answer that is being given, and the question that stands open is
// put again; what was left open before a prompt does not end it.
func TestEditorResumes(t *testing.T) {
	ask := []modeltest.Call{{Tool: "ask_user", Args: []byte(`{"question": "which name?"}`)}}
	hold := []modeltest.Fault{{Kind: modeltest.Hold, Attempt: 1, At: -900}}
	w, _ := talking(t,
		modeltest.Story{Prompt: "begin", Turns: []modeltest.Turn{{Text: "This is said, from the beginning to the end.", Faults: hold}}},
		modeltest.Story{Prompt: "named", Turns: []modeltest.Turn{{Calls: ask}, {Calls: shellCall("touch named")}, {Text: "It is named."}}},
	)
	e := edits(t, w)
	s := e.begins(w, "auto")
	e.prompts(s, "begin")
	e.until("a piece of the answer", func(m message) bool { return strings.HasPrefix(m.text(), "This") })
	e.kill()
	e = edits(t, w)
	e.ok(e.asks("session/resume", fmt.Sprintf(`{"sessionId":%q,"cwd":%q}`, s, w.dir)))
	w.release()
	e.hears("to the end.")
	if said := e.said("agent_message_chunk"); said != "This is said, from the beginning to the end." {
		t.Errorf("%q", said)
	}
	w.quietRuns()

	e.ok(e.prompts(s, "named"))
	e.kill()
	e = edits(t, w)
	e.ok(e.asks("session/resume", fmt.Sprintf(`{"sessionId":%q,"cwd":%q}`, s, w.dir)))
	e.hears("The next prompt is the answer.")
	id := e.prompts(s, "Ada")
	if got := e.ok(id); got != ended || !strings.HasSuffix(e.said("agent_message_chunk"), "It is named.") {
		t.Errorf("%s\n%s", got, e.seen())
	}
	if m := e.answered(e.asks("session/load", fmt.Sprintf(`{"sessionId":"","cwd":%q,"mcpServers":[]}`, w.dir))); m.Error == nil || !strings.Contains(m.Error.Message, "say which session") {
		t.Errorf("%+v", m)
	}
	e.leaves()
	w.quiet()
}

// Words that answer a question are the next prompt. What an editor sends that is no message, no
// method or no session gets a clear error, and what goes on is not touched by it.
func TestEditorSaysWhatIsWrong(t *testing.T) {
	ask := []modeltest.Call{{Tool: "ask_user", Args: []byte(`{"question": "which name?"}`)}}
	w, _ := talking(t, modeltest.Story{Prompt: "begin", Turns: []modeltest.Turn{{Calls: ask}, {Text: "I call it so."}}})
	e := edits(t, w)
	s := e.begins(w, "")
	if got := e.ok(e.prompts(s, "begin")); got != ended || !strings.Contains(e.said("agent_message_chunk"), "which name?\n\nThe next prompt is the answer.") {
		t.Errorf("%s\n%s", got, e.seen())
	}
	for _, c := range []struct{ method, params, want string }{
		{"session/nothing", `{}`, "Method not found"},
		{"session/prompt", `{"sessionId":"t-nowhere","prompt":[{"type":"text","text":"x"}]}`, `session "t-nowhere" is not open`},
		{"session/load", fmt.Sprintf(`{"sessionId":"t-nowhere","cwd":%q,"mcpServers":[]}`, w.dir), `session "t-nowhere" is not here: session/list has those that are`},
		{"session/new", `{"cwd":"here","mcpServers":[]}`, `cwd "here" is no absolute path of a folder`},
		{"session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}`, s), "picture 1 of the prompt"},
		{"session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[]}`, s), "the prompt says nothing"},
		{"session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"fast"}`, s), `there is no mode "fast": choose plan, ask, auto or yolo`},
		{"session/list", `{"cursor":"x"}`, `cursor "x" is none of session/list`},
		{"session/prompt", `[]`, "Invalid params"},
		{"session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"zork"}]}`, s), "neither text, nor a picture, nor a file"},
		{"authenticate", `{"methodId":"x"}`, "there is no login here"},
	} {
		if m := e.answered(e.asks(c.method, c.params)); m.Error == nil || !strings.Contains(m.Error.Message+string(m.Error.Data), c.want) {
			t.Errorf("%s %s: %+v", c.method, c.params, m.Error)
		}
	}
	for _, line := range []string{"{no JSON", strings.Repeat("x", 10<<20)} {
		e.says(line)
		m := e.until("an error", func(m message) bool { return m.Error != nil && m.ID == nil })
		if m.Error.Code != -32700 {
			t.Errorf("%+v", m.Error)
		}
	}
	for _, line := range []string{`[{"jsonrpc":"2.0"}]`, `{"jsonrpc":"2.0","id":1,"method":5}`, `{"jsonrpc":"2.0","id":{},"method":"session/list"}`} {
		e.says(line)
		m := e.until("an error", func(m message) bool { return m.Error != nil && m.ID == nil })
		if m.Error.Code != -32600 {
			t.Errorf("%+v", m.Error)
		}
	}
	if got := e.ok(e.prompts(s, "Ada")); got != ended || !strings.HasSuffix(e.said("agent_message_chunk"), "I call it so.") {
		t.Errorf("%s\n%s", got, e.seen())
	}
	e.leaves()
	w.quiet()
	if code := w.agent("", "show", "last"); code != 0 || !strings.Contains(w.log.String(), "(editor tester)") {
		t.Errorf("who answered is not recorded\n%s", w.log.String())
	}
}
