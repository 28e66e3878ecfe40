package export_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/host/export"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/journal"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sample is a run as a person may have had it: a question, a crash, an unknown outcome.
func sample() view.Export {
	first, second, third := journal.Place{Turn: 1}, journal.Place{Turn: 2}, journal.Place{Turn: 2, Index: 1}
	price := &journal.Price{Input: 3_000_000, Output: 15_000_000}
	ended := clock(170)
	r := view.ExportedRun{Tally: "3 turns, 3 calls, driven for 1m30s, 5,400 tokens in, 300 out, $0.0207", Notes: []string{"the folder was not watched before turn 2"}}
	r.By = "ada"
	r.Run = view.Run{ID: "r-7k2m9qx4", Thread: "t-1", Status: recovery.StatusCompleted, Folder: "~/greet", Model: "anthropic/claude-test", Mode: journal.ModeAsk, Created: clock(0), Updated: ended, Ended: &ended, NumUnknown: 1}
	r.Facts = facts(func(i int) int { return []int{0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3}[min(i, 17)] },
		journal.RunCreated{Run: "r-7k2m9qx4", Thread: "t-1", Prompt: "# Fix the greeting\n\nIt says `Helo`. Put it right, *then* publish.", Input: "Helo, world\n", Folder: "/home/ada/greet", Model: "anthropic/claude-test", Mode: journal.ModeAsk,
			Limits: journal.Limits{MaxTurns: 100}, Version: "0.1.0", Setup: journal.Setup{Provider: "anthropic", Price: price}},
		journal.RunClaimed{Epoch: 1, PID: 7},
		journal.ModelRequested{},
		journal.ModelAnswered{Blocks: []journal.Block{{Kind: journal.BlockReasoning, Text: "Look first."}, {Kind: journal.BlockText, Text: "I look at **the file**:\n\n```sh\ncat greet.sh\n```"}}, Stop: journal.AnswerCalls,
			Usage: &journal.Usage{Input: 1800, Output: 100}, Calls: []journal.Proposal{{ID: "c-1", Tool: "read_file", Args: args(map[string]string{"path": "greet.sh"}), Effect: journal.EffectRead}}},
		journal.CallStarted{Place: first},
		journal.CallSettled{Place: first, Result: journal.Result{Outcome: journal.OutcomeOK, Content: "#!/bin/sh\necho \"Helo, ${1:-world}!\"\n", Size: 36, Took: 3 * time.Millisecond}},
		journal.TurnSettled{Checkpoint: "r-7k2m9qx4@1"},
		journal.ModelAnswered{Stop: journal.AnswerCalls, Calls: []journal.Proposal{
			{ID: "c-2", Tool: "edit_file", Args: args(map[string]string{"path": "greet.sh", "old": "Helo", "new": "Hello"})}, {ID: "c-3", Tool: "shell", Args: args(map[string]string{"command": "./publish --token [secret:env-token:1a2b]"})}}},
		journal.RequestOpened{Request: journal.Request{ID: "p-1", Call: &third, Question: journal.Question{Kind: journal.RequestPermission, Message: "shell wants to act (it may change anything):\n  command: ./publish --token [secret:env-token:1a2b]", Choices: []string{"yes", "no"}, Hints: []string{"runs it once", "does not run it"}}}},
		journal.RequestAnswered{ID: "p-1", Answer: json.RawMessage(`"yes"`), By: "ada"},
		journal.CallStarted{Place: second},
		journal.CallSettled{Place: second, Result: journal.Result{Outcome: journal.OutcomeOK, Content: "changed greet.sh"}},
		journal.CallStarted{Place: third},
		journal.RunInterrupted{Cause: journal.CauseReboot, Detail: "process 7 died"},
		journal.RunClaimed{Epoch: 2, PID: 9, Host: "vm"},
		journal.CallJudged{Place: third, Verdict: journal.VerdictSkip, Reason: "outcome unknown: its supervisor died"},
		journal.CallSettled{Place: third, Result: journal.Result{Outcome: journal.OutcomeUnknown, How: journal.HowTold, Content: "outcome unknown\n" + strings.Repeat("a line of what it printed\n", 20), Size: 900_000}},
		journal.RunCompleted{Text: "It is fixed; whether it is published nobody knows."})
	r.Diff = &view.Diff{Version: 1, Run: "r-7k2m9qx4", Files: []view.DiffFile{{Path: "greet.sh", Kind: view.DiffChanged, Added: 1, Removed: 1, Diff: "diff --git a/greet.sh b/greet.sh\n--- a/greet.sh\n+++ b/greet.sh\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-echo \"Helo, ${1:-world}!\"\n+echo \"Hello, ${1:-world}!\"\n"}}}
	return view.Export{Version: 1, Runs: []view.ExportedRun{r}}
}

// The transcripts of a run are what a person was shown in review. -update writes them anew.
func TestGolden(t *testing.T) {
	for name, got := range map[string][]byte{"sample.md": export.Markdown(sample(), options()), "sample.html": export.HTML(sample(), options())} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s differs from what is made now; look at the difference, then: go test ./host/export -update\n%s", path, got)
		}
	}
}

// A file is there whole and for its owner alone, or it is not touched.
func TestSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.md")
	if err := export.Save(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := export.Save(path, []byte("two")); err == nil || !strings.Contains(err.Error(), "a file is there already; choose another name") {
		t.Errorf("a file that is there: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "one" {
		t.Errorf("it holds %q, %v", b, err)
	}
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(list) != 1 {
		t.Errorf("the folder holds %v, %v", list, err)
	}
	if err := export.Save(filepath.Join(t.TempDir(), "none", "a.md"), nil); err == nil {
		t.Error("a folder that is not there is written to")
	}
}
