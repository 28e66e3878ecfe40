package page

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"agent/host/serve/servetest"
	"agent/recovery/journal"
)

// standing records a flow that has a phase of nearly every kind, and waits for an answer to one.
func standing(ctx context.Context, j *servetest.Journals) error {
	const root, asks = "r-11111111", "r-22222222"
	var facts []journal.Event
	add := func(b journal.Body) { facts = append(facts, journal.Event{Body: b}) }
	file := func(path string, n int) journal.Artifact {
		return journal.Artifact{Path: path, SHA: strings.Repeat(fmt.Sprintf("%02x", n), 32), Size: int64(n) * 1200, Copy: "k"}
	}
	starts := func(phase, run string, attempt int, why journal.PhaseWhy, item *journal.PhaseItem, in ...journal.Artifact) {
		add(journal.FlowPhaseStarted{Phase: phase, Item: item, Part: journal.PartWork, Run: run, Attempt: attempt, Why: why, Mode: journal.ModeAsk, In: in})
	}
	ends := func(phase, run string, attempt int, item *journal.PhaseItem, how journal.PhaseOutcome, reason string, out ...journal.Artifact) {
		add(journal.FlowPhaseEnded{Phase: phase, Item: item, Part: journal.PartWork, Run: run, Attempt: attempt, Outcome: how, Reason: reason, Out: out, Took: 41 * time.Second, Cost: 21_300})
	}
	phase := func(name string, more map[string]any) map[string]any {
		more["name"], more["tries"], more["on_fail"], more["redo"] = name, 3, "continue", "ask"
		return more
	}
	path := func(p string) []any { return []any{map[string]any{"path": p}} }
	def := map[string]any{"name": "feature.md", "title": "from a wish to a reviewed change", "task": "required", "parallel": 2, "on_fail": "stop", "phases": []any{
		phase("scout", map[string]any{"title": "what the task touches", "inputs": path("SPEC.md"), "outputs": path("docs/flow/scout.md")}),
		phase("plan", map[string]any{"after": []string{"scout"}, "inputs": path("docs/flow/scout.md"), "outputs": path("docs/flow/plan.md")}),
		phase("read", map[string]any{"after": []string{"plan"}, "each": "docs/flow/plan.md", "inputs": path("docs/flow/plan.md"), "outputs": path("audit/{name}.md")}),
		phase("build", map[string]any{"after": []string{"plan"}, "inputs": path("docs/flow/plan.md"), "outputs": path("docs/flow/claims.md")}),
		phase("review", map[string]any{"after": []string{"build"}, "inputs": path("docs/flow/claims.md"), "outputs": path("docs/flow/review.md")}),
	}}
	spec, scout, plan := file("SPEC.md", 3), file("docs/flow/scout.md", 4), file("docs/flow/plan.md", 6)
	add(journal.RunCreated{Run: root, Thread: "t" + root[1:], By: "anna", Prompt: "# feature: from a wish to a reviewed change", Folder: "/home/anna/site", Model: model, Mode: journal.ModeAsk, FlowRun: journal.FlowRun{Flow: args(def), Task: "Add CSV export"}})
	add(journal.RunClaimed{Epoch: 1, PID: 1})
	starts("scout", "r-1a", 1, journal.WhyFirst, nil, spec)
	ends("scout", "r-1a", 1, nil, journal.PhaseDone, "", scout)
	starts("plan", "r-1b", 1, journal.WhyFirst, nil, scout)
	ends("plan", "r-1b", 1, nil, journal.PhaseDone, "", plan)
	items := []journal.PhaseItem{{Name: "db", Digest: "1"}, {Name: "host", Digest: "2"}, {Name: "tools", Digest: "3"}}
	add(journal.FlowPhaseEnded{Phase: "read", Part: journal.PartList, Outcome: journal.PhaseDone, In: []journal.Artifact{plan}, Items: items})
	starts("read", "r-1c", 1, journal.WhyFirst, &items[0], plan)
	ends("read", "r-1c", 1, &items[0], journal.PhaseDone, "", file("audit/db.md", 2))
	starts("read", "r-1d", 1, journal.WhyFirst, &items[1], plan)
	ends("read", "r-1d", 1, &items[1], journal.PhaseFailed, "audit/host.md has no line \"## Findings\"")
	starts("build", "r-33333333", 1, journal.WhyFirst, nil, plan)
	ends("build", "r-33333333", 1, nil, journal.PhaseFailed, "docs/flow/claims.md is not there")
	starts("build", asks, 2, journal.WhyTry, nil, plan)
	facts[len(facts)-1].Body = journal.FlowPhaseStarted{Phase: "build", Part: journal.PartWork, Run: asks, Attempt: 2, Why: journal.WhyTry, Reason: "docs/flow/claims.md is not there", Mode: journal.ModeAsk, In: []journal.Artifact{plan}}
	if err := j.Begin(ctx, root, "t"+root[1:], facts...); err != nil {
		return err
	}
	for i, id := range []string{"r-33333333", asks} {
		created := journal.RunCreated{Run: id, Thread: "t" + id[1:], Prompt: "Carry the plan out.", Folder: "/home/anna/site", Model: model, Mode: journal.ModeAsk,
			Family: journal.Family{Parent: root, Root: root, RootThread: "t" + root[1:], Role: fmt.Sprintf("build#%d", i+1)}}
		if err := j.Begin(ctx, id, "t"+id[1:], journal.Event{Body: created}, journal.Event{Body: journal.RunClaimed{Epoch: 1, PID: 1}}, journal.Event{Turn: 1, Body: journal.ModelRequested{}}); err != nil {
			return err
		}
	}
	if err := j.Add(ctx, "r-33333333", journal.Event{Turn: 1, Body: journal.ModelAnswered{Blocks: []journal.Block{{Kind: journal.BlockText, Text: "Built."}}, Stop: journal.AnswerEnd}}, journal.Event{Turn: 1, Body: journal.RunCompleted{Text: "Built."}}); err != nil {
		return err
	}
	q := journal.Question{Kind: journal.RequestAskUser, Message: "Which colour?", Schema: json.RawMessage(`{"type":"string","enum":["red","blue"]}`), Choices: []string{"red", "blue"}}
	if err := j.Add(ctx, asks,
		journal.Event{Turn: 1, Body: journal.ModelAnswered{Stop: journal.AnswerCalls, Calls: []journal.Proposal{{ID: "c-22222222", Tool: "ask_user", Args: args(map[string]any{"question": "Which colour?"}), Effect: journal.EffectRead, Fingerprint: fingerprint, Decision: journal.DecisionAllow, Question: &q}}}},
		journal.Event{Turn: 1, Body: journal.RequestOpened{Request: journal.Request{ID: "p-22222222", Opened: time.Now(), Question: q, Call: &journal.Place{Turn: 1}, CallID: "c-22222222", Tool: "ask_user"}}}); err != nil {
		return err
	}
	return j.Add(ctx, root, journal.Event{Body: journal.RunParked{Children: []string{asks}}})
}
