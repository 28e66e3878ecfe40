package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	document "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"agent/host/model/modeltest"
)

const atButton = `(() => {
	const b = [...document.querySelectorAll(".ask button")].find((b) => b.innerText === %s).getBoundingClientRect();
	return [b.x + b.width / 2, b.y + b.height / 2];
})()`

// clickAt sends a click to a place at once, as a hand does that was on its way there already.
func (b *tab) clickAt(x, y float64) {
	b.t.Helper()
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: x, Y: y, Button: input.MouseButtonLeft, ClickCount: 1})
	}
}

// holdable has the tab's next page be one whose reading can be held.
func (b *tab) holdable() {
	b.t.Helper()
	call(b, document.AddScriptToEvaluateOnNewDocument, document.AddScriptToEvaluateOnNewDocumentParams{Source: `{
		const real = fetch;
		window.under = 0;
		window.fetch = async (path, o) => {
			const read = !o?.method?.startsWith("POST");
			if (read && window.held) await new Promise(() => {});
			window.under += read;
			try { return await real(path, o); } finally { window.under -= read; }
		};
	}`})
}

// hold has the page hear nothing of the server any more, but for what it sends itself.
func (b *tab) hold() {
	b.t.Helper()
	b.until(`(window.held = true) && window.under === 0`)
}

// Two tabs answer one question at once: one is taken, the other is told in words what was.
func TestTwoTabsAnswer(t *testing.T) {
	w := newWorld(t, stories(asks("deploy", "Which environment?", "staging", "production"))).serve()
	run := w.run("deploy it")
	w.eventually("it waits", func() bool { return w.status(run) == "waiting" })
	one := w.login(open(t))
	two := one.beside()
	two.holdable()
	two.do(chromedp.Navigate(w.page + "/#" + run))
	one.at(run)
	for _, b := range []*tab{one, two} {
		b.shows("Which environment?")
		b.ready()
	}
	// The second does not see the first's answer, as where both are given in the same moment.
	two.hide()
	two.hold()
	two.ready()
	one.click("staging")
	one.shows("That is done now.")
	two.click("production")
	two.shows("Somebody was faster")
	two.shows("answered staging")
	w.eventually("it is completed", func() bool { return w.status(run) == "completed" })
	one.clean(w.page)
}

// A click that was on its way when the form appeared is not an answer (S13).
func TestEarlyClickIsNoAnswer(t *testing.T) {
	w := newWorld(t, stories(asks("deploy", "Which environment?", "staging", "production"))).serve()
	run := w.run("deploy it")
	w.eventually("it waits", func() bool { return w.status(run) == "waiting" })
	b := w.login(open(t))
	b.at(run)
	b.until(`[...document.querySelectorAll(".ask button")].some((b) => b.innerText === "staging")`)
	b.ready()
	at := eval[[]float64](b, fmt.Sprintf(atButton, `"staging"`))
	// From here the page's clock goes as this test says, however slow the machine is.
	eval[any](b, `(() => { const from = performance.now(); window.late = 0; performance.now = () => from + window.late; return 0; })()`)
	// The page is hidden and comes back: what is under the hand may not be what was.
	eval[any](b, `dispatchEvent(new Event("focus")); 0`)
	for _, late := range []int{0, 100, 499} {
		eval[any](b, fmt.Sprintf(`window.late = %d; 0`, late))
		b.clickAt(at[0], at[1])
		b.until(`document.querySelector(".ask.inert")`)
	}
	b.until(`!document.querySelector(".ask[aria-busy]")`) // nothing was sent
	if s := w.status(run); s != "waiting" {
		t.Fatalf("the run is %s after an early click", s)
	}
	eval[any](b, `window.late = 501; 0`)
	b.ready()
	b.clickAt(at[0], at[1])
	b.shows("That is done now.")
	b.clean(w.page)
}

// A key that is held down when the form comes, and one that is pressed once, answer nothing.
func TestHeldKeyIsNoAnswer(t *testing.T) {
	w := newWorld(t, stories(asks("deploy", "Which environment?", "staging", "production"))).serve()
	run := w.run("deploy it")
	w.eventually("it waits", func() bool { return w.status(run) == "waiting" })
	b := w.login(open(t))
	b.at(run)
	b.ready()
	b.key("a")
	b.tabTo("staging")
	for range 5 {
		call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13, Text: "\r", AutoRepeat: new(true)})
	}
	b.press("y", "s", "1", kb.Escape)
	if s := w.status(run); s != "waiting" {
		t.Errorf("the run is %s", s)
	}
}

