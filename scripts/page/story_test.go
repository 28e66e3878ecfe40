package page

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"agent/host/model/modeltest"
)

func shell(command string) modeltest.Call {
	return modeltest.Call{Tool: "shell", Args: args(map[string]any{"command": command})}
}

func args(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is made of strings
	}
	return text
}

func says(text string) modeltest.Turn { return modeltest.Turn{Text: text} }

// asks is a story whose second turn needs an answer of a person.
func asks(prompt, question string, choices ...string) modeltest.Story {
	return modeltest.Story{Prompt: prompt, Turns: []modeltest.Turn{
		{Text: "I have a question.", Calls: []modeltest.Call{{Tool: "ask_user", Args: args(map[string]any{"question": question, "choices": choices})}}},
		says("That is done now."),
	}}
}

func stories(s ...modeltest.Story) modeltest.Script { return modeltest.Script{Stories: s} }

// The link of a person's terminal logs in, once, and leaves nothing in the address.
func TestLoginByLink(t *testing.T) {
	w := newWorld(t, stories()).serve()
	link := w.link()
	b := open(t)
	b.do(chromedp.Navigate(link))
	b.shows("No runs yet")
	if at := eval[string](b, "location.href"); at != w.page+"/" {
		t.Errorf("the address is %s", at)
	}
	if n := eval[int](b, "history.length"); n > 2 { // about:blank, the page
		t.Errorf("the history has %d entries", n)
	}
	if c := eval[string](b, "document.cookie"); c != "" {
		t.Errorf("there is a cookie: %s", c)
	}
	again := open(t)
	again.do(chromedp.Navigate(link))
	again.shows("This link was used, or is too old")
	again.shows("agent web")
	b.clean(w.page)
}

// Without a session there are words, and a new link opened in another tab brings this one back.
func TestSessionOver(t *testing.T) {
	w := newWorld(t, stories()).serve()
	b := open(t)
	b.do(chromedp.Navigate(w.page + "/"))
	b.shows("No session")
	w.login(b.beside())
	b.shows("No runs yet")
	b.click("Log out")
	b.shows("No session")
}

func TestListAndRun(t *testing.T) {
	w := newWorld(t, stories(modeltest.Story{Prompt: "look", Turns: []modeltest.Turn{
		{Thinking: "Where to begin?", Text: "I look around.", Calls: []modeltest.Call{{Tool: "list_dir", Args: args(map[string]any{"path": "."})}}}, says("There is nothing here."),
	}})).serve()
	run := w.run("look around")
	other := w.run("say something else", "--mode", "plan")
	w.eventually("both have ended", func() bool { return w.status(run) == "completed" && w.status(other) != "running" })
	b := w.login(open(t))
	b.shows("look around")
	b.key("/")
	b.press("look")
	b.until(`document.querySelectorAll(".row").length === 1`)
	b.press(kb.Escape)
	b.key("j")
	b.press(kb.Enter)
	b.shows("There is nothing here.")
	b.shows("Completed")
	b.lacks("Where to begin?")
	b.clickOn("//summary[.='Reasoning']")
	b.shows("Where to begin?")
	b.clickOn("//summary[contains(., 'list_dir')]")
	b.shows("confined")
	b.press(kb.Escape)
	b.shows("Choose a run, or start one")
	b.clickOn("//button[.='Failed']")
	b.shows("No run is like that.")
	b.click("Show all runs")
	b.until(`document.querySelectorAll(".row").length === 2`)
	b.clean(w.page)
}

