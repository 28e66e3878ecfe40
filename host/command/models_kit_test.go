package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/host/model/modeltest"
	"agent/host/terminal/terminaltest"
)

// enough is how long these tests wait for an event.
func enough() time.Duration {
	if raceEnabled {
		return 3 * time.Minute
	}
	return 30 * time.Second
}

// speaker is a provider as a person names it, asked over one of the protocols.
type speaker struct {
	protocol modeltest.Protocol
	model    string
	flags    func(s *modeltest.Server) []string
	env      func(s *modeltest.Server, key string) []string
}

func none(*modeltest.Server) []string { return nil }

// speakers are one provider for each protocol.
func speakers() []speaker {
	return []speaker{
		{modeltest.Anthropic, "anthropic/claude-test", none, func(s *modeltest.Server, key string) []string {
			return []string{"ANTHROPIC_API_KEY=" + key, "ANTHROPIC_BASE_URL=" + s.URL()}
		}},
		{modeltest.Responses, "openai/gpt-test", none, func(s *modeltest.Server, key string) []string {
			return []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + s.V1()}
		}},
		{modeltest.Chat, "openrouter/qwen/test", func(s *modeltest.Server) []string { return []string{"--base-url", s.V1()} },
			func(_ *modeltest.Server, key string) []string { return []string{"OPENROUTER_API_KEY=" + key} }},
	}
}

// eachSpeaker runs a test for every protocol, side by side; in a quick run for one of them, which
// is not the same for all tests.
func eachSpeaker(t *testing.T, test func(t *testing.T, p speaker)) {
	if !slices.Contains(racedTalks(), t.Name()) {
		notRaced(t)
	}
	t.Parallel()
	quick := len(t.Name()) % len(speakers())
	for i, p := range speakers() {
		t.Run(string(p.protocol), func(t *testing.T) {
			if i != quick {
				onlyWhole(t)
			}
			t.Parallel()
			test(t, p)
		})
	}
}

// talk is a workspace, a state folder, and a provider on loopback.
type talk struct {
	*world
	p      speaker
	server *modeltest.Server
	key    string
}

func newTalk(t *testing.T, p speaker, script modeltest.Script) *talk {
	t.Helper()
	// The key is one that occurs nowhere else, so that a copy of it is found, and looks like no
	// provider's.
	k := &talk{world: newWorld(t), p: p, key: fmt.Sprintf("test%x%x", time.Now().UnixNano(), os.Getpid())}
	if script.Quirks.Reasoning == "" {
		script.Quirks.Reasoning = "reasoning_content"
	}
	var err error
	if k.server, err = modeltest.Start(modeltest.Options{Script: script, Key: k.key, Only: []modeltest.Protocol{p.protocol}}); err != nil {
		t.Fatal(err)
	}
	// Where another server than OpenAI's answers for openai, it is asked for Chat Completions
	// unless the configuration says more.
	k.config("[providers.openai]\nkind = \"responses\"\n")
	t.Cleanup(func() {
		if err := k.server.Close(); err != nil {
			t.Error(err)
		}
		endRunners(filepath.Dir(k.home))
	})
	return k
}

// config writes the person's configuration.
func (k *talk) config(text string) {
	k.t.Helper()
	dir := filepath.Join(k.home, ".config", "agent")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// script changes what the model says from now on.
func (k *talk) script(s modeltest.Script) {
	if s.Quirks.Reasoning == "" {
		s.Quirks.Reasoning = "reasoning_content"
	}
	k.server.SetScript(s)
}

// spoken is a process of the binary, running.
type spoken struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err terminaltest.Tape
	ended    chan struct{}
	code     int           // once ended; -9 when it was killed
	watched  chan struct{} // closed behind it, once peak is known
	peak     float64       // most memory that it held, in MB, as far as it was looked at
}