// Marks of direction and controls stand in a question by their numbers, and all of it is shown.
func TestQuestionShowsWhatCannotBeSeen(t *testing.T) {
	text := "delete \u202egnp.exe\u202c now\u200b?" + fmt.Sprint(" ", padding(3000), " the end of it")
	w := newWorld(t, stories(asks("ask", text, "yes", "no"))).serve()
	run := w.run("ask me")
	b := w.login(open(t))
	b.at(run)
	b.shows(`delete \u{202e}gnp.exe\u{202c} now\u{200b}?`)
	b.until(`document.querySelector(".shown")?.innerText.includes("the end of it")`)
	if cut := eval[float64](b, `document.querySelector(".shown").scrollHeight - document.querySelector(".shown").clientHeight`); cut > 2 {
		t.Errorf("%.0f pixels of the question are out of sight", cut)
	}
	if eval[bool](b, `document.body.textContent.includes("\u202e")`) {
		t.Error("the page has a mark of direction")
	}
	b.clean(w.page)
}

func padding(n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = "a line of padding \n"[i%19]
	}
	return string(text)
}

// The server is killed and comes back: the page says that it is offline, keeps what it has, and says
// then that its session is over; a new link brings it back where it was.
func TestServerKilled(t *testing.T) {
	w := newWorld(t, stories(modeltest.Story{Prompt: "tell", Turns: []modeltest.Turn{{Text: padding(4000) + "The end.", Faults: []modeltest.Fault{{Kind: modeltest.Hold, At: 3000}}}}})).serve()
	run := w.run("tell me")
	b := w.login(open(t))
	b.at(run)
	b.until(`document.querySelector(".prose.live")`)
	w.kill()
	b.shows("The server does not answer.")
	b.until(`document.getElementById("how").textContent === "offline"`)
	b.until(`/Trying again in \d+ s/.test(document.body.innerText)`)
	b.until(`document.querySelector(".prose.live")`)
	w.model.Release()
	w.serve()
	b.shows("No session")
	b.shows("agent web")
	other := w.login(b.beside())
	b.shows("The end.")
	b.until(`document.getElementById("how").textContent === "connected"`)
	if n := eval[int](b, `document.querySelectorAll(".turn .prose").length`); n != 1 {
		t.Errorf("the text is there %d times", n)
	}
	b.clean(w.page)
	other.clean(w.page)
}

// What was typed is kept over a refusal and a reload, and goes once it is taken.
func TestTypedTextIsKept(t *testing.T) {
	w := newWorld(t, stories(modeltest.Story{Prompt: "first", Turns: []modeltest.Turn{says("First is done.")}},
		modeltest.Story{Prompt: "second", Turns: []modeltest.Turn{{Text: "I wait.", Calls: []modeltest.Call{{Tool: "ask_user", Args: args(map[string]any{"question": "Go on?", "choices": []string{"yes"}})}}}, says("Second is done.")}})).serve()
	run := w.run("first")
	b := w.login(open(t))
	b.at(run)
	b.shows("Completed")
	thread := eval[string](b, fmt.Sprintf(`fetch("/v1/runs/%s", { headers: { Authorization: "Bearer " + localStorage.getItem("agent.session") } }).then((a) => a.json()).then((v) => v.run.thread_id)`, run))
	w.agent("run", "--detach", "--model", model, "--thread", thread, "second") // it waits: the thread is taken
	b.do(chromedp.Click(`.prompt-form textarea`))
	b.press("my long thought")
	b.click("Send")
	b.shows("Your text is kept.")
	if v := eval[string](b, `document.querySelector(".prompt-form textarea").value`); v != "my long thought" {
		t.Errorf("the text is %q", v)
	}
	b.do(chromedp.Reload())
	b.until(`document.querySelector(".prompt-form textarea")?.value === "my long thought"`)
	eval[any](b, `(() => { const real = fetch; window.fetch = (path, o) => o?.method === "POST" ? Promise.resolve(new Response('{"code":"too_many","detail":"32 runs are driven already; try again","next":[]}', { status: 503 })) : real(path, o); return 0; })()`)
	b.click("Send")
	b.shows("32 runs are driven already")
	if v := eval[string](b, `document.querySelector(".prompt-form textarea").value`); v != "my long thought" {
		t.Errorf("the text is %q", v)
	}
	b.clean(w.page)
}

// No credential goes to another port, whatever the page that is there asks for (S3).
func TestCredentialStaysAtItsPort(t *testing.T) {
	w := newWorld(t, stories()).serve()
	heard := make(chan http.Header, 16)
	other := elsewhere(t, heard)
	b := w.login(open(t))
	b.do(chromedp.Navigate(other))
	for range 2 {
		select {
		case h := <-heard:
			for _, name := range []string{"Authorization", "Cookie"} {
				if h.Get(name) != "" {
					t.Errorf("another port was sent %s: %s", name, h.Get(name))
				}
			}
			if from := h.Get("Referer"); strings.HasPrefix(from, w.page) {
				t.Errorf("another port was sent Referer: %s", from)
			}
		case <-time.After(patience):
			t.Fatal("the other page was not asked for")
		}
	}
	if n := eval[int](b, `localStorage.length`); n != 0 {
		t.Errorf("another port sees %d things that are kept", n)
	}
	refused := eval[string](b, fmt.Sprintf(`fetch("%s/v1/runs").then((a) => "answered " + a.status, () => "refused")`, w.page))
	if refused != "refused" {
		t.Errorf("a page of another port was %s", refused)
	}
}
