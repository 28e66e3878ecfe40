package page

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"agent/host/model/modeltest"
	"agent/host/serve/servetest"
	"agent/recovery/journal"
)

// feature is a flow that waits for a file, for a yes, and for an answer to a phase.
const feature = `---
agent: flow
---
# feature
## plan: what is to be done
` + "```phase\nmodel = \"runbook\"\nredo = \"safe\"\noutputs = [\"plan.md\"]\n```\n```sh access=write\nwhile [ ! -e go ]; do sleep 0.05; done; echo again >> planned; cp planned plan.md\n```" + `
## build
` + "```phase\nask = \"Build this plan?\"\ninputs = [\"plan.md\"]\nanswer = \"claims.md\"\n```\npaint it\n"

func (w *world) flow(text string, flags ...string) string {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.folder, "feature.md"), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return runID.FindString(w.agent(append([]string{"run", "--detach", "--mode", "yolo", "--model", model, "-f", "feature.md"}, flags...)...))
}

// row is what a phase's row of the table says.
func (b *tab) row(phase, says string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`[...document.querySelectorAll(".phases tr")].some((r) => r.querySelector("th")?.firstChild.data === %s && r.innerText.includes(%s))`, quoted(phase), quoted(says)))
}

func paints() modeltest.Story {
	return modeltest.Story{Prompt: "paint it", Turns: []modeltest.Turn{
		{Text: "I ask first.", Calls: []modeltest.Call{{Tool: "ask_user", Args: args(map[string]any{"question": "Which colour?", "choices": []string{"red", "blue"}})}}},
		says("It is red."),
	}}
}

// A flow is a table that goes on as the flow does; what it asks, and what a phase of it asks, is
// answered there. Each run is reached from its phase, and leads back.
func TestFlow(t *testing.T) {
	w := newWorld(t, stories(paints())).serve()
	root := w.flow(feature)
	b := w.login(open(t))
	b.at(root)
	b.row("plan", "running")
	b.row("build", "not yet")
	b.until(`(window.first ??= document.querySelector("[data-took]").innerText) !== document.querySelector("[data-took]").innerText`) // the time goes on
	w.touch("go")
	b.row("plan", "done")
	b.row("plan", "plan.md")
	b.shows("The flow asks")
	b.shows("Build this plan?")
	b.ready()
	b.click("yes")
	b.row("build", "waiting")
	b.shows("Which colour?")
	b.until(`document.querySelector(".ask h3 button")?.innerText === "build#1"`)
	child := w.child(root, "build#1")
	b.clickOn(`//table//button[normalize-space(.)="#1" and contains(@aria-label, "build#1")]`)
	b.until(fmt.Sprintf(`location.hash === %s`, quoted("#"+child)))
	b.shows("build#1:")
	b.until(fmt.Sprintf(`document.querySelector(".row[aria-current]")?.dataset.key === %s`, quoted(root)))
	b.shows("Which colour?")
	b.click("below run " + root)
	b.row("build", "waiting")
	b.shows("Which colour?")
	b.ready()
	b.click("red")
	b.row("build", "done")
	b.row("build", "claims.md")
	b.shows("Completed")
	b.until(`document.querySelectorAll(".ask").length === 0`)
	w.eventually("the flow is completed", func() bool { return w.status(root) == "completed" })
	if text, err := os.ReadFile(filepath.Join(w.folder, "claims.md")); err != nil || !strings.Contains(string(text), "It is red.") {
		t.Errorf("claims.md: %q, %v", text, err)
	}
	b.clean(w.page)
}

// child is the run of a family that is there for something.
func (w *world) child(root, role string) string {
	w.t.Helper()
	_, v := w.ask("GET", "/v1/runs/"+root, nil)
	run, _ := v["run"].(map[string]any)
	children, _ := run["children"].([]any)
	for _, c := range children {
		if c, _ := c.(map[string]any); c["role"] == role {
			return fmt.Sprint(c["id"])
		}
	}
	w.t.Fatalf("there is no %s below %s: %v", role, root, children)
	return ""
}

// A question that takes more than its choices is answered in words: the phase above is done again
// with them, and both of its runs are there.
func TestFlowIsAnsweredInWords(t *testing.T) {
	w := newWorld(t, stories(paints())).serve()
	w.touch("go")
	root := w.flow(feature)
	b := w.login(open(t))
	b.at(root)
	b.shows("Build this plan?")
	b.ready()
	b.do(chromedp.SendKeys(`.ask textarea`, "smaller steps, please"))
	b.click("Answer")
	b.until(`[...document.querySelectorAll("table button")].some((x) => x.getAttribute("aria-label").startsWith("plan#2,"))`)
	b.row("plan", "done")
	b.shows("Build this plan?")
	b.ready()
	b.click("no")
	w.eventually("the flow has ended", func() bool { return w.status(root) == "failed" || w.status(root) == "cancelled" })
	if text, err := os.ReadFile(filepath.Join(w.folder, "plan.md")); err != nil || string(text) != "again\nagain\n" {
		t.Errorf("plan.md: %q, %v", text, err)
	}
	b.clean(w.page)
}

