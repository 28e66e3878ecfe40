package page

import (
	"encoding/json"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// What a run changed is shown on demand, path by path, and so is what the calls of one turn did:
// with the keyboard alone, in a narrow window, light and dark.
func TestDiff(t *testing.T) {
	w := newWorld(t, stories()).serve()
	w.write("notes", "one\n")
	w.agent("run", "--runbook", "```sh\necho '<b>two</b>' >> notes; head -c 9 /dev/zero > zeros\n```\n```sh\necho three >> notes; echo made > made\n```\n")
	var list struct{ Runs []struct{ ID string } }
	if err := json.Unmarshal([]byte(w.agent("ls", "--json")), &list); err != nil || len(list.Runs) != 1 {
		t.Fatalf("%v: %v", list, err)
	}
	b := w.login(open(t))
	b.do(chromedp.EmulateViewport(390, 844))
	b.at(list.Runs[0].ID)
	b.shows("Completed")

	// Of the whole run, by keys.
	b.tabTo("Changes")
	b.press(kb.Enter)
	b.until(`document.querySelectorAll(".changes-card details").length === 3`)
	b.until(`document.activeElement.matches(".changes-card")`)
	b.until(`[...document.querySelectorAll(".changes-card summary")].map((e) => e.innerText).join() === "+made +1 −0,~notes +2 −0,+zeros no text"`)
	b.until(`[...document.querySelectorAll(".changes-card [aria-label='Diff of notes'] .plus")].map((e) => e.innerText.trim()).join() === "+<b>two</b>\n+three"`)
	b.until(`document.querySelector(".changes-card").innerText.includes("by 1.0, 2.0")`)
	if !eval[bool](b, `document.documentElement.scrollWidth <= innerWidth && document.querySelector(".run .scroller").scrollWidth <= innerWidth`) {
		t.Error("the page is wider than its window")
	}
	background := `getComputedStyle(document.querySelector(".changes-card .plus")).backgroundColor`
	scheme := func(name string) string {
		call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return eval[string](b, background)
	}
	if light, dark := scheme("light"), scheme("dark"); light == dark {
		t.Errorf("an added line is %s, light and dark", light)
	}
	b.tabTo("~notes +2 −0")
	b.press(kb.Enter)
	b.until(`[...document.querySelectorAll(".changes-card details")].map((d) => d.open).join() === "true,false,true"`)

	// What changes meanwhile is there once it is asked for again, and the card can be left.
	b.tabTo("Ask again")
	b.press(kb.Enter)
	b.until(`[...document.querySelectorAll(".changes-card details")].map((d) => d.open).join() === "true,true,true"`)
	b.tabTo("Close")
	b.press(kb.Enter)
	b.until(`!document.querySelector(".changes-card")`)

	// Of one call: what its turn did to the paths that it changed.
	b.clickOn("(//summary[contains(., 'shell')])[1]")
	b.click("Show the diff")
	b.until(`[...document.querySelectorAll("[aria-label='Changed in turn 1'] [aria-label='Diff of notes'] .plus")].map((e) => e.innerText.trim()).join() === "+<b>two</b>"`)
	b.until(`document.activeElement.getAttribute("aria-label") === "Changed in turn 1"`)
	b.click("Close")
	b.until(`document.activeElement.innerText === "Show the diff"`)
	b.clean(w.page)
}
