package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"agent/host/model/modeltest"
	"agent/host/serve/servetest"
	"agent/recovery/journal"
)

// state is what the page can show: how to come there, and a text that says that it is there.
type state struct {
	name, place, shows string
	act                func(b *tab)
}

// Every state has words, and passes axe-core, light and dark (promise 15). With PAGE_SHOTS its
// pictures are put into that folder.
func TestStates(t *testing.T) {
	axe, err := os.ReadFile(os.Getenv("AXE"))
	if err != nil {
		t.Fatalf("AXE names the file axe.min.js of axe-core: %v (scripts/check page installs it)", err)
	}
	w := newWorld(t, stories(modeltest.Story{Prompt: "publish", Turns: publishing()}, asks("where", "Which environment shall I deploy to? Staging is empty; production has last week's release.", "staging", "production", "neither"),
		modeltest.Story{Prompt: "tell", Turns: []modeltest.Turn{{Thinking: "What is there to tell?", Text: strings.Repeat("The tests pass on this machine, and the folder is clean. ", 60), Faults: []modeltest.Fault{{Kind: modeltest.Hold, At: 5000}}}}},
		modeltest.Story{Prompt: "count", Turns: []modeltest.Turn{{Text: "I count.", Calls: []modeltest.Call{shell("for i in 1 2 3 4 5 6; do echo line $i; done; while [ ! -e go ]; do sleep 0.1; done")}}, says("Counted.")}},
		modeltest.Story{Prompt: "name", Turns: []modeltest.Turn{{Calls: []modeltest.Call{{Tool: "ask_user", Args: args(map[string]any{"question": "What shall the release be called?"})}}}, says("ok")}}))
	empty := newWorld(t, stories()).serve()
	w.touch("Makefile")
	w.journals(func(ctx context.Context, j *servetest.Journals) error {
		return errors.Join(kept(ctx, j), standing(ctx, j))
	})
	w.serve("--recover", "none")
	runs := map[string]string{"published": w.run("publish everything without asking", "--mode", "yolo")}
	for name, prompt := range map[string]string{"permission": "publish the site when the tests pass", "choice": "where to deploy", "text": "name the release", "live": "tell me how it stands"} {
		runs[name] = w.run(prompt)
	}
	runs["output"] = w.run("count slowly", "--mode", "yolo")
	w.eventually("it is published", func() bool { return w.status(runs["published"]) == "completed" })
	b := w.login(open(t))
	for _, s := range states(w, runs) {
		b.judge(string(axe), s)
	}
	b = empty.login(open(t))
	b.judge(string(axe), state{name: "empty", shows: "No runs yet"})
	b.clean(empty.page)
}

// publishing is a story with something of everything.
func publishing() []modeltest.Turn {
	edit := args(map[string]any{"path": "Makefile", "content": "all:\n\tgo vet ./...\n\tgo test ./...\n"})
	return []modeltest.Turn{
		{Thinking: "The site is built first, then pushed.", Text: "I look at the folder, then I push the site.", Calls: []modeltest.Call{{Tool: "list_dir", Args: args(map[string]any{"path": "."})}, {Tool: "read_file", Args: args(map[string]any{"path": "Makefile"})}}},
		{Text: "The Makefile lacks the tests. I write it again.", Calls: []modeltest.Call{{Tool: "write_file", Args: edit}, shell("make -n; exit 3")}},
		{Text: "Published. The tests pass, and the site answers."},
	}
}