// Many branches are a row until a person opens them, and then as many as fit; each has its own
// time, files and run.
func TestFlowOfManyBranches(t *testing.T) {
	w := newWorld(t, stories()).serve()
	items := make([]string, 60)
	for i := range items {
		items[i] = fmt.Sprintf("item-%02d", i)
	}
	if err := os.WriteFile(filepath.Join(w.folder, "items.json"), args(items), 0o600); err != nil {
		t.Fatal(err)
	}
	root := w.flow("---\nagent: flow\n---\n```flow\nmodel = \"runbook\"\nparallel = 4\n```\n## read\n```phase\neach = \"items.json\"\nparallel = 4\noutputs = [\"out/{name}.txt\"]\n```\n" +
		"```sh access=write\nmkdir -p out; echo $AGENT_ITEM > out/$AGENT_ITEM.txt\n```\n")
	w.eventually("the flow is completed", func() bool { return w.status(root) == "completed" })
	b := w.login(open(t))
	b.at(root)
	b.row("read", "60 done")
	b.until(`document.querySelectorAll(".phases .branch").length === 0`)
	b.click("60 branches")
	b.until(`document.querySelectorAll(".phases .branch").length === 40`)
	b.row("read[item-00]", "out/item-00.txt")
	b.click("Show all 60")
	b.until(`document.querySelectorAll(".phases .branch").length === 60`)
	b.row("read[item-59]", "#1")
	if n := b.nodes(); n > mostNodes {
		t.Errorf("%d nodes, at most %d", n, mostNodes)
	}
	b.shows("items.json")
	b.clean(w.page)
}

// Names and reasons come from files and models: in the table, too, they are text (promise 15, S7,
// S8).
func TestHostileFlowStaysText(t *testing.T) {
	w := newWorld(t, stories())
	const root, child = "r-aaaaaaaa", "r-bbbbbbbb"
	w.journals(func(ctx context.Context, j *servetest.Journals) error { return hostileFlow(ctx, j, root, child) })
	w.serve("--recover", "none")
	b := w.login(open(t))
	b.at(root)
	b.until(`[...document.querySelectorAll(".phases tr")].filter((r) => r.innerText.includes("window.hit")).length >= 3`)
	b.until(`document.querySelector(".phases li code")?.innerText.includes("onerror")`)
	b.until(`document.querySelector(".sources")?.innerText.includes("<script>")`)
	b.until(`[...document.querySelectorAll(".ask")].some((a) => a.innerText.includes("<svg"))`)
	if eval[bool](b, `window.hit !== undefined || /[\u202e\u2066\x07\x1b]/.test(document.body.textContent)`) {
		t.Error("a text was carried out, or hides something")
	}
	if n := eval[int](b, `document.querySelectorAll("script:not([src='/app.js']), iframe, img, svg, style, base, form[action], a, object, embed, template").length`); n != 0 {
		t.Errorf("%d elements came of texts", n)
	}
	b.at(child)
	b.shows("below run " + root)
	b.clean(w.page)
}

