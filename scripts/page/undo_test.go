package page

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func (w *world) holds(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.folder, name))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.folder, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// A run shows what each call changed, and its undo is shown with the reasons before it is done: as
// it was shown, or not at all.
func TestUndo(t *testing.T) {
	w := newWorld(t, stories()).serve()
	w.write("notes", "an hour of work\n")
	w.write("shared", "was\n")
	w.write("<b>odd", "text\n")
	w.agent("run", "--runbook", "```sh\nrm notes '<b>odd'; echo made > made; echo call >> shared\n```\n")
	var list struct{ Runs []struct{ ID string } }
	if err := json.Unmarshal([]byte(w.agent("ls", "--json")), &list); err != nil || len(list.Runs) != 1 {
		t.Fatalf("%v: %v", list, err)
	}
	run := list.Runs[0].ID
	w.write("shared", "mine\n")

	b := w.login(open(t))
	b.at(run)
	b.shows("4 paths changed")
	b.until(`document.querySelector(".call-about.changed").innerText === "changed -<b>odd +made and 2 more"`)
	b.clickOn("//summary[contains(., 'shell')]")
	b.until(`[...document.querySelectorAll(".changes li")].map((e) => e.innerText).join() === "-<b>odd,+made,-notes,~shared"`)

	b.click("Undo…")
	b.until(`document.querySelectorAll(".undo [data-kind=restore] li").length === 2`)
	b.shows("removed while call 1.0 of " + run + " ran")
	b.until(`document.querySelector(".undo [data-kind=remove]").innerText.includes("made")`)
	b.until(`document.querySelector(".undo [data-kind=yours] input").checked === false`)
	b.click("Leave it")
	b.until(`!document.querySelector(".undo")`)
	if w.holds("notes") != "" || w.holds("made") == "" {
		t.Error("something was done without a yes")
	}

	// A file that changes while the plan is looked at: nothing is done, and the new plan is shown.
	b.click("Undo…")
	b.shows("Take it back")
	w.write("made", "more\n")
	b.click("Take it back")
	b.shows("Something changed meanwhile")
	b.until(`document.querySelectorAll(".undo [data-kind=yours] li").length === 2`)
	if w.holds("notes") != "" {
		t.Error("a plan was carried out that nobody was shown")
	}
	b.clickOn("//label[contains(., 'shared')]/input")
	b.until(`document.querySelector(".undo [data-kind=yours]").innerText.includes("shared") && [...document.querySelectorAll(".undo input")].filter((i) => i.checked).length === 1`)
	b.click("Take it back")
	b.until(`location.hash !== "#` + run + `"`)
	b.shows("3 paths given back")
	for name, want := range map[string]string{"notes": "an hour of work\n", "shared": "was\n", "made": "more\n", "<b>odd": "text\n"} {
		if got := w.holds(name); got != want {
			t.Errorf("%s holds %q", name, got)
		}
	}
	b.clean(w.page)
}