func states(w *world, runs map[string]string) []state {
	card := func(b *tab) { b.ready() }
	unfold := func(b *tab) {
		eval[any](b, `document.querySelectorAll(".story details").forEach((d) => { d.open = true; }); document.querySelector(".run .scroller").scrollTop = 0; 0`)
		b.until(`document.querySelector(".diff")`)
	}
	break2 := `(() => { window.real ??= fetch; window.fetch = (path, o) => %s ? Promise.resolve(new Response(JSON.stringify(%s), { status: %d, headers: { "Content-Type": "application/problem+json" } })) : window.real(path, o); return 0; })()`
	whole := func(b *tab) { eval[any](b, `(() => { if (window.real) window.fetch = window.real; return 0; })()`) }
	return []state{
		{name: "list", shows: "Choose a run"},
		{name: "completed", place: runs["published"], shows: "Completed"},
		{name: "unfolded", place: runs["published"], shows: "Completed", act: unfold},
		{name: "changes", place: runs["published"], shows: "Completed", act: func(b *tab) {
			b.click("Changes")
			b.until(`document.querySelector(".changes-card .diff")`)
		}},
		{name: "permission", place: runs["permission"], shows: "May it do this?", act: card},
		{name: "choice", place: runs["choice"], shows: "Which environment shall I deploy to?", act: card},
		{name: "text", place: runs["text"], shows: "What shall the release be called?", act: card},
		{name: "form", place: "r-eeeeeeee", shows: "A tool asks for this", act: card},
		{name: "live", place: runs["live"], shows: "The tests pass on this machine"},
		{name: "output", place: runs["output"], shows: "line 6"},
		{name: "end", place: runs["output"], shows: "line 6", act: func(b *tab) { b.click("End…"); b.shows("End it for good?") }},
		{name: "interrupted", place: "r-aaaaaaaa", shows: "The process that drove it died", act: card},
		{name: "plan", place: "r-aaaaaaaa", shows: "Interrupted", act: func(b *tab) {
			b.click("Show what a resume would do")
			b.until(`document.querySelector(".plan")?.innerText.length > 20 && !document.querySelector(".plan").innerText.includes("Asking")`)
		}},
		{name: "left-alone", place: "r-bbbbbbbb", shows: "nothing resumes it but you", act: card},
		{name: "unknown", place: "r-cccccccc", shows: "Did this happen?", act: card},
		{name: "flow", place: "r-11111111", shows: "Which colour?", act: card},
		{name: "flow-part", place: "r-22222222", shows: "build#2:", act: card},
		{name: "failed", place: "r-dddddddd", shows: "Failed"},
		{name: "cancelled", place: "r-ffffffff", shows: "Cancelled"},
		{name: "no-such-run", place: "r-99999999", shows: "There is no such run"},
		{name: "new", place: "new", shows: "What needs a yes"},
		{name: "refused", place: runs["published"], shows: "Completed", act: func(b *tab) {
			eval[any](b, fmt.Sprintf(break2, `o?.method === "POST"`, `{ code: "too_many", detail: "32 runs are driven already; wait for one to end", next: ["agent ls"] }`, 503))
			b.do(chromedp.SendKeys(`.prompt-form textarea`, "and once more"))
			b.click("Send")
			b.shows("Your text is kept")
			whole(b)
		}},
		{name: "held", place: "r-aaaaaaaa", shows: "Interrupted", act: func(b *tab) {
			eval[any](b, fmt.Sprintf(break2, `o?.method === "POST"`, `{ code: "held", detail: "run r-aaaaaaaa is driven by process 412 on vm", next: ["agent show --follow r-aaaaaaaa"] }`, 409))
			b.click("Resume")
			b.shows("Another process drives it")
			whole(b)
		}},
		{name: "filtered", shows: "Choose a run", act: func(b *tab) {
			b.key("/")
			b.press("no prompt is like this")
			b.shows("No run is like that.")
		}},
		{name: "keys", shows: "No run is like that.", act: func(b *tab) {
			eval[any](b, `document.activeElement.blur(); 0`)
			b.key("?")
			b.until(`document.getElementById("help").open`)
		}},
		{name: "offline", place: runs["permission"], shows: "May it do this?", act: func(b *tab) {
			eval[any](b, `document.getElementById("help").close(); 0`)
			w.kill()
			b.shows("The server does not answer")
		}},
		{name: "over", shows: "The server does not answer", act: func(b *tab) {
			w.serve("--recover", "none")
			b.shows("No session")
		}},
	}
}

