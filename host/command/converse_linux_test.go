package command_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agent/host/model/modeltest"
)

// talking is a conversation in an empty folder, with a model that knows these stories.
func talking(t *testing.T, stories ...modeltest.Story) (*world, func() *seat) {
	t.Helper()
	server, err := modeltest.Start(modeltest.Options{Script: modeltest.Script{Stories: stories}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("ANTHROPIC_API_KEY", modeltest.DefaultKey)
	t.Setenv("ANTHROPIC_BASE_URL", server.URL())
	w := newWorld(t)
	w.release = func() { server.Release() }
	config := filepath.Join(w.home, ".config", "agent", "config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte("model = \"anthropic/claude-sonnet-4-5\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return w, func() *seat { return sit(t, w, "") }
}

func shellCall(command string) []modeltest.Call {
	return []modeltest.Call{{Tool: "shell", Args: []byte(`{"command": "` + command + `", "access": "write"}`)}}
}

// Without a command, at a terminal, a conversation begins: each message is a run in one thread,
// questions are put in place, and everything is there when it is left and begun again.
// issue 17, part 3
func TestConversation(t *testing.T) {
	w, begin := talking(t,
		modeltest.Story{Prompt: "make it", Turns: []modeltest.Turn{{Calls: shellCall("touch made")}, {Text: "It is made."}}},
		modeltest.Story{Prompt: "and what", Turns: []modeltest.Turn{{Text: "The first was to make it."}}},
		modeltest.Story{Prompt: "two\nlines", Turns: []modeltest.Turn{{Text: "I see two lines."}}},
	)
	s := begin()
	s.until("a new conversation")
	s.until("> ")
	s.types("/nothing\r")
	s.until("there is no command \"nothing\"")
	s.types("/mode fast\r")
	s.until("there is no mode \"fast\": choose plan, ask, auto or yolo")
	s.types("make itt\x7f\r") // a slip is corrected
	s.until("answer (yes/always/always-write/always-run/never/no): ")
	s.types("yes\n")
	s.until("It is made.")
	s.types("and what was the first?\r")
	s.until("The first was to make it.")
	s.types("two\\\rlines\r")
	s.until("I see two lines.")
	s.types("/runs\r")
	s.until("PROMPT")
	s.types("/diff\r")
	s.types("/quit\r")
	s.exits(0)
	if code := w.agent("", "ls", "--all", "--json"); code != 0 {
		t.Fatal(code)
	}
	if n := strings.Count(w.log.String(), `"status":"completed"`); n != 3 {
		t.Errorf("%d runs completed\n%s", n, w.log.String())
	}
	s = begin()
	s.until("goes on (3 messages)")
	s.types("\x1b[A\x1b[A\r") // the message before the last
	s.until("The first was to make it.")
	s.types("/quit\r")
	s.exits(0)
}

// What is typed while a run goes on reaches its model; after Ctrl-C the next message asks what is
// to become of the run. // issue 17, parts 2 and 3
func TestConversationIsSteered(t *testing.T) {
	hold := []modeltest.Fault{{Kind: modeltest.Hold, Attempt: 1, At: -900}}
	w, begin := talking(t,
		modeltest.Story{Prompt: "begin", Turns: []modeltest.Turn{{Calls: shellCall("touch going; until test -e go; do sleep 0.05; done")}, {Text: "never said"}}},
		modeltest.Story{Prompt: "rather", Turns: []modeltest.Turn{{Text: "Rather that."}}},
		modeltest.Story{Prompt: "count", Turns: []modeltest.Turn{{Text: "It stops in the middle and then it goes on to its end.", Faults: hold}}},
		modeltest.Story{Prompt: "no, rest", Turns: []modeltest.Turn{{Text: "I stop."}}},
	)
	s := begin()
	s.until("> ")
	s.types("/mode auto\r")
	s.until("mode: auto")
	s.types("begin\r")
	s.until("shell: touch going")
	s.types("rather that\n")
	s.until("· the model gets that with its next request")
	s.types("/runs\n")
	s.until("that waits until the run has ended")
	w.write("go", "")
	s.until("Rather that.")
	s.types("count\r")
	s.until("It stops in the m")
	s.types("\x03")
	s.until("is interrupted (shutdown")
	s.types("no, rest\r")
	s.until("press e/m/n: ")
	s.types("e")
	s.until("I stop.")
	s.untilBehind("I stop.", "\x1b[?2004h> ")
	s.types("half a line\x03")
	s.until("(Ctrl-C again, Ctrl-D or /quit leaves)")
	s.types("\x03")
	s.exits(0)
}

// A message whose first line is typed while a run goes on is finished after it.
func TestConversationKeepsWhatIsBegun(t *testing.T) {
	w, begin := talking(t,
		modeltest.Story{Prompt: "begin", Turns: []modeltest.Turn{{Calls: shellCall("until test -e go; do sleep 0.05; done")}, {Text: "It ended."}}},
		modeltest.Story{Prompt: "two\nlines", Turns: []modeltest.Turn{{Text: "I see two lines."}}},
	)
	s := begin()
	s.until("> ")
	s.types("/mode auto\rbegin\r")
	s.until("shell: until")
	s.types("two\\\n")
	s.until("two\\")
	w.write("go", "")
	s.until("It ended.")
	s.until("> two")
	s.until("… ")
	s.types("lines\r")
	s.until("I see two lines.")
	s.types("/quit\r")
	s.exits(0)
}

// A conversation that is killed loses nothing: what was carried out stands, and what went on is
// interrupted.
func TestConversationIsKilled(t *testing.T) {
	w, begin := talking(t, modeltest.Story{Prompt: "begin", Turns: []modeltest.Turn{
		{Calls: shellCall("echo once >> out; until test -e go; do sleep 0.05; done")}, {Text: "That was it."},
	}})
	s := begin()
	s.until("> ")
	s.types("a line that is not sent")
	s.until("not sent")
	s.kill()
	s = begin()
	s.until("a new conversation")
	s.types("/mode auto\rbegin\r")
	s.until("shell: echo once")
	s.kill()
	w.write("go", "")
	s = begin()
	s.until("goes on (1 message)")
	s.types("/resume last\r")
	s.until("That was it.")
	s.types("/quit\r")
	s.exits(0)
	if b, err := os.ReadFile(filepath.Join(w.dir, "out")); err != nil || string(b) != "once\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// Killed in the middle of an answer, the question stays open, nothing acted, and the answer is
// given in the next conversation, once. // issue 17, part 3
func TestConversationIsKilledWhileAnswering(t *testing.T) {
	w, begin := talking(t, modeltest.Story{Prompt: "begin", Turns: []modeltest.Turn{
		{Calls: shellCall("echo once >> out")}, {Text: "That was it."},
	}})
	s := begin()
	s.until("> ")
	s.types("begin\r")
	s.until("answer (")
	s.types("ye")
	s.until("): ye")
	s.kill()
	if _, err := os.Stat(filepath.Join(w.dir, "out")); err == nil {
		t.Fatal("it acted without its answer")
	}
	s = begin()
	s.until("goes on (1 message)")
	s.types("/answer yes\r")
	s.until("That was it.")
	s.types("/quit\r")
	s.exits(0)
	if b, err := os.ReadFile(filepath.Join(w.dir, "out")); err != nil || string(b) != "once\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// kill ends the process at once. What its commands do goes on, at the terminal too.
func (s *seat) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := s.cmd.Wait(); !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
}
