package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"agent/host/serve/servetest"
	"agent/recovery/journal"
)

// elsewhere is a page at another port, as the server that a run's command starts.
func elsewhere(t *testing.T, heard chan<- http.Header) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case heard <- r.Header:
		default: // enough is known
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<!doctype html><img src="/picture">`) // the browser left
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// corpus are texts that would be something else than text if they were let.
func corpus() []string {
	return []string{
		`<script>window.hit = 1</script>`, `<img src=x onerror="window.hit = 2">`, `<svg onload=window.hit=3>`, `"><iframe src=http://evil.example/>`,
		`<a href="javascript:window.hit=4">click</a>`, `'-window.hit-'`, `</pre><style>@import "http://evil.example/a.css"</style>`, `<link rel=stylesheet href=http://evil.example/b.css>`,
		`<details open ontoggle=window.hit=5>`, `${window.hit=6}`, `{{constructor.constructor("window.hit=7")()}}`, `<math><mtext></mtext><mglyph><style><img src=x onerror=window.hit=8>`,
		`http://evil.example/click`, `<base href=http://evil.example/>`, `<meta http-equiv=refresh content="0;url=http://evil.example">`, `<form action=http://evil.example><button>go</button></form>`,
		"\x1b]0;title\x07\u202e\u2066hidden", `<template shadowrootmode=open><script>window.hit=9</script></template>`,
	}
}

func hostile(n int) string {
	list := corpus()
	text := ""
	for i := range list {
		text += list[(i+n)%len(list)] + "\n"
	}
	return text
}

// What a model, a tool or a folder says is text wherever it is shown: nothing is carried out, no
// other place is asked (promise 15, S7, S8).
func TestHostileTextStaysText(t *testing.T) {
	w := newWorld(t, stories())
	const run, asked, failed = "r-aaaaaaaa", "r-bbbbbbbb", "r-cccccccc"
	w.journals(func(ctx context.Context, j *servetest.Journals) error {
		for i, id := range []string{run, asked, failed} {
			if err := j.Begin(ctx, id, "t"+id[1:],
				journal.Event{Body: journal.RunCreated{Run: id, Thread: "t" + id[1:], By: hostile(0), Prompt: hostile(i), Folder: "/w/" + corpus()[1], Model: corpus()[0], Mode: journal.ModeAsk, Input: hostile(2)}},
				journal.Event{Body: journal.RunClaimed{Epoch: 1, PID: 1, Why: hostile(3)}},
				journal.Event{Turn: 1, Body: journal.ModelRequested{}},
				journal.Event{Turn: 1, Body: journal.RunNoted{Text: hostile(4)}},
				journal.Event{Turn: 1, Body: journal.ModelFailed{Fault: "server", Detail: hostile(5), Remedy: hostile(6), Tries: 1}}); err != nil {
				return err
			}
		}
		events := hostileTurn(1)
		if err := j.Add(ctx, run, append(events, journal.Event{Turn: 2, Body: journal.RunCompleted{Text: hostile(7)}})...); err != nil {
			return err
		}
		q := journal.Question{Kind: journal.RequestAskUser, Message: hostile(8), Schema: json.RawMessage(`{"type":"string","enum":["<b>yes</b>"]}`), Choices: []string{"<b>yes</b>"}, Hints: []string{hostile(9)}}
		if err := j.Add(ctx, asked,
			journal.Event{Turn: 1, Body: journal.ModelAnswered{Stop: journal.AnswerCalls, Calls: []journal.Proposal{
				{ID: "c-bbbbbbbb", Tool: "ask_user", Args: args(map[string]any{"question": hostile(1)}), Effect: journal.EffectRead, Fingerprint: fingerprint, Decision: journal.DecisionAllow, Question: &q},
			}}},
			journal.Event{Turn: 1, Body: journal.RequestOpened{Request: journal.Request{ID: "p-bbbbbbbb", Opened: time.Now(), Question: q, Call: &journal.Place{Turn: 1}, CallID: "c-bbbbbbbb", Tool: "ask_user"}}}); err != nil {
			return err
		}
		return j.Add(ctx, failed, journal.Event{Turn: 1, Body: journal.RunFailed{Reason: hostile(10), Text: hostile(11)}})
	})
	w.serve()
	b := w.login(open(t))
	for _, id := range []string{run, asked, failed} {
		b.at(id)
		b.until(fmt.Sprintf(`document.querySelector(".facts code")?.innerText === %s && document.querySelector(".prompt")?.innerText.includes("window.hit")`, quoted(id)))
		b.until(`[...document.querySelectorAll(".story .note")].some((n) => n.innerText.includes("onerror"))`)
		eval[any](b, `document.querySelectorAll("details").forEach((d) => { d.open = true; }); 0`)
		if id == asked {
			b.until(`document.querySelector(".ask .shown")?.innerText.includes("<script>")`)
		}
	}
	b.at(run)
	b.until(`document.querySelector(".call")`)
	eval[any](b, `document.querySelectorAll("details").forEach((d) => { d.open = true; }); 0`)
	b.until(`document.querySelector(".output")?.innerText.includes("<svg")`)
	if eval[bool](b, `/[\u202e\u2066\x07\x1b]/.test(document.body.textContent)`) {
		t.Error("a mark of direction or a control is not shown by its number")
	}
	if hit := eval[bool](b, `window.hit !== undefined`); hit {
		t.Error("a text was carried out")
	}
	if n := eval[int](b, `document.querySelectorAll("script:not([src='/app.js']), iframe, img, svg, style, base, form[action], a, object, embed, template").length`); n != 0 {
		t.Errorf("%d elements came of texts", n)
	}
	b.clean(w.page)
}