// hostileFlow records a flow of which everything that a file may name is hostile.
func hostileFlow(ctx context.Context, j *servetest.Journals, root, child string) error {
	list := corpus()
	out := journal.Artifact{Path: list[1] + ".md", SHA: strings.Repeat("ab", 32), Size: 3, Copy: "k"}
	source := journal.Artifact{Path: list[0], SHA: strings.Repeat("cd", 32), Size: 4, Copy: "k"}
	def := map[string]any{"name": list[2], "task": "none", "parallel": 1, "on_fail": "stop", "phases": []any{
		map[string]any{"name": "plan", "title": hostile(1), "inputs": []any{map[string]any{"path": source.Path}}, "outputs": []any{map[string]any{"path": out.Path}}, "tries": 1, "on_fail": "stop", "redo": "ask"},
		map[string]any{"name": "build", "title": hostile(2), "after": []string{"plan"}, "inputs": []any{map[string]any{"path": out.Path}}, "tries": 3, "on_fail": "stop", "redo": "ask"},
	}}
	created := journal.RunCreated{Run: root, Thread: "t" + root[1:], By: hostile(0), Prompt: hostile(3), Folder: "/w", Model: model, Mode: journal.ModeAsk, FlowRun: journal.FlowRun{Flow: args(def), Task: hostile(4)}}
	work := journal.FlowPhaseStarted{Phase: "plan", Part: journal.PartWork, Run: "r-cccccccc", Attempt: 1, Why: journal.WhyFirst, Mode: journal.ModeAsk, In: []journal.Artifact{source}}
	q := journal.Question{Kind: journal.RequestAskUser, Message: hostile(5), Schema: json.RawMessage(`{"type":"string","enum":["<b>yes</b>"]}`), Choices: []string{"<b>yes</b>"}, Hints: []string{hostile(6)}}
	asked := journal.Request{ID: "p-bbbbbbbb", Opened: time.Now(), Question: q, Call: &journal.Place{Turn: 1}, CallID: "c-bbbbbbbb", Tool: "ask_user"}
	below := journal.RunCreated{Run: child, Thread: "t" + child[1:], Prompt: hostile(8), Folder: "/w", Model: model, Mode: journal.ModeAsk,
		Family: journal.Family{Parent: root, Root: root, RootThread: "t" + root[1:], Role: "build#2"}}
	if err := j.Begin(ctx, root, "t"+root[1:], journal.Event{Body: created}, journal.Event{Body: journal.RunClaimed{Epoch: 1, PID: 1}},
		journal.Event{Body: work}, journal.Event{Body: journal.FlowPhaseEnded{Phase: "plan", Part: journal.PartWork, Run: "r-cccccccc", Attempt: 1, Outcome: journal.PhaseDone, Out: []journal.Artifact{out}}},
		journal.Event{Body: journal.FlowPhaseStarted{Phase: "build", Part: journal.PartWork, Run: "r-dddddddd", Attempt: 1, Why: journal.WhyFirst, Mode: journal.ModeAsk, In: []journal.Artifact{out}}},
		journal.Event{Body: journal.FlowPhaseEnded{Phase: "build", Part: journal.PartWork, Run: "r-dddddddd", Attempt: 1, Outcome: journal.PhaseFailed, Reason: hostile(7)}},
		journal.Event{Body: journal.FlowPhaseStarted{Phase: "build", Part: journal.PartWork, Run: child, Attempt: 2, Why: journal.WhyTry, Reason: hostile(7), Mode: journal.ModeAsk, In: []journal.Artifact{out}}}); err != nil {
		return err
	}
	if err := j.Begin(ctx, child, "t"+child[1:], journal.Event{Body: below}, journal.Event{Body: journal.RunClaimed{Epoch: 1, PID: 1}}, journal.Event{Turn: 1, Body: journal.ModelRequested{}},
		journal.Event{Turn: 1, Body: journal.ModelAnswered{Stop: journal.AnswerCalls, Calls: []journal.Proposal{
			{ID: asked.CallID, Tool: "ask_user", Args: json.RawMessage(`{}`), Effect: journal.EffectRead, Fingerprint: fingerprint, Decision: journal.DecisionAllow, Question: &q}}}},
		journal.Event{Turn: 1, Body: journal.RequestOpened{Request: asked}}); err != nil {
		return err
	}
	return j.Add(ctx, root, journal.Event{Body: journal.RunParked{Children: []string{child}}})
}

// Phases that wait side by side have a card each, named by its phase; an answer to one leaves the
// other as it is, and each goes on by itself.
func TestPhasesAskSideBySide(t *testing.T) {
	asks := func(side string) modeltest.Story {
		return modeltest.Story{Prompt: "ASK " + side, Turns: []modeltest.Turn{{Calls: []modeltest.Call{{Tool: "ask_user", Args: args(map[string]any{"question": "Which " + side + "?", "choices": []string{side + " one", side + " two"}})}}}, says(side + " is known.")}}
	}
	w := newWorld(t, stories(asks("left"), asks("right"))).serve()
	root := w.flow("---\nagent: flow\n---\n## left\n```phase\nafter = []\n```\nASK left\n## right\n```phase\nafter = []\n```\nASK right\n")
	b := w.login(open(t))
	b.at(root)
	b.until(`[...document.querySelectorAll(".ask h3 button")].map((x) => x.innerText).sort().join() === "left#1,right#1"`)
	b.row("left", "waiting")
	b.row("right", "waiting")
	b.ready()
	b.click("right two")
	b.row("right", "done")
	b.until(`document.querySelectorAll(".ask").length === 1`)
	b.row("left", "waiting")
	b.ready()
	b.click("left one")
	b.shows("Completed")
	b.row("left", "done")
	b.clean(w.page)
}
