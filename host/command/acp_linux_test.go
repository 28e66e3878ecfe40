package command_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/host/model/modeltest"
)

// message is one line between an editor and agent acp.
type message struct {
	ID     *int   `json:"id"`
	Method string `json:"method"`
	whole  []byte
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	Params struct {
		Session  string `json:"sessionId"`
		ToolCall struct {
			ID    string `json:"toolCallId"`
			Title string `json:"title"`
		} `json:"toolCall"`
		Options []struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
		} `json:"options"`
		Update struct {
			Kind    string          `json:"sessionUpdate"`
			Call    string          `json:"toolCallId"`
			Title   string          `json:"title"`
			Status  string          `json:"status"`
			Content json.RawMessage `json:"content"`
		} `json:"update"`
	} `json:"params"`
}

// text is that of a chunk.
func (m message) text() string {
	var c struct{ Text string }
	if json.Unmarshal(m.Params.Update.Content, &c) != nil {
		return ""
	}
	return c.Text
}

// editorSeat is an editor that has started agent acp.
type editorSeat struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	from chan message
	all  []message
	sent int
	wire *wire
}

// edits starts agent acp in the world.
func edits(t *testing.T, w *world) *editorSeat {
	t.Helper()
	e := &editorSeat{t: t, cmd: exec.Command(filepath.Join(binDir(), "agent"), "acp"), from: make(chan message, 4096), wire: newWire(t)}
	e.cmd.Dir, e.cmd.Stderr = w.dir, os.Stderr
	e.cmd.Env = append(os.Environ(), "HOME="+w.home, "AGENT_HOME="+filepath.Join(w.home, "state"))
	out, err := e.cmd.StdoutPipe()
	if err == nil {
		e.in, err = e.cmd.StdinPipe()
	}
	if err == nil {
		err = e.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.cmd.Process.Kill(); _ = e.cmd.Wait() }) // most have ended
	go func() {
		defer close(e.from)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var m message
			if json.Unmarshal(lines.Bytes(), &m) != nil {
				m.Method = "no JSON: " + lines.Text()
			}
			m.whole = slices.Clone(lines.Bytes())
			e.from <- m
		}
	}()
	e.ok(e.asks("initialize", `{"protocolVersion":1,"clientCapabilities":{},"clientInfo":{"name":"tester","version":"1"}}`))
	return e
}

// says sends a line.
func (e *editorSeat) says(line string) {
	e.t.Helper()
	if _, err := io.WriteString(e.in, line+"\n"); err != nil {
		e.t.Fatal(err)
	}
}

// asks sends a request, and returns its number.
func (e *editorSeat) asks(method, params string) int {
	e.t.Helper()
	e.sent++
	e.wire.asks(e.sent, method)
	e.says(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, e.sent, method, params))
	return e.sent
}

func (e *editorSeat) prompts(session, text string) int {
	e.t.Helper()
	return e.asks("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, session, text))
}

// until waits for a message.
func (e *editorSeat) until(what string, ok func(message) bool) message {
	e.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		select {
		case m, open := <-e.from:
			if !open {
				e.t.Fatalf("agent acp ended before %s\n%s", what, e.seen())
			}
			if err := e.wire.check(m.whole); err != nil {
				e.t.Errorf("%s\n%v", m.whole, err)
			}
			e.all = append(e.all, m)
			if ok(m) {
				return m
			}
		case <-limit.C:
			e.t.Fatalf("waited in vain for %s\n%s", what, e.seen())
		}
	}
}

func (e *editorSeat) seen() string {
	var b strings.Builder
	for _, m := range e.all {
		u := m.Params.Update
		fmt.Fprintf(&b, "%s %s %s %s %.200s %.200s\n", m.Method, u.Kind, u.Call, u.Status, u.Content, m.Result)
	}
	return b.String()
}

// answered waits for the answer to a request.
func (e *editorSeat) answered(id int) message {
	e.t.Helper()
	answers := func(m message) bool { return m.Method == "" && m.ID != nil && *m.ID == id }
	if i := slices.IndexFunc(e.all, answers); i >= 0 { // it came while something else was waited for
		return e.all[i]
	}
	return e.until(fmt.Sprintf("the answer to request %d", id), answers)
}