// start starts the binary.
func (k *talk) start(args ...string) *spoken {
	k.t.Helper()
	s := &spoken{t: k.t, cmd: exec.Command(filepath.Join(binDir(), "agent"), args...), ended: make(chan struct{})}
	s.cmd.Dir = k.dir
	s.cmd.Env = append(plainEnv(), "HOME="+k.home, "AGENT_HOME="+filepath.Join(k.home, "state"), "NO_COLOR=1")
	s.cmd.Env = append(s.cmd.Env, k.p.env(k.server, k.key)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.err
	s.cmd.WaitDelay = enough()
	if err := s.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		err := s.cmd.Wait()
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled():
			s.code = -9
		case errors.As(err, &exit):
			s.code = exit.ExitCode()
		case err != nil:
			s.code = -1
		}
	}()
	k.t.Cleanup(s.kill)
	return s
}

// plainEnv is the environment without what would choose a model.
func plainEnv() []string {
	var out []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasSuffix(name, "_API_KEY") && !strings.HasSuffix(name, "_BASE_URL") && name != "OLLAMA_HOST" && name != "XDG_CONFIG_HOME" && name != "XDG_STATE_HOME" {
			out = append(out, v)
		}
	}
	return out
}

// runs starts a run with the model of the speaker.
func (k *talk) runs(prompt string, flags ...string) *spoken {
	k.t.Helper()
	args := append([]string{"run", "--mode", "yolo", "--model", k.p.model}, k.p.flags(k.server)...)
	return k.start(append(append(args, flags...), prompt)...)
}

// kill ends the process at once and returns when it is gone.
func (s *spoken) kill() {
	// One that is gone already is what is wanted.
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// end waits for the end of the process and expects the exit code.
func (s *spoken) end(code int) *spoken {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(enough()):
		s.t.Fatalf("agent %s does not end\n%s", strings.Join(s.cmd.Args[1:], " "), s.err.String())
	}
	if s.code != code {
		s.t.Fatalf("agent %s: exit code %d, want %d\n%s%s", strings.Join(s.cmd.Args[1:], " "), s.code, code, s.out.String(), s.err.String())
	}
	return s
}

// says expects words in what the process printed.
func (s *spoken) says(words ...string) *spoken {
	s.t.Helper()
	all := s.out.String() + s.err.String()
	for _, w := range words {
		if !strings.Contains(all, w) {
			s.t.Errorf("agent %s does not say %q:\n%s", strings.Join(s.cmd.Args[1:], " "), w, all)
		}
	}
	return s
}

// until waits until the process has printed it.
func (s *spoken) until(words string) {
	s.t.Helper()
	ok := s.eventually(func() bool { return strings.Contains(s.out.String()+s.err.String(), words) })
	if !ok {
		s.t.Fatalf("agent %s never says %q:\n%s%s", strings.Join(s.cmd.Args[1:], " "), words, s.out.String(), s.err.String())
	}
}

func (s *spoken) eventually(ok func() bool) bool {
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	late := time.After(enough())
	for {
		if ok() {
			return true
		}
		select {
		case <-again.C:
		case <-s.ended:
			return ok()
		case <-late:
			return false
		}
	}
}

// watchMemory notes the most memory that the process holds, until it ends.
func (s *spoken) watchMemory() *spoken {
	s.watched = make(chan struct{})
	go func() {
		defer close(s.watched)
		s.eventually(func() bool {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
			if err == nil {
				if _, rest, ok := strings.Cut(string(b), "VmHWM:"); ok {
					var kb float64
					if _, err := fmt.Sscan(rest, &kb); err == nil {
						s.peak = max(s.peak, kb/1024)
					}
				}
			}
			return false
		})
	}()
	return s
}

// held waits until an answer behind the first so many exchanges is held.
func (k *talk) held(skip int) modeltest.Exchange {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), enough())
	defer cancel()
	e, err := k.server.Held(ctx, skip)
	if err != nil {
		k.t.Fatalf("%v\n%s", err, k.story())
	}
	return e
}

