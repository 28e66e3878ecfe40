package command_test

import (
	"strings"
	"testing"

	"agent/host/model/modeltest"
)

// An answer is shown at the terminal as it comes, what the model thinks only on request. Ctrl-C in
// its middle stops at once: the part that came is said to be no answer, and a resume sends the same
// bytes again and shows the whole. // issue 3, behaviours 1, 2, 5
func TestCtrlCInTheMiddleOfAnAnswer(t *testing.T) {
	for _, thinking := range []bool{true, false} {
		server, err := modeltest.Start(modeltest.Options{Script: modeltest.Script{Turns: []modeltest.Turn{{
			Thinking: "first this,\nthen that", Text: "It stops in the middle and then it goes on to its end.",
			Faults: []modeltest.Fault{{Kind: modeltest.Hold, Attempt: 1, At: -900}},
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("ANTHROPIC_API_KEY", modeltest.DefaultKey)
		w := newWorld(t)
		args := []string{"run", "--model", "anthropic/claude-sonnet-4-5", "--effort", "medium", "--base-url", server.URL(), "go"}
		if thinking {
			args = append(args[:1:1], append([]string{"--thinking"}, args[1:]...)...)
		}
		s := sit(t, w, "", args...)
		s.until("It stops in the m")
		s.types("\x03")
		s.exits(4)
		const partial = "\n· the answer above is partial and not kept; a resume asks again\n"
		got := strings.ReplaceAll(s.screen(), "^C", "")
		if !strings.Contains(got, partial) || strings.Contains(got, "to its end") || strings.Contains(got, "  ┊ first this,\n  ┊ then that\nIt stops") != thinking ||
			strings.Contains(got, "first this") != thinking {
			t.Errorf("thinking %v:\n%s", thinking, got)
		}
		if code := w.agent("", "resume", "last"); code != 0 {
			t.Fatalf("exit code %d\n%s", code, w.log.String())
		}
		all := server.Exchanges()
		if len(all) != 2 || all[0].Body != all[1].Body || all[0].Body == "" {
			t.Errorf("%d requests, the same bytes: %v", len(all), len(all) == 2 && all[0].Body == all[1].Body)
		}
		if !strings.Contains(w.log.String(), "It stops in the middle and then it goes on to its end.") || strings.Contains(w.log.String(), "first this") {
			t.Errorf("the resume says:\n%s", w.log.String())
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

// After Ctrl-C a prompt for the same conversation asks in one key what is to become of the run: it
// gets the prompt as a message, or is ended for it. // issue 17, part 2
func TestSteerAfterCtrlC(t *testing.T) {
	for _, key := range []string{"x\x04", "n", "m", "e"} {
		server, err := modeltest.Start(modeltest.Options{Script: modeltest.Script{Stories: []modeltest.Story{
			{Prompt: "the first", Turns: []modeltest.Turn{{
				Text: "It stops in the middle and then it goes on to its end.", Faults: []modeltest.Fault{{Kind: modeltest.Hold, Attempt: 1, At: -900}},
			}}},
			{Prompt: "no, that way", Turns: []modeltest.Turn{{Text: "That way it is."}}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		})
		t.Setenv("ANTHROPIC_API_KEY", modeltest.DefaultKey)
		w := newWorld(t)
		run := func(args ...string) *seat {
			return sit(t, w, "", append([]string{"run", "--model", "anthropic/claude-sonnet-4-5", "--base-url", server.URL()}, args...)...)
		}
		s := run("the first")
		s.until("It stops in the m")
		s.types("\x03")
		s.exits(4)
		s = run("-c", "no, that way")
		s.until("of this conversation has not ended: interrupted")
		s.until("press e/m/n: ")
		s.types(key)
		switch key {
		case "m", "e":
			s.until("That way it is.")
			s.exits(0)
		default:
			s.until("agent cancel r-")
			s.exits(1)
		}
		if code := w.agent("", "ls", "--all"); code != 0 {
			t.Fatal(code)
		}
		cancelled, runs := strings.Count(w.log.String(), "cancelled"), strings.Count(w.log.String(), "\nr-")
		if (key == "e") != (cancelled == 1) || (key == "e") != (runs == 2) {
			t.Errorf("%q: %d cancelled of %d\n%s", key, cancelled, runs, w.log.String())
		}
	}
}

// The model of a run in mode plan knows that it is to plan, and that of another run reads nothing
// of it. // issue 17, part 1
func TestModelKnowsItPlans(t *testing.T) {
	server, err := modeltest.Start(modeltest.Options{Script: modeltest.Script{Turns: []modeltest.Turn{{Text: "This is to be done."}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ANTHROPIC_API_KEY", modeltest.DefaultKey)
	w := newWorld(t)
	told := func() bool {
		all := server.Exchanges()
		return strings.Contains(string(all[len(all)-1].Body), "This run is in mode plan")
	}
	for _, tt := range []struct {
		mode string
		want bool
	}{{"ask", false}, {"plan", true}} {
		if code := w.agent("", "run", "--mode", tt.mode, "--model", "anthropic/claude-sonnet-4-5", "--base-url", server.URL(), "go"); code != 0 {
			t.Fatalf("exit code %d\n%s", code, w.log.String())
		}
		if told() != tt.want || strings.Contains(w.log.String(), "carry it out:") != tt.want {
			t.Errorf("mode %s: the model knows: %t\n%s", tt.mode, told(), w.log.String())
		}
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}

// After Ctrl-C the command goes on; a second one within two seconds asks whether the command is to
// end too. It ends, or it does not, and a resume says which. // issue 17, part 2
func TestSecondCtrlCAsksAboutTheCommand(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"s", "n"} {
		w := newWorld(t)
		w.write("book.md", "```sh\necho begins; while ! test -e go; do sleep 0.01; done\n```\n")
		s := sit(t, w, "", "run", "--runbook", "-f", "book.md")
		s.until("│ begins")
		s.types("\x03")
		s.until("Ctrl-C within 2 seconds asks whether the command is to end too")
		s.types("\x03")
		s.until("press s/n: ")
		s.types(key)
		s.exits(4)
		w.write("go", "")
		code := w.agent("", "resume", "last")
		if log := w.log.String(); strings.Contains(log, "stopped, ") != (key == "s") || (code == 0) != (key == "n") {
			t.Errorf("%q: exit code %d\n%s", key, code, log)
		}
	}
}

// Who stops the command that the first Ctrl-C left running has decided on it: its outcome is
// unknown, and nobody is asked about that at the end. // issue 17, part 2
func TestAStoppedCommandIsDecided(t *testing.T) {
	w, _ := talking(t, modeltest.Story{Prompt: "begin", Turns: []modeltest.Turn{
		{Calls: shellCall("echo under way; while ! test -e go; do sleep 0.01; done")}, {Text: "It was stopped."},
	}})
	s := sit(t, w, "", "run", "--mode", "auto", "begin")
	s.until("│ under way")
	s.types("\x03")
	s.until("Ctrl-C within 2 seconds asks whether the command is to end too")
	s.types("\x03")
	s.until("press s/n: ")
	s.types("s")
	s.exits(4)
	if code := w.agent("", "resume", "last"); code != 0 {
		t.Errorf("exit code %d\n%s", code, w.log.String())
	}
	for _, want := range []string{"may have done a part", "It was stopped."} {
		if log := w.log.String(); !strings.Contains(log, want) || strings.Contains(log, "agent answer c-") {
			t.Errorf("%q is missing, or a decision is asked for\n%s", want, log)
		}
	}
	if code := w.agent("", "show", "last", "--json"); code != 0 || !strings.Contains(w.log.String(), `"resolved"`) {
		t.Errorf("exit code %d\n%s", code, w.log.String())
	}
}