// kept are runs that no test has to wait for.
func kept(ctx context.Context, j *servetest.Journals) error {
	begin := func(id, prompt string, more ...journal.Event) error {
		return j.Begin(ctx, id, "t"+id[1:], append([]journal.Event{
			{Body: journal.RunCreated{Run: id, Thread: "t" + id[1:], By: "anna", Prompt: prompt, Folder: "/home/anna/site", Model: model, Mode: journal.ModeAsk, Limits: journal.Limits{MaxTurns: 100}}},
			{Body: journal.RunClaimed{Epoch: 1, PID: 1}}, {Turn: 1, Body: journal.ModelRequested{}}}, more...)...)
	}
	called := turn("r-cccccccc", 1)
	unknown := called[2]
	unknown.Body = journal.CallSettled{Place: journal.Place{Turn: 1, Attempt: 1}, Fingerprint: fingerprint, Result: journal.Result{Outcome: journal.OutcomeUnknown, Applied: journal.AppliedUnknown, How: journal.HowTold, Content: "outcome unknown"}}
	judged := journal.Event{Turn: 1, Body: journal.CallJudged{Place: journal.Place{Turn: 1, Attempt: 1}, Verdict: journal.VerdictSkip, Reason: "outcome unknown: nothing is left of it"}}
	q := journal.Question{Kind: journal.RequestElicit, Message: "The server “tickets” wants to know where to file this.", Schema: json.RawMessage(`{"anyOf":[{"type":"object","properties":{"project":{"type":"string","enum":["SITE","OPS"],"title":"Project"},"title":{"type":"string","description":"one line"},"urgent":{"type":"boolean"}},"required":["title"]},{"enum":["decline","cancel"]}]}`)}
	asked := journal.Request{ID: "p-eeeeeeee", Opened: time.Now(), Question: q, Call: &journal.Place{Turn: 1}, CallID: "c-00000001", Tool: "tickets_file"}
	alone := []journal.Event{}
	for epoch := int64(2); epoch < 5; epoch++ {
		alone = append(alone, journal.Event{Turn: 1, Body: journal.RunInterrupted{Cause: journal.CauseCrash}}, journal.Event{Turn: 1, Body: journal.RunClaimed{Epoch: epoch, PID: 10, Detached: true, Why: "its process died"}})
	}
	for _, err := range []error{
		begin("r-aaaaaaaa", "why does make test fail on the build machine?", append(turn("r-aaaaaaaa", 1)[:2:2], journal.Event{Turn: 1, Body: journal.RunInterrupted{Cause: journal.CauseCrash, Detail: "process 388 on vm is gone"}})...),
		begin("r-bbbbbbbb", "move the blog to the new host", append(alone, journal.Event{Turn: 1, Body: journal.RunInterrupted{Cause: journal.CauseCrash}})...),
		begin("r-cccccccc", "announce the release", called[0], called[1], judged, unknown, called[3], called[4], journal.Event{Turn: 2, Body: journal.RunInterrupted{Cause: journal.CauseReboot}}),
		begin("r-dddddddd", "deploy to a host that is not there", journal.Event{Turn: 1, Body: journal.ModelFailed{Fault: journal.FaultRateLimit, Detail: "ask model: 429, slow down", Tries: 1, Again: true, Wait: 2 * time.Second}},
			journal.Event{Turn: 1, Body: journal.ModelAnswered{Blocks: []journal.Block{{Kind: journal.BlockText, Text: "There is no such host."}}, Stop: journal.AnswerFailed}}, journal.Event{Turn: 1, Body: journal.RunFailed{Reason: "the model says that this cannot be done", Text: "There is no such host."}}),
		begin("r-eeeeeeee", "file a ticket about the broken link", turn("r-eeeeeeee", 1)[0], turn("r-eeeeeeee", 1)[1], journal.Event{Turn: 1, Body: journal.RequestOpened{Request: asked}}),
		begin("r-ffffffff", "rewrite everything", journal.Event{Turn: 1, Body: journal.RunStopping{Why: journal.StopCancelled, By: "anna", Reason: "cancelled by anna"}}, journal.Event{Turn: 1, Body: journal.RunCancelled{By: "anna", Reason: "cancelled by anna"}}),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// judge comes to a state and has axe-core look at it, in both schemes.
func (b *tab) judge(axe string, s state) {
	b.t.Helper()
	b.at(s.place)
	b.shows(s.shows)
	if s.act != nil {
		s.act(b)
	}
	for _, scheme := range []string{"light", "dark"} {
		call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		if !eval[bool](b, `Boolean(window.axe)`) {
			eval[any](b, axe+"; 0")
		}
		found := eval[[]string](b, `axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + " " + n.target + ": " + n.failureSummary)))`)
		for _, f := range found {
			b.t.Errorf("%s, %s: %s", s.name, scheme, f)
		}
		b.picture(s.name, scheme)
	}
}

// picture keeps what a state looks like, wide and narrow.
func (b *tab) picture(name, scheme string) {
	dir := os.Getenv("PAGE_SHOTS")
	if dir == "" {
		return
	}
	for _, size := range [][2]int64{{390, 844}, {1280, 800}} {
		b.do(chromedp.EmulateViewport(size[0], size[1]))
		eval[any](b, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`)
		ctx, stop := context.WithTimeout(b.ctx, patience)
		shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		stop()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s-%d.png", name, scheme, size[0])), shot, 0o600)
		}
		if err != nil {
			b.t.Error(err)
		}
	}
}