const fingerprint = "s1:0000000000000000000000000000000000000000000000000000000000000000"

// hostileTurn is a turn whose text, thoughts, arguments and output are hostile.
func hostileTurn(n int) []journal.Event {
	place := journal.Place{Turn: n, Attempt: 1}
	return []journal.Event{
		{Turn: n, Body: journal.ModelAnswered{Blocks: []journal.Block{{Kind: journal.BlockReasoning, Text: hostile(1)}, {Kind: journal.BlockText, Text: hostile(0)}}, Stop: journal.AnswerCalls,
			Calls: []journal.Proposal{{ID: "c-aaaaaaaa", Tool: "shell", Args: args(map[string]any{"command": hostile(0)}), Effect: journal.EffectWriteExternal, Fingerprint: fingerprint, Decision: journal.DecisionAllow, Why: hostile(2), Sandbox: hostile(3)}}}},
		{Turn: n, Body: journal.CallStarted{Place: place}},
		{Turn: n, Body: journal.CallJudged{Place: place, Verdict: journal.VerdictAdopt, Reason: hostile(4)}},
		{Turn: n, Body: journal.CallSettled{Place: place, Fingerprint: fingerprint,
			Result: journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted, Content: hostile(5), Size: 2000}}},
		{Turn: n, Body: journal.TurnSettled{Checkpoint: "k"}},
		{Turn: n + 1, Body: journal.ModelRequested{}},
	}
}

// The browser itself makes no markup of a text, even if a script of the page tried (S7).
func TestPolicyRefusesMarkup(t *testing.T) {
	w := newWorld(t, stories()).serve()
	b := w.login(open(t))
	for _, try := range []string{
		`document.body.innerHTML = "<b>x</b>"`, `document.body.insertAdjacentHTML("beforeend", "<b>x</b>")`, `document.write("x")`,
		`new DOMParser().parseFromString("<b>x</b>", "text/html")`, `Object.assign(document.createElement("script"), { text: "1" })`, `trustedTypes.createPolicy("mine", {})`,
	} {
		if threw := eval[bool](b, fmt.Sprintf(`(() => { try { %s; return false; } catch (e) { return e instanceof TypeError; } })()`, try)); !threw {
			t.Errorf("%s is let", try)
		}
	}
	if got := eval[string](b, `fetch("http://evil.example/").then(() => "asked", () => "refused")`); got != "refused" {
		t.Error("another place was asked")
	}
	b.do(chromedp.Navigate(w.page + "/"))
}
