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

// counted is a story whose command leaves a line in the file effect, and then goes on until there is
// a file go.
func counted(prompt string, more ...modeltest.Turn) modeltest.Story {
	turn := modeltest.Turn{Text: "I do it.", Calls: []modeltest.Call{shell("echo did >> effect; while [ ! -e go ]; do sleep 0.05; done")}}
	return modeltest.Story{Prompt: prompt, Turns: append(append([]modeltest.Turn{turn}, more...), says("That is done now."))}
}

// effects says how often the command of a counted story was executed.
func (w *world) effects() int {
	text, _ := os.ReadFile(filepath.Join(w.folder, "effect")) // without it: never
	return bytes.Count(text, []byte("did\n"))
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

// What a resume would do is shown, and then done: the command that outlived its driver is picked up,
// not executed again.
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
	w.touch("go")
	b.shows("That is done now.")
	b.shows("Completed")
	b.until(`document.querySelector(".call-end")?.innerText.startsWith("ok, picked up")`)
	if n := w.effects(); n != 1 {
		t.Errorf("the command was executed %d times", n)
	}
	b.clean(w.page)
}

// Another process took the run meanwhile: the page says which, and takes it over when it is told to.
func TestTakeOver(t *testing.T) {
	w := newWorld(t, stories(counted("do it"))).serve("--recover", "none")
	run := w.interrupted("do it once")
	b := w.login(open(t))
	b.at(run)
	b.shows("The process that drove it died.")
	b.hide() // so it does not hear of the other one
	w.agent("resume", "--detach", run)
	first := w.owner(run)
	b.click("Resume")
	b.shows("Another process drives it")
	b.shows(fmt.Sprintf("process %d", first))
	if now := w.owner(run); now != first {
		t.Errorf("process %d drives it, then %d", first, now)
	}
	b.show()
	b.click("Take it over")
	b.until(`!document.body.innerText.includes("Another process drives it")`)
	w.eventually("another process drives it", func() bool { pid := w.owner(run); return pid != 0 && pid != first })
	w.eventually("the first has ended", func() bool { return !living(first) })
	w.touch("go")
	b.shows("That is done now.")
	b.shows("Completed")
	if n := w.effects(); n != 1 {
		t.Errorf("the command was executed %d times", n)
	}
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
	if n := w.effects(); n != 1 {
		w.t.Errorf("the command was executed %d times", n)
	}
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

// A person knows that a call took place: that is on record, and the same call is not executed again.
func TestItHappened(t *testing.T) {
	w := newWorld(t, twice()).serve("--recover", "none")
	b := open(t)
	run := w.unknown(b)
	b.click("It happened")
	b.until(`!document.body.innerText.includes("Did this happen?")`)
	b.shows("decided: happened")
	b.shows("That is done now.")
	b.shows("Completed")
	if n := w.effects(); n != 1 {
		t.Errorf("the command was executed %d times", n)
	}
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
	b.shows("That is done now.")
	b.shows("Completed")
	if n := w.effects(); n != 2 {
		t.Errorf("the command was executed %d times", n)
	}
	b.clean(w.page)
}

// An answer that nobody takes yet is kept, and the page says so until it is taken.
func TestAnswerIsKept(t *testing.T) {
	w := newWorld(t, stories(asks("deploy", "Which environment?", "staging", "production"))).serve()
	run := w.run("deploy it")
	w.eventually("it waits", func() bool { return w.status(run) == "waiting" })
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

// The database is put back from a copy while a page shows what came after: its place is refused, and
// the page reads the run anew and says why.
func TestHistoryReplaced(t *testing.T) {
	ask := asks("deploy", "Which environment?", "staging", "production").Turns[0]
	second := asks("", "At which time?", "now", "tonight").Turns[0]
	w := newWorld(t, stories(modeltest.Story{Prompt: "deploy", Turns: []modeltest.Turn{ask, second, says("That is done now.")}})).serve("--recover", "none")
	run := w.run("deploy it")
	w.eventually("it waits", func() bool { return w.status(run) == "waiting" })
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
	b.shows("The database was put back from a copy, so this run was read anew.")
	b.shows("Which environment?")
	if text := eval[string](b, `document.querySelector(".run").innerText`); strings.Contains(text, "At which time?") || strings.Contains(text, "answered: staging") {
		t.Errorf("the page shows what was before:\n%s", text)
	}
	b.until(`document.getElementById("how").textContent === "connected"`)
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

// A newer agent brings the database up to date: the server ends, and the page says why and what to do.
func TestNewerAgent(t *testing.T) {
	w := newWorld(t, stories(asks("deploy", "Which environment?", "staging"))).serve()
	run := w.run("deploy it")
	w.eventually("it waits", func() bool { return w.status(run) == "waiting" })
	b := w.login(open(t))
	b.at(run)
	b.shows("Which environment?")
	db, err := sql.Open("sqlite", filepath.Join(w.home, "agent.db")+"?_pragma=busy_timeout(20000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() // what it wrote is committed
	var was int
	if err := db.QueryRow("PRAGMA user_version").Scan(&was); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(fmt.Sprintf("PRAGMA user_version = %d", was+1)); err != nil {
		t.Fatal(err)
	}
	b.shows("A newer agent has brought the database up to date")
	b.shows("agent serve")
	b.until(`document.getElementById("how").textContent === "offline"`)
	b.shows("A newer agent has brought the database up to date") // and not only that nobody answers
	b.lacks("The server does not answer")
	if err := w.server.Wait(); err == nil || w.server.ProcessState.ExitCode() != 1 {
		t.Errorf("the server ended: %v", err)
	}
	w.server = nil
	// It is started again, here the one of before, and the page is as it was.
	if _, err := db.Exec(fmt.Sprintf("PRAGMA user_version = %d; PRAGMA wal_checkpoint(TRUNCATE)", was)); err != nil {
		t.Fatal(err)
	}
	w.serve()
	b.shows("No session")
	b.lacks("A newer agent")
	w.login(b.beside())
	b.shows("Which environment?")
	b.clean(w.page)
}