// story is what the server saw, for the message of a failure.
func (k *talk) story() string {
	var b strings.Builder
	for _, e := range k.server.Exchanges() {
		fmt.Fprintf(&b, "request %d: turn %d, attempt %d, HTTP %d, %s %d bytes sent %s %s\n", e.Number, e.Turn, e.Attempt, e.Status, e.Fault, e.Sent, e.Refusal, e.Differs)
	}
	return b.String()
}

// clean expects that the server took every request for what a provider takes, and was shown what it
// had said.
func (k *talk) clean() {
	k.t.Helper()
	for _, e := range k.server.Exchanges() {
		if e.Differs != "" || e.Refusal != "" {
			k.t.Errorf("request %d is refused: %q, differs: %q\n%s", e.Number, e.Refusal, e.Differs, e.Body)
		}
	}
}

// read is a file of the workspace; "" when it is not there.
func (k *talk) read(name string) string {
	k.t.Helper()
	b, err := os.ReadFile(filepath.Join(k.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		k.t.Fatal(err)
	}
	return string(b)
}

// live is what the runs have streamed so far, as observers read it.
func (k *talk) live() string {
	k.t.Helper()
	files, err := filepath.Glob(filepath.Join(k.home, "state", "live", "*"))
	if err != nil {
		k.t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			k.t.Fatal(err)
		}
		for line := range bytes.Lines(b) { // a word may stand in several
			var l struct {
				Text string `json:"text"`
			}
			if json.Unmarshal(line, &l) == nil { // else it is being written
				all.WriteString(l.Text)
			}
		}
	}
	return all.String()
}

// shown is agent show last --json.
func (k *talk) shown(v any) {
	k.t.Helper()
	s := k.start("show", "last", "--json").end(0)
	if err := json.Unmarshal([]byte(s.out.String()), v); err != nil {
		k.t.Fatalf("%v\n%s", err, s.out.String())
	}
}

func call(tool, args string) modeltest.Call {
	return modeltest.Call{Tool: tool, Args: json.RawMessage(args)}
}

// shell is a call that adds a line to a file.
func effect(word string) modeltest.Call {
	return call("shell", fmt.Sprintf(`{"command":"echo %s >> effects"}`, word))
}

func hold(at int) []modeltest.Fault {
	return []modeltest.Fault{{Kind: modeltest.Hold, At: at, Attempt: 1}}
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

func eachAnthropic(t *testing.T, body string, made, result func(id, text string)) {
	t.Helper()
	var r struct {
		Messages []struct {
			Content []struct {
				Type   string          `json:"type"`
				ID     string          `json:"id"`
				Input  json.RawMessage `json:"input"`
				Use    string          `json:"tool_use_id"`
				Result json.RawMessage `json:"content"`
			} `json:"content"`
		} `json:"messages"`
	}
	decode(t, body, &r)
	for _, m := range r.Messages {
		for _, b := range m.Content {
			switch b.Type {
			case "tool_use":
				made(b.ID, string(b.Input))
			case "tool_result":
				result(b.Use, string(b.Result))
			}
		}
	}
}

func eachResponses(t *testing.T, body string, made, result func(id, text string)) {
	t.Helper()
	var r struct {
		Input []struct {
			Type      string          `json:"type"`
			CallID    string          `json:"call_id"`
			Arguments string          `json:"arguments"`
			Output    json.RawMessage `json:"output"`
		} `json:"input"`
	}
	decode(t, body, &r)
	for _, it := range r.Input {
		switch it.Type {
		case "function_call":
			made(it.CallID, it.Arguments)
		case "function_call_output":
			result(it.CallID, string(it.Output))
		}
	}
}

func eachChat(t *testing.T, body string, made, result func(id, text string)) {
	t.Helper()
	var r struct {
		Messages []struct {
			Role       string          `json:"role"`
			Content    json.RawMessage `json:"content"`
			ToolCallID string          `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string `json:"id"`
				Function struct {
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	decode(t, body, &r)
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			made(c.ID, c.Function.Arguments)
		}
		if m.Role == "tool" {
			result(m.ToolCallID, string(m.Content))
		}
	}
}
