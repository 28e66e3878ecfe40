package page

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
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

// Two tabs answer one question at once: one is taken, the other one says in words what was.
func TestTwoTabsAnswer(t *testing.T) {
	w := newWorld(t, stories(asks("deploy", "Which environment?", "staging", "production"))).serve()
	run := w.waiting("deploy it")
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

// A click that was on its way when the form appeared is not an answer (promise 14, S13).
func TestEarlyClickIsNoAnswer(t *testing.T) {
	w := newWorld(t, stories(asks("deploy", "Which environment?", "staging", "production"))).serve()
	run := w.waiting("deploy it")
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

// A key that is held down when the form comes, and one that is pressed once, answer nothing
// (promise 14).
func TestHeldKeyIsNoAnswer(t *testing.T) {
	w := newWorld(t, stories(asks("deploy", "Which environment?", "staging", "production"))).serve()
	run := w.waiting("deploy it")
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

// By what a person sees of it, a question with marks that cannot be seen is the one that has their
// numbers in their place; and what stands behind padding is seen (S13).
func TestPictureOfAQuestion(t *testing.T) {
	marks := []rune{0x202a, 0x202b, 0x202d, 0x202e, 0x202c, 0x2066, 0x2067, 0x2068, 0x2069, 0x200e, 0x200f, 0x061c, 0x200b, 0x2060, 0xfeff, 0x2028, 0x2029, 0xe0041, 0x85}
	hidden, plain := "rm -rf /\rls -l\n\x1b[1A\x1b[2Kls\n", `rm -rf /\x0dls -l`+"\n"+`\x1b[1A\x1b[2Kls`+"\n"
	for _, m := range marks {
		hidden += fmt.Sprintf("open %cgnp.exe%c please\n", m, m)
		plain += fmt.Sprintf(`open \u{%x}gnp.exe\u{%x} please`+"\n", m, m)
	}
	padded := "list the files" + strings.Repeat(" ", 3000) + strings.Repeat("\t", 300) + strings.Repeat("\u00a0", 3000) + strings.Repeat("\n \n", 100) + "and delete them"
	w := newWorld(t, stories(asks("hidden", hidden, "yes", "no"), asks("plain", plain, "yes", "no"), asks("padded", padded, "yes", "no"))).serve()
	b := w.login(open(t))
	eval[any](b, `document.body.style.height = "6000px"; 0`) // so that no picture ends at an edge
	var pictures [][]byte
	for _, prompt := range []string{"hidden", "plain"} {
		b.at(w.run(prompt))
		b.until(`document.querySelector(".prompt .prose")?.innerText === ` + quoted(prompt))
		b.ready()
		pictures = append(pictures, b.pictureOf(".ask .shown", prompt))
	}
	if !bytes.Equal(pictures[0], pictures[1]) {
		t.Errorf("the questions look different:\n%s", b.seen())
	}
	b.at(w.run("padded"))
	b.until(`document.querySelector(".prompt .prose")?.innerText === "padded"`)
	b.ready()
	b.pictureOf(".ask", "padded")
	eval[any](b, `document.body.style.height = ""; 0`)
	if out := eval[string](b, `(() => {
		const shown = document.querySelector(".ask .shown"), node = shown.firstChild, at = node.data.indexOf("and delete them"), words = new Range();
		words.setStart(node, at);
		words.setEnd(node, at + 15);
		shown.scrollIntoView({ block: "end" });
		const box = words.getBoundingClientRect(), x = box.left + box.width / 2, y = box.top + box.height / 2;
		if (shown.scrollHeight > shown.clientHeight + 2 || shown.scrollWidth > shown.clientWidth + 2) return "a part has to be scrolled to";
		return document.elementFromPoint(x, y) === shown ? "" : "the last words are covered, or out of sight";
	})()`); out != "" {
		t.Error(out)
	}
	b.clean(w.page)
}

// pictureOf is what an element looks like. With PAGE_SHOTS it is kept there, to be looked at.
func (b *tab) pictureOf(element, name string) []byte {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	shot, err := chromedp.Run(ctx, chromedp.Screenshot(element))
	if err == nil && os.Getenv("PAGE_SHOTS") != "" {
		err = os.WriteFile(filepath.Join(os.Getenv("PAGE_SHOTS"), "question-"+name+".png"), shot, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return shot
}

func padding(n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = "a line of padding \n"[i%19]
	}
	return string(text)
}

// The server is killed and comes back: the page says that it is offline, keeps what it has, and
// says then that its session is over; a new link brings it back where it was (promise 16).
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

// What was typed is kept over a refusal and a reload, and goes once it is taken (promise 16).
func TestTypedTextIsKept(t *testing.T) {
	w := newWorld(t, stories(modeltest.Story{Prompt: "first", Turns: []modeltest.Turn{says("First is done.")}},
		modeltest.Story{Prompt: "second", Turns: []modeltest.Turn{{Text: "I wait.", Calls: []modeltest.Call{{Tool: "ask_user", Args: args(map[string]any{"question": "Go on?", "choices": []string{"yes"}})}}}, says("Second is done.")}})).serve()
	run := w.run("first")
	b := w.login(open(t))
	b.at(run)
	b.shows("Completed")
	thread := eval[string](b, fmt.Sprintf(`fetch("/v1/runs/%s", { headers: { Authorization: "Bearer " + localStorage.getItem("agent.session") } }).then((a) => a.json()).then((v) => v.run.thread_id)`, run))
	w.agent("run", "--detach", "--model", model, "--thread", thread, "second") // it waits: the thread is taken
	b.clickOn("//form//textarea")
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

// A message for the model of a run that has not ended is kept, and the model gets it with its next
// request; what was typed survives a reload (issue 17, part 2).
func TestTellTheModel(t *testing.T) {
	script := stories(asks("deploy", "Which environment?", "staging", "production"),
		modeltest.Story{Prompt: "leave the tests alone", Turns: []modeltest.Turn{says("The tests stay as they are.")}})
	w := newWorld(t, script).serve()
	run := w.waiting("deploy it")
	b := w.login(open(t))
	b.at(run)
	b.shows("Which environment?")
	b.do(chromedp.SendKeys(`.foot textarea`, "leave the tests alone"))
	b.do(chromedp.Reload())
	b.until(`document.querySelector(".foot textarea")?.value === "leave the tests alone"`)
	b.click("Tell the model")
	b.until(`document.querySelector(".foot textarea")?.value === ""`)
	b.until(`/the model gets it/i.test(document.querySelector(".foot").innerText)`)
	b.ready()
	b.click("staging")
	b.shows("The tests stay as they are.")
	b.shows("leave the tests alone")
	b.until(`document.querySelector(".foot .done") && !document.querySelector(".foot [data-key=tell]")`)
	b.clean(w.page)
}

// The plan of a run in mode plan that was started here is a question, with the ways to go on with
// it (issue 17, part 1).
func TestPlanIsAsked(t *testing.T) {
	w := newWorld(t, stories(modeltest.Story{Prompt: "plan it", Turns: []modeltest.Turn{says("1. Write new.txt.")}},
		modeltest.Story{Prompt: "Carry the plan out", Turns: []modeltest.Turn{
			{Calls: []modeltest.Call{{Tool: "write_file", Args: args(map[string]any{"path": "new.txt", "content": "new"})}}},
			says("It is written."),
		}})).serve()
	run := w.run("plan it", "--mode", "plan", "--ask-plan")
	b := w.login(open(t))
	b.at(run)
	b.shows("Carry out this plan?")
	b.shows("writes in the folder are not asked about")
	b.ready()
	b.click("auto")
	b.shows("It is written.")
	w.eventually("it is completed", func() bool { return w.status(run) == "completed" })
	b.clean(w.page)
}
