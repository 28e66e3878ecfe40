package command_test

import (
	"os"
	"slices"
	"testing"
)

// Most tests of this package start the program again and again, and nearly all of their time goes
// to that. A plain go test tries what shows most for its time; AGENT_TESTS=whole tries everything,
// as scripts/check does in its step scripts. The race detector makes a process ten times slower and
// looks at the same code in each, so there even less is tried.
const allOfThem = "left out of a quick run; all of it: AGENT_TESTS=whole go test ./host/command"

func whole() bool { return os.Getenv("AGENT_TESTS") == "whole" }

// onlyWhole skips a test, or a case, that a quick run leaves out.
func onlyWhole(t *testing.T) {
	t.Helper()
	if !whole() {
		t.Skip(allOfThem)
	}
}

// notRaced skips a test, or a case, in which no goroutine meets another in a new way.
func notRaced(t *testing.T) {
	t.Helper()
	if raceEnabled {
		onlyWhole(t)
	}
}

// racedScripts are those in which processes and goroutines meet: a runner that outlives its host,
// owners that follow each other, an observer, servers and signals.
func racedScripts() []string {
	return []string{"cancel_run", "kill_attach", "mcp_run", "model_kill", "run", "show_follow", "signals", "stream_follow", "takeover", "two_resumes"}
}

// racedTalks are the tests with a model in which something ends, waits or goes on beside something
// else.
func racedTalks() []string {
	return []string{"TestModelInterruptedInAnAnswer", "TestModelParallelCalls", "TestModelWaitEndsAtOnce", "TestModelSumsUpWhatIsOlder"}
}

// quickScripts are at least one of each kind of thing that a person does or that goes wrong.
func quickScripts() []string {
	return append(racedScripts(),
		"answer_call", "denied", "detach", "doctor_repair", "failing", "fetch", "kill_again", "looking", "model_compact", "question", "sandbox_hint", "show_story",
		"stdin", "stream_waits", "twin", "undo_destroyed", "unknown_outcome", "write_inspect")
}

// tried reports whether a run of these tests tries the script.
func tried(script string) bool {
	if raceEnabled {
		return whole() || slices.Contains(racedScripts(), script)
	}
	return whole() || slices.Contains(quickScripts(), script)
}
