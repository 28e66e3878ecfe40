package export_test

import (
	"encoding/json"
	"time"

	"agent/host/export"
	"agent/host/flow/table"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/journal"
)

func options() export.Options {
	return export.Options{Now: clock(600), Tilde: func(path string) string { return path }}
}

// clock is a time after the run of these tests began.
func clock(seconds int) time.Time {
	return time.Date(2026, 3, 4, 23, 55, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
}

// facts numbers bodies, ten seconds apart; turn says to which turn each belongs.
func facts(turn func(i int) int, bodies ...journal.Body) (list []view.Fact) {
	for i, b := range bodies {
		list = append(list, view.Fact{Seq: int64(i + 1), Turn: turn(i), Time: clock(10 * i), Kind: b.Kind(), Body: b})
	}
	return list
}

func args(pairs map[string]string) json.RawMessage {
	text, err := json.Marshal(pairs)
	if err != nil {
		panic(err)
	}
	return text
}

// everywhere is a run in which each text that somebody else wrote is say.
func everywhere(say string) view.Export {
	place, ended := journal.Place{Turn: 1}, clock(300)
	second := journal.Place{Turn: 1, Index: 1}
	call := func(id string) journal.Proposal {
		return journal.Proposal{ID: id, Tool: "shell", Args: args(map[string]string{"command": say, "more": say}), Decision: journal.DecisionAllow, Why: "rule " + say, Invalid: say}
	}
	item := &journal.PhaseItem{Name: say}
	bodies := []journal.Body{
		journal.RunCreated{Run: "r-1", Thread: "t-1", By: say, Prompt: say, Input: say, Source: say, Folder: say, Model: say, Version: say,
			Setup: journal.Setup{Provider: "chat", Instructions: []journal.Instruction{{Path: say, Bytes: 3}}}},
		journal.RunClaimed{Epoch: 2, PID: 7, Host: say, Why: say, Folder: say},
		journal.ModelFailed{Fault: journal.FaultServer, Detail: say, Remedy: say},
		journal.ModelAnswered{Blocks: []journal.Block{{Kind: journal.BlockReasoning, Text: say}, {Kind: journal.BlockText, Text: say}}, Calls: []journal.Proposal{call("c-1"), call("c-2")}, Stop: journal.AnswerCalls},
		journal.RequestOpened{Request: journal.Request{ID: "p-1", Call: &place, Question: journal.Question{Kind: journal.RequestPermission, Message: say, Choices: []string{say, "no"}, Hints: []string{say, "not"}}}},
		journal.RequestAnswered{ID: "p-1", Answer: args(map[string]string{"a": say}), By: say},
		journal.CallStarted{Place: place},
		journal.RunInterrupted{Cause: journal.CauseCrash, Detail: say},
		journal.CallJudged{Place: place, Verdict: journal.VerdictSkip, Reason: say},
		journal.CallSettled{Place: place, Result: journal.Result{Outcome: journal.OutcomeUnknown, Content: say, Size: 1 << 20, Alive: []string{say}, PutBack: []string{say}}},
		journal.CallResolved{Place: place, Word: journal.WordLeave, By: say},
		journal.ApprovalVoided{Place: second, Reason: say},
		journal.CallStarted{Place: second, Child: "r-2"},
		journal.FilesChanged{During: &second, Changes: []journal.FileChange{{Path: say, Proof: journal.ProofTool, After: &journal.FileVersion{}}}},
		journal.CommitSeen{Commit: "0123456789abc", Checkpoint: "k-1", Subject: say, Relation: journal.CommitRebased, Of: say},
		journal.MessageAdded{Text: say, By: say},
		journal.RunNoted{Text: say},
		journal.ContextCompacted{Summary: say},
		journal.FlowPhaseStarted{Phase: say, Item: item, Run: say, Reason: say},
		journal.FlowPhaseEnded{Phase: say, Item: item, Reason: say, Out: []journal.Artifact{{Path: say}}},
		journal.ArtifactsChecked{Artifacts: []journal.ArtifactCheck{{Artifact: journal.Artifact{Path: say}, State: journal.ArtifactCut, Reason: say}}},
		journal.ArtifactRestored{Path: say, SHA: "0123"},
		journal.PhaseRewound{Phases: []journal.Rewound{{Phase: say, Item: item, Reason: say}}},
		journal.RunParked{Children: []string{say}},
		journal.RunStopping{Why: journal.StopDeadline, Reason: say},
		journal.TurnSettled{Checkpoint: "r-1@1"},
		journal.RunFailed{Reason: say, Text: say + "."},
	}
	r := view.ExportedRun{Tally: "1 turn, 2 calls", Unread: []string{say}, Notes: []string{say}}
	r.Facts, r.By = facts(func(i int) int { return min(i, 1) }, bodies...), say
	r.Run = view.Run{ID: "r-1", Thread: "t-1", Status: recovery.StatusFailed, StopReason: say, Folder: say, Prompt: say, Model: say, Mode: journal.ModeAsk, Created: clock(0), Updated: ended, Ended: &ended}
	r.Table = &table.Table{Phases: []table.Phase{{Name: say, Status: table.Failed, Reason: say, Run: "r-2", Outputs: []string{say}}}}
	r.Diff = &view.Diff{Version: 1, Run: "r-1", Files: []view.DiffFile{{Path: say, Kind: view.DiffAdded, Added: 3, Notes: []string{say}, Diff: "@@ -0,0 +1 @@\n" + say, Cut: true}}}
	below := view.ExportedRun{}
	below.Run = view.Run{ID: "r-2", Kin: view.Kin{Parent: "r-1", Role: say}, Status: recovery.StatusInterrupted, Detail: say, Prompt: say, Folder: say, Model: say, Created: clock(0), Updated: ended, Next: []string{say}}
	below.Facts = facts(func(i int) int { return i }, journal.RunCreated{Run: "r-2", Prompt: say}, bodies[3])
	r.Below = []view.ExportedRun{below}
	return view.Export{Version: 1, Thread: "t-1", Runs: []view.ExportedRun{r}}
}