// Text is there while the model gives it, and a reload in the middle shows nothing twice (promise
// 13).
func TestLiveTextAndReload(t *testing.T) {
	text := strings.Repeat("one two three four five six seven. ", 40)
	w := newWorld(t, stories(modeltest.Story{Prompt: "tell", Turns: []modeltest.Turn{{Text: text + "The end.", Faults: []modeltest.Fault{{Kind: modeltest.Hold, At: 6000}}}}})).serve()
	run := w.run("tell me much")
	b := w.login(open(t))
	b.at(run)
	b.until(`document.querySelector(".prose.live")?.innerText.includes("one two three")`)
	b.until(`document.querySelector(".prose.live").innerText.length > 100`)
	live := eval[string](b, `document.querySelector(".prose.live").textContent`)
	if !strings.HasPrefix(text, live) {
		t.Errorf("the live text is %q", live)
	}
	before := len(live)
	b.do(chromedp.Reload())
	b.until(fmt.Sprintf(`document.querySelector(".prose.live")?.innerText.length >= %d`, before))
	if n := eval[int](b, `document.querySelectorAll(".prose.live").length`); n != 1 {
		t.Errorf("%d live texts", n)
	}
	w.model.Release()
	b.shows("The end.")
	b.until(`!document.querySelector(".prose.live")`)
	got := eval[string](b, `[...document.querySelectorAll(".turn .prose")].map((n) => n.innerText).join("")`)
	if got != text+"The end." {
		t.Errorf("the page shows %d characters, want %d: %.200q", len(got), len(text)+8, got)
	}
	b.clean(w.page)
}

// The output of a command comes while it runs.
func TestLiveOutput(t *testing.T) {
	w := newWorld(t, stories(modeltest.Story{Prompt: "count", Turns: []modeltest.Turn{{Text: "I count.", Calls: []modeltest.Call{shell("echo first; while [ ! -e go ]; do sleep 0.05; done; echo second")}}, says("Counted.")}})).serve()
	run := w.run("count", "--mode", "yolo")
	b := w.login(open(t))
	b.at(run)
	b.until(`document.querySelector("pre.live")?.innerText.includes("first")`)
	if out := eval[string](b, `document.querySelector("pre.live").innerText`); out != "first\n" {
		t.Errorf("the output is %q", out)
	}
	w.touch("go")
	b.shows("Counted.")
	b.clean(w.page)
}

// From a new run to its end by the keyboard alone (promise 15).
func TestByKeyboardAlone(t *testing.T) {
	w := newWorld(t, stories(asks("deploy", "Which environment?", "staging", "production"))).serve()
	b := w.login(open(t))
	b.key("n")
	b.shows("What needs a yes")
	b.press("deploy it please")
	b.tabTo("Folder")
	b.until(`document.activeElement.id === "folder"`)
	eval[any](b, `document.activeElement.select(); 0`)
	b.press(w.folder)
	b.tabTo("Start the run")
	b.press(kb.Enter)
	b.shows("Which environment?")
	b.key("a")
	b.until(`document.activeElement.matches(".ask")`)
	b.press("y", "1") // no single key answers
	b.tabTo("staging")
	b.ready()
	b.press(kb.Enter)
	b.completes()
	b.shows("answered: staging")
	b.clean(w.page)
}

// The list follows what happens, in every tab, by one stream for all of them.
func TestListFollowsByOneStream(t *testing.T) {
	w := newWorld(t, stories(asks("deploy", "Which environment?", "staging"))).serve()
	one := w.login(open(t))
	two := one.beside()
	two.do(chromedp.Navigate(w.page + "/"))
	two.until(`document.getElementById("how").textContent === "connected"`)
	run := w.run("deploy it")
	for _, b := range []*tab{one, two} {
		b.shows("deploy it")
		b.shows("waiting for you")
		b.until(`document.querySelector(".badge")?.innerText === "1"`)
	}
	w.agent("answer", "--detach", pending.FindString(w.agent("pending")), "staging")
	for _, b := range []*tab{one, two} {
		b.until(fmt.Sprintf(`document.querySelector(".row[data-key='%s']").dataset.status === "completed" && !document.querySelector(".badge")`, run))
	}
	streams := 0
	for _, b := range []*tab{one, two} {
		b.mu.Lock()
		for _, r := range b.requests {
			if strings.HasSuffix(r.Request.URL, "/v1/events") {
				streams++
			}
		}
		b.mu.Unlock()
	}
	if streams != 1 {
		t.Errorf("%d streams of the list for two tabs", streams)
	}
	// The tab that reads the stream goes: the other one goes on with it.
	one.do(chromedp.Navigate("about:blank"))
	w.run("deploy another")
	two.shows("deploy another")
	two.clean(w.page)
}