// ok waits for an answer that is no error.
func (e *editorSeat) ok(id int) string {
	e.t.Helper()
	m := e.answered(id)
	if m.Error != nil {
		e.t.Fatalf("request %d: %+v\n%s", id, m.Error, e.seen())
	}
	return string(m.Result)
}

// question waits for a question, and checks the answers that it offers.
func (e *editorSeat) question(offers ...string) message {
	e.t.Helper()
	m := e.until("a question", func(m message) bool { return m.Method == "session/request_permission" })
	for _, want := range offers {
		if !slices.ContainsFunc(m.Params.Options, func(o struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
		}) bool {
			return o.ID == want
		}) {
			e.t.Fatalf("%q is not offered: %+v", want, m.Params)
		}
	}
	return m
}

// picks answers a question; "" leaves it open.
func (e *editorSeat) picks(m message, option string) {
	e.t.Helper()
	outcome := fmt.Sprintf(`{"outcome":"selected","optionId":%q}`, option)
	if option == "" {
		outcome = `{"outcome":"cancelled"}`
	}
	e.says(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"outcome":%s}}`, *m.ID, outcome))
}

// begins opens a session in the world's folder.
func (e *editorSeat) begins(w *world, mode string) string {
	e.t.Helper()
	var v struct {
		ID string `json:"sessionId"`
	}
	if err := json.Unmarshal([]byte(e.ok(e.asks("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, w.dir)))), &v); err != nil {
		e.t.Fatal(err)
	}
	if mode != "" {
		e.ok(e.asks("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":%q}`, v.ID, mode)))
	}
	return v.ID
}

func (e *editorSeat) loads(w *world, session string) int {
	e.t.Helper()
	return e.asks("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, session, w.dir))
}

// said is what chunks of a kind said together.
func (e *editorSeat) said(kind string) string {
	var b strings.Builder
	for _, m := range e.all {
		if m.Params.Update.Kind == kind {
			b.WriteString(m.text())
		}
	}
	return b.String()
}

// hears waits until a text is said.
func (e *editorSeat) hears(text string) {
	e.t.Helper()
	if heard := func() bool { return strings.Contains(e.said("agent_message_chunk"), text) }; !heard() {
		e.until(text, func(message) bool { return heard() })
	}
}

func (e *editorSeat) kill() {
	e.t.Helper()
	if err := e.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		e.t.Fatal(err)
	}
	_ = e.cmd.Wait() // by the signal
}

// leaves closes the connection, and waits for the end of agent acp.
func (e *editorSeat) leaves() {
	e.t.Helper()
	if err := e.in.Close(); err != nil {
		e.t.Fatal(err)
	}
	if err := e.cmd.Wait(); err != nil {
		e.t.Errorf("agent acp: %v", err)
	}
}

const ended = `{"stopReason":"end_turn"}`

// updated matches an update of a call.
func updated(kind, status string) func(message) bool {
	return func(m message) bool { return m.Params.Update.Kind == kind && m.Params.Update.Status == status }
}

// A session is a thread: a prompt is a run, its questions are put in the editor, and all of it is
// shown again, the same, when the session is loaded. // windows, promise 17
func TestEditorSession(t *testing.T) {
	w, _ := talking(t,
		modeltest.Story{Prompt: "make it", Turns: []modeltest.Turn{{Text: "I make it. ", Calls: shellCall("echo once >> out")}, {Text: "It is made."}}},
		modeltest.Story{Prompt: "and then", Turns: []modeltest.Turn{{Text: "Nothing more."}}},
	)
	e := edits(t, w)
	s := e.begins(w, "")
	id := e.prompts(s, "make it")
	q := e.question("yes", "never", "no")
	if w.read("out") != "" {
		t.Error("it ran before the yes")
	}
	e.picks(q, "yes")
	if got := e.ok(id); got != ended {
		t.Error(got)
	}
	if got := e.ok(e.prompts(s, "and then?")); got != ended {
		t.Error(got)
	}
	said := e.said("agent_message_chunk")
	if said != "I make it. It is made.Nothing more." || w.read("out") != "once\n" {
		t.Errorf("%q, %q", said, w.read("out"))
	}
	if list := e.ok(e.asks("session/list", "{}")); !strings.Contains(list, s) || !strings.Contains(list, `"title":"make it"`) {
		t.Error(list)
	}
	e.leaves()
	e = edits(t, w)
	e.ok(e.loads(w, s))
	if again := e.said("agent_message_chunk"); again != said || e.said("user_message_chunk") != "make itand then?" {
		t.Errorf("%q, %q\n%s", again, e.said("user_message_chunk"), e.seen())
	}
	if !slices.ContainsFunc(e.all, updated("tool_call_update", "completed")) {
		t.Errorf("the call's result is not shown\n%s", e.seen())
	}
	e.leaves()
	w.quiet()
}

