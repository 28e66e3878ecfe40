package page

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"modernc.org/sqlite"

	"agent/host/model/modeltest"
)

// counted is a story whose command leaves a line in the file effect, and then goes on until there
// is a file go.
func counted(prompt string, more ...modeltest.Turn) modeltest.Story {
	turn := modeltest.Turn{Text: "I do it.", Calls: []modeltest.Call{shell("echo did >> effect; while [ ! -e go ]; do sleep 0.05; done")}}
	return modeltest.Story{Prompt: prompt, Turns: append(append([]modeltest.Turn{turn}, more...), says("That is done now."))}
}

// effects says how often the command of a counted story was executed.
func (w *world) effects() int {
	text, _ := os.ReadFile(filepath.Join(w.folder, "effect")) // without it: never
	return bytes.Count(text, []byte("did\n"))
}

// executed wants the command of a counted story to have been executed so many times.
func (w *world) executed(times int) {
	w.t.Helper()
	if n := w.effects(); n != times {
		w.t.Errorf("the command was executed %d times, want %d", n, times)
	}
}

// owner is the process that drives a run; 0 where none does.
func (w *world) owner(run string) int {
	_, v := w.ask("GET", "/v1/runs/"+run, nil)
	r, _ := v["run"].(map[string]any)
	o, _ := r["owner"].(map[string]any)
	pid, _ := o["pid"].(float64)
	return int(pid)
}

// killed ends processes of this world, and waits until they are gone.
func (w *world) killed(pids ...int) {
	w.t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			w.t.Fatal(err)
		}
		w.eventually(fmt.Sprintf("process %d is gone", pid), func() bool { return !living(pid) })
	}
}

func living(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, ok := strings.Cut(string(stat), ") ")
	return err == nil && ok && !strings.HasPrefix(rest, "Z")
}

