package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agent/db"
	"agent/recovery"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// lockAsTheProduct opens a store, so that this process locks databases as agent does: SQLite takes
// that setting before its first lock only, and scripts open databases in their own ways.
func lockAsTheProduct(t *testing.T) {
	t.Helper()
	s, err := db.Open(t.Context(), filepath.Join(t.TempDir(), "state"), db.Options{NoBallast: true})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// cmdChild sets a variable to the newest run below another that was given a task.
func cmdChild(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: child VARIABLE TASK")
	}
	type run struct {
		ID       string `json:"id"`
		Prompt   string `json:"prompt"`
		Children []run  `json:"children"`
	}
	var l struct {
		Runs []run `json:"runs"`
	}
	ts.Check(agentJSON(ts, &l, "ls", "--all", "--children"))
	for len(l.Runs) > 0 {
		r := l.Runs[0]
		l.Runs = append(r.Children, l.Runs[1:]...)
		if r.Prompt == args[1] {
			ts.Setenv(args[0], r.ID)
			return
		}
	}
	ts.Fatalf("no run was given the task %q", args[1])
}

// cmdFamily records a root that waits for people who were asked below it: r-rootroot made
// r-childone, which is done, and r-childtwo, which asks and made r-grandone, which asks as well.
// With flow the root is a flow: its phase scout is done, and build asks.
func cmdFamily(ts *testscript.TestScript, neg bool, args []string) {
	made := family
	if len(args) == 1 && args[0] == "flow" {
		made, args = flowFamily, nil
	}
	if neg || len(args) > 0 {
		ts.Fatalf("usage: family [flow]")
	}
	ctx := context.Background()
	s, err := db.Open(ctx, ts.Getenv("STATE"), db.Options{NoBallast: true})
	if err != nil {
		ts.Fatalf("%v", err)
	}
	err = made(ctx, s, ts.MkAbs("."))
	if err := errors.Join(err, s.Close()); err != nil {
		ts.Fatalf("%v", err)
	}
}

func family(ctx context.Context, s *db.Store, folder string) error {
	heads := map[string]db.Head{}
	begin := func(run string, kin journal.Family) error {
		c := journal.RunCreated{
			Run: "r-" + run, Thread: "t-" + run, Prompt: "do the work of " + run, Folder: folder, Model: "runbook", Mode: journal.ModeAsk,
			Version: "test", ToolsHash: "tools", Family: kin,
		}
		h, err := s.Create(ctx, db.ThreadRef{ID: c.Thread, Folder: folder, New: true},
			[]journal.Event{{Body: c}, {Body: journal.RunClaimed{Epoch: 1, PID: 7}}})
		heads[run] = h
		return err
	}
	add := func(run string, o db.AppendOptions, b journal.Body) error {
		h, err := s.Append(ctx, heads[run], []journal.Event{{Body: b}}, o)
		heads[run] = h
		return err
	}
	below := func(parent, role string) journal.Family {
		return journal.Family{Parent: parent, Root: "r-rootroot", RootThread: "t-rootroot", Role: role}
	}
	asks := func(run string) journal.RequestOpened {
		return journal.RequestOpened{Request: journal.Request{ID: "p-" + run, Opened: time.Now(), Question: journal.Question{
			Kind: journal.RequestAskUser, Message: "Which colour for " + run + "?", Schema: json.RawMessage(`{"type":"string"}`)}}}
	}
	parked := db.AppendOptions{Status: recovery.StatusWaiting}
	return errors.Join(
		begin("rootroot", journal.Family{}), begin("childone", below("r-rootroot", "delegate c-aaaaaaaa")), begin("childtwo", below("r-rootroot", "delegate c-bbbbbbbb")),
		begin("grandone", below("r-childtwo", "delegate c-cccccccc")), add("childone", db.AppendOptions{}, journal.RunCompleted{Text: "done"}),
		add("childtwo", db.AppendOptions{}, asks("childtwo")), add("grandone", db.AppendOptions{}, asks("grandone")),
		add("rootroot", parked, journal.RunNoted{Text: "it waits for runs below it"}),
	)
}

func flowFamily(ctx context.Context, s *db.Store, folder string) error {
	def, err := json.Marshal(flow.Definition{Name: "feature.md", Parallel: 4, OnFail: flow.FailStop, Phases: []flow.Phase{
		{Name: "scout", Mode: journal.ModePlan, Tries: 2, OnFail: flow.FailStop, Redo: flow.RedoAsk, Outputs: []flow.Output{{Path: "docs/flow/scout.md"}}},
		{Name: "build", After: []string{"scout"}, Tries: 3, OnFail: flow.FailStop, Redo: flow.RedoAsk, Outputs: []flow.Output{{Path: "claims.md"}}},
		{Name: "review", After: []string{"build"}, Tries: 2, OnFail: flow.FailStop, Redo: flow.RedoAsk, Outputs: []flow.Output{{Path: "review.md"}}},
	}})
	scout := journal.Artifact{Path: "docs/flow/scout.md", SHA: "8f2c91d0" + strings.Repeat("0", 56), Size: 4200}
	heads := map[string]db.Head{}
	begin := func(run string, def json.RawMessage, kin journal.Family) error {
		h, err := s.Create(ctx, db.ThreadRef{ID: "t-" + run, Folder: folder, New: true}, []journal.Event{{Body: journal.RunCreated{
			Run: "r-" + run, Thread: "t-" + run, Prompt: run, Folder: folder, Model: "runbook", Mode: journal.ModeAsk, Version: "test", ToolsHash: "tools", FlowRun: journal.FlowRun{Flow: def}, Family: kin,
		}}, {Body: journal.RunClaimed{Epoch: 1, PID: 7}}})
		heads[run] = h
		return err
	}
	add := func(run string, status recovery.Status, bodies ...journal.Body) error {
		events := make([]journal.Event, len(bodies))
		for i, b := range bodies {
			events[i].Body = b
		}
		h, err := s.Append(ctx, heads[run], events, db.AppendOptions{Status: status})
		heads[run] = h
		return err
	}
	below := func(role string) journal.Family {
		return journal.Family{Parent: "r-flowroot", Root: "r-flowroot", RootThread: "t-flowroot", Role: role}
	}
	return errors.Join(err,
		begin("flowroot", def, journal.Family{}), begin("scoutone", nil, below("scout#1")), add("scoutone", "", journal.RunCompleted{Text: "done"}),
		begin("buildone", nil, below("build#1")), add("buildone", "", journal.RequestOpened{Request: journal.Request{ID: "p-buildone", Opened: time.Now(), Question: journal.Question{
			Kind: journal.RequestAskUser, Message: "Which colour?", Schema: json.RawMessage(`{"type":"string"}`)}}}),
		add("flowroot", recovery.StatusWaiting, journal.ArtifactsChecked{Epoch: 1},
			journal.FlowPhaseStarted{Phase: "scout", Attempt: 1, Part: journal.PartWork, Run: "r-scoutone", Why: journal.WhyFirst, Mode: journal.ModePlan},
			journal.FlowPhaseEnded{Phase: "scout", Attempt: 1, Part: journal.PartWork, Run: "r-scoutone", Outcome: journal.PhaseDone, Out: []journal.Artifact{scout}, Cost: 20_000, Took: 41 * time.Second, Quiet: true},
			journal.FlowPhaseStarted{Phase: "build", Attempt: 1, Part: journal.PartWork, Run: "r-buildone", Why: journal.WhyFirst, Mode: journal.ModeAsk},
			journal.RunParked{Children: []string{"r-buildone"}}),
	)
}