// The editor, or agent acp, is killed at any moment: the run goes on or waits, what acts acts once,
// and a load shows all of it, what streams now, and asks the open question again.
// windows, promise 17
func TestEditorIsKilled(t *testing.T) {
	const command = "echo once >> out; until test -e go; do sleep 0.05; done"
	for _, state := range []string{"streaming", "running", "asking", "between"} {
		t.Run(state, func(t *testing.T) {
			turns := []modeltest.Turn{{Calls: shellCall(command)}, {Text: "That was it, from the beginning to the end."}}
			if state == "streaming" {
				turns[1].Faults = []modeltest.Fault{{Kind: modeltest.Hold, Attempt: 1, At: -900}}
			}
			w, _ := talking(t, modeltest.Story{Prompt: "begin", Turns: turns})
			mode := "auto"
			if state == "asking" {
				mode = ""
			}
			e := edits(t, w)
			s := e.begins(w, mode)
			id := e.prompts(s, "begin")
			switch state {
			case "running":
				e.until("the command", updated("tool_call_update", "in_progress"))
				await(t, "the command", func() bool { return w.read("out") != "" })
			case "asking":
				e.question("yes")
			case "streaming":
				w.write("go", "")
				e.until("a piece of the answer", func(m message) bool { return strings.HasPrefix(m.text(), "That") })
			case "between":
				w.write("go", "")
				e.ok(id)
			}
			e.kill()
			e = edits(t, w)
			load := e.loads(w, s)
			if state == "asking" {
				q := e.question("yes")
				e.picks(q, "yes")
			}
			e.ok(load)
			if state == "running" && w.read("out") != "once\n" {
				t.Errorf("%q", w.read("out"))
			}
			w.write("go", "")
			if state == "streaming" {
				w.release()
			}
			await(t, "the end of the run", func() bool {
				return w.agent("", "ls", "--all", "--json") == 0 && strings.Contains(w.log.String(), `"status":"completed"`)
			})
			if state != "between" {
				e.hears("to the end.")
			}
			if said := e.said("agent_message_chunk"); said != "That was it, from the beginning to the end." || w.read("out") != "once\n" {
				t.Errorf("%q, %q\n%s", said, w.read("out"), e.seen())
			}
			e.leaves()
			w.quiet()
		})
	}
}

// quiet waits until no process of the world is left.
func (w *world) quiet() {
	w.t.Helper()
	await(w.t, "the end of the world's processes", func() bool {
		list, err := filepath.Glob("/proc/[0-9]*/environ")
		return err == nil && !slices.ContainsFunc(list, func(path string) bool {
			env, _ := os.ReadFile(path) // who is gone is not left
			return strings.Contains(string(env), "AGENT_HOME="+w.state(""))
		})
	})
}

// quietRuns waits until no run of the world goes on.
func (w *world) quietRuns() {
	w.t.Helper()
	await(w.t, "the end of the runs", func() bool {
		c := exec.Command(filepath.Join(binDir(), "agent"), "ls", "--all", "--json")
		c.Dir, c.Env = w.dir, append(os.Environ(), "HOME="+w.home, "AGENT_HOME="+filepath.Join(w.home, "state"))
		out, err := c.Output()
		return err == nil && !strings.Contains(string(out), `"status":"running"`)
	})
}