// runners are the processes that execute this world's commands, beside whoever drives their runs.
func (w *world) runners() []int {
	w.t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		w.t.Fatal(err)
	}
	var pids []int
	for _, path := range paths {
		words, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(words, []byte("\x00__runner\x00")) {
			continue // gone meanwhile, or another
		}
		env, err := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		if err != nil || !bytes.Contains(append(env, words...), []byte(w.dir+"/")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// interrupted has a run of a counted story begin and its driver die; the command goes on.
func (w *world) interrupted(prompt string) (run string) {
	w.t.Helper()
	run = w.run(prompt, "--mode", "yolo")
	w.eventually("the command runs", func() bool { return w.effects() == 1 })
	w.killed(w.owner(run))
	w.eventually("it is interrupted", func() bool { return w.status(run) == "interrupted" })
	return run
}

// hide has the page be in a tab that nobody looks at, and show brings it back.
func (b *tab) hide() {
	b.t.Helper()
	b.look("hidden")
}

func (b *tab) show() {
	b.t.Helper()
	b.look("visible")
}

func (b *tab) look(how string) {
	b.t.Helper()
	eval[any](b, fmt.Sprintf(`(() => { Object.defineProperty(document, "visibilityState", { configurable: true, get: () => %q }); document.dispatchEvent(new Event("visibilitychange")); return 0; })()`, how))
}

// unaware has the page hear nothing more of the run that it shows, until the function that it
// returns is called. To be hidden is not enough: after a fact the page reads the run again, also
// where nobody looks any more. What it had begun to read is here when unaware returns.
func (w *world) unaware(b *tab, run string) (hear func()) {
	w.t.Helper()
	reads := func(path string) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, url := range b.unread {
			if strings.Contains(url, run+path) {
				return true
			}
		}
		return false
	}
	w.eventually("the page follows run "+run, func() bool { return reads("/events") })
	b.hide()
	eval[any](b, `(() => {
		const all = window.fetch;
		window.hear = () => { window.fetch = all; };
		window.fetch = (path, o) => o.method === "GET" ? Promise.reject(new TypeError("not heard")) : all(path, o);
		return 0;
	})()`)
	w.eventually("the page reads nothing of run "+run, func() bool { return !reads("") })
	return func() {
		w.t.Helper()
		eval[any](b, "window.hear(); 0")
		b.show()
	}
}

// What a resume would do is shown, and then done: the command that outlived its driver is picked
// up, not executed again.
func TestResumeDoesWhatItsPlanSays(t *testing.T) {
	w := newWorld(t, stories(counted("do it"))).serve("--recover", "none")
	run := w.interrupted("do it once")
	b := w.login(open(t))
	b.at(run)
	b.shows("The process that drove it died.")
	b.click("Show what a resume would do")
	b.until(`/echo did.*picked up, still running/s.test(document.querySelector(".plan")?.innerText)`)
	if s := w.status(run); s != "interrupted" {
		t.Errorf("the run is %s after it was asked what a resume would do", s)
	}
	b.click("Resume")
	b.until(`document.querySelector(".pill").innerText === "running"`)
	// It is running from its claim on, before anything is decided about the call.
	w.eventually("the command is picked up", func() bool { return strings.Contains(w.agent("show", run, "--json"), `"verdict":"attach"`) })
	w.touch("go")
	b.completes()
	b.until(`document.querySelector(".call-end")?.innerText.startsWith("ok, picked up")`)
	w.executed(1)
	b.clean(w.page)
}

// Another process took the run meanwhile: the page says which, and takes it over when asked.
func TestTakeOver(t *testing.T) {
	w := newWorld(t, stories(counted("do it"))).serve("--recover", "none")
	run := w.interrupted("do it once")
	b := w.login(open(t))
	b.at(run)
	b.shows("The process that drove it died.")
	hear := w.unaware(b, run)
	w.agent("resume", "--detach", run)
	first := w.owner(run)
	b.click("Resume")
	b.shows("Another process drives it")
	b.shows(fmt.Sprintf("process %d", first))
	if now := w.owner(run); now != first {
		t.Errorf("process %d drives it, then %d", first, now)
	}
	hear()
	b.click("Take it over")
	b.until(`!document.body.innerText.includes("Another process drives it")`)
	w.eventually("another process drives it", func() bool { pid := w.owner(run); return pid != 0 && pid != first })
	w.eventually("the first has ended", func() bool { return !living(first) })
	w.touch("go")
	b.completes()
	w.executed(1)
	b.clean(w.page)
}

// unknown has a run of a counted story end up with a call of which no record says whether it took
// place, and goes on with it: the model asks for the same once more.
func (w *world) unknown(b *tab) (run string) {
	w.t.Helper()
	run = w.run("do it twice", "--mode", "yolo")
	w.eventually("the command runs", func() bool { return w.effects() == 1 })
	w.killed(append([]int{w.owner(run)}, w.runners()...)...)
	w.login(b)
	b.at(run)
	b.shows("The process that drove it died.")
	b.click("Show what a resume would do")
	b.until(`document.querySelector(".plan")?.innerText.includes("outcome unknown, not executed again")`)
	b.click("Resume")
	b.shows("Did this happen?")
	b.shows("This may have happened already")
	b.ready()
	w.executed(1)
	return run
}

func twice() modeltest.Script {
	again := counted("", modeltest.Turn{}).Turns[0]
	again.Text = "I do it once more."
	return stories(counted("do it", again))
}

func (w *world) numUnknown(run string) any {
	_, v := w.ask("GET", "/v1/runs/"+run, nil)
	r, _ := v["run"].(map[string]any)
	return r["num_unknown"]
}

// A person knows that a call took place: that is on record, and it is not executed again.
func TestItHappened(t *testing.T) {
	w := newWorld(t, twice()).serve("--recover", "none")
	b := open(t)
	run := w.unknown(b)
	b.click("It happened")
	b.until(`!document.body.innerText.includes("Did this happen?")`)
	b.shows("decided: happened")
	b.completes()
	w.executed(1)
	if n := w.numUnknown(run); n != 0.0 {
		t.Errorf("%v outcomes are unknown", n)
	}
	b.clean(w.page)
}

// A person leaves open whether a call took place: that is on record too, its outcome stays unknown,
// and the same call is executed only because a person says so.
func TestLeaveItUnknown(t *testing.T) {
	w := newWorld(t, twice()).serve("--recover", "none")
	b := open(t)
	run := w.unknown(b)
	b.click("Leave it unknown")
	b.until(`!document.body.innerText.includes("Did this happen?")`)
	b.shows("decided: leave")
	if s := w.status(run); s != "waiting" || w.effects() != 1 {
		t.Errorf("the run is %s; the command was executed %d times", s, w.effects())
	}
	b.ready()
	w.touch("go")
	b.click("run")
	b.completes()
	w.executed(2)
	b.clean(w.page)
}

// An answer that nobody takes yet is kept, and the page says so until it is taken.
func TestAnswerIsKept(t *testing.T) {
	w := newWorld(t, stories(asks("deploy", "Which environment?", "staging", "production"))).serve()
	run := w.waiting("deploy it")
	b := w.login(open(t))
	b.at(run)
	b.ready()
	driver := w.owner(run)
	if err := syscall.Kill(driver, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	b.click("staging")
	b.shows("staging")
	b.shows("The run takes the answer when it goes on.")
	b.do(chromedp.Reload())
	b.shows("The run takes the answer when it goes on.")
	if err := syscall.Kill(driver, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.shows("That is done now.")
	b.shows("answered: staging")
	b.clean(w.page)
}

// The database is put back from a copy while a page shows what came after: its place is refused,
// and the page reads the run again and says why. The run goes on once a person has decided about
// that.
func TestHistoryReplaced(t *testing.T) {
	ask := asks("deploy", "Which environment?", "staging", "production").Turns[0]
	second := asks("", "At which time?", "now", "tonight").Turns[0]
	w := newWorld(t, stories(modeltest.Story{Prompt: "deploy", Turns: []modeltest.Turn{ask, second, says("That is done now.")}})).serve("--recover", "none")
	run := w.waiting("deploy it")
	w.killed(w.owner(run))
	restore := w.copied()
	b := w.login(open(t))
	b.at(run)
	b.ready()
	b.click("staging")
	b.shows("At which time?")
	b.hide()
	w.killed(w.owner(run))
	restore()
	b.show()
	b.shows("The database was put back from a copy, so this run was read again.")
	b.shows("Which environment?")
	if text := eval[string](b, `document.querySelector(".run").innerText`); strings.Contains(text, "At which time?") || strings.Contains(text, "answered: staging") {
		t.Errorf("the page shows what was before:\n%s", text)
	}
	b.until(`document.getElementById("how").textContent === "connected"`)
	b.ready()
	b.click("staging") // nothing goes on until a person has decided
	b.shows("the database is older than the folder around it")
	b.shows("agent restore --here")
	w.agent("restore", "--here", "--yes")
	b.shows("Its database went back in time.")
	b.click("Resume")
	b.until(`document.querySelector(".pill").dataset.status === "waiting"`)
	b.ready()
	b.click("staging")
	b.shows("At which time?")
	b.clean(w.page)
}

// copied makes a copy of the database as it is, and returns what puts it back.
func (w *world) copied() (restore func()) {
	w.t.Helper()
	file, ctx := filepath.Join(w.dir, "copy.db"), context.Background()
	db, err := sql.Open("sqlite", filepath.Join(w.home, "agent.db")+"?_pragma=busy_timeout(20000)")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = db.Close() }) // it was only read, or is whole again
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", file); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		w.t.Helper()
		c, err := db.Conn(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		defer c.Close() // the copy is committed
		if err := c.Raw(func(conn any) error {
			b, err := conn.(interface {
				NewRestore(string) (*sqlite.Backup, error)
			}).NewRestore(file)
			if err != nil {
				return err
			}
			_, err = b.Step(-1)
			return errors.Join(err, b.Finish())
		}); err != nil {
			w.t.Fatalf("put the database back: %v", err)
		}
	}
}
