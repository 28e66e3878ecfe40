package workspace

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/db"
	"agent/db/dbtest"
	"agent/host/drive"
	"agent/recovery/journal"
	"agent/tools"
)

// bench is a state folder, a workspace, and a run that works in it.
type bench struct {
	*testing.T
	k      *Keeper
	folder string
	runs   map[string]*worker
}

// worker is one run, as its driver has it.
type worker struct {
	created journal.RunCreated
	head    db.Head
	turn    int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	home := filepath.Join(t.TempDir(), "state")
	store, err := db.Open(t.Context(), home, db.Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	reg, err := tools.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	p := &drive.Process{Store: store, Home: home, Now: time.Now, Env: drive.Env{Tools: reg}}
	b := &bench{T: t, k: &Keeper{Process: p}, folder: filepath.Join(t.TempDir(), "w"), runs: map[string]*worker{}}
	if err := os.Mkdir(b.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.end() })
	return b
}

// killed is the keeper of another process, which knows what is durable alone.
func (b *bench) killed() {
	b.end()
	b.k = &Keeper{Process: b.k.Process, Homes: b.k.Homes, MaxBytes: b.k.MaxBytes, MaxPinned: b.k.MaxPinned}
}

func (b *bench) end() {
	for _, t := range b.k.trackers {
		t.close()
	}
}

// run finds a run, and makes it the first time; one with a parent is below it.
func (b *bench) run(name, parent string) *worker {
	b.Helper()
	if w := b.runs[name]; w != nil {
		return w
	}
	var above *dbtest.Above
	if parent != "" {
		above = &dbtest.Above{Parent: parent, Root: parent, Thread: "t-" + parent[2:], Role: "helper"}
	}
	facts := dbtest.Child(name, "t-"+name[2:], above)
	c := facts[0].Body.(journal.RunCreated)
	c.Folder = b.folder
	facts[0].Body = c
	head, err := b.k.Process.Store.Create(b.Context(), db.ThreadRef{ID: c.Thread, Folder: c.Folder, New: true}, facts)
	if err != nil {
		b.Fatal(err)
	}
	w := &worker{created: c, head: head, turn: 1}
	b.runs[name] = w
	return w
}

func (b *bench) append(w *worker, found drive.Found, facts ...journal.Event) {
	b.Helper()
	var err error
	if w.head, err = b.k.Process.Store.Append(b.Context(), w.head, facts, db.AppendOptions{Kept: found.Kept}); err != nil {
		b.Fatal(err)
	}
}

// start looks before a call, and records its start.
func (b *bench) start(w *worker, paths ...string) []journal.Body {
	b.Helper()
	found, err := b.k.Before(b.Context(), w.call(paths))
	if err != nil {
		b.Fatal(err)
	}
	a, _ := dbtest.Turn(w.turn, fmt.Sprintf("c-%08d", w.turn), "done")
	facts := append(a[:1:1], dbtest.InTurn(w.turn, found.Facts...)...)
	b.append(w, found, append(facts, a[1:]...)...)
	return found.Facts
}

// settle looks after it, and records its result.
func (b *bench) settle(w *worker, paths ...string) []journal.Body {
	b.Helper()
	found := b.k.After(b.Context(), w.call(paths), nil)
	_, s := dbtest.Turn(w.turn, fmt.Sprintf("c-%08d", w.turn), "done")
	facts := append(s[:1:1], dbtest.InTurn(w.turn, found.Facts...)...)
	b.append(w, found, append(facts, s[1:]...)...)
	w.turn++
	return found.Facts
}

func (w *worker) call(paths []string) drive.FilesCall {
	return drive.FilesCall{Created: w.created, Place: journal.Place{Turn: w.turn, Attempt: 1}, Paths: paths}
}

// during has a run change files by a call, and says what was found of it.
func (b *bench) during(w *worker, script string, paths ...string) []journal.Body {
	b.Helper()
	b.start(w, paths...)
	b.sh(script)
	return b.settle(w, paths...)
}

func (b *bench) sh(script string) {
	b.Helper()
	c := exec.CommandContext(b.Context(), "sh", "-e", "-c", script)
	c.Dir = b.folder
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(b.folder), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// repository makes the workspace one, with files that are not young to git.
func (b *bench) repository(script string) {
	b.Helper()
	b.sh("git init -q -b main .; git config user.name Ada; git config user.email ada@example.org\n" + script +
		"\ngit add .; git commit -q -m one; git ls-files -z | xargs -0 touch -h -d 2001-01-01; git update-index -q --refresh")
}

// changed says in a few words what facts say of paths: one line a path, with its proof.
func changed(facts []journal.Body) string {
	var out []string
	for _, f := range facts {
		c, ok := f.(journal.FilesChanged)
		if !ok {
			continue
		}
		for _, one := range c.Changes {
			out = append(out, fmt.Sprintf("%s %s %s -> %s", one.Proof, one.Name(), inWords(one.Before), inWords(one.After)))
		}
	}
	return strings.Join(out, "\n")
}

func inWords(v *journal.FileVersion) string {
	switch {
	case v == nil:
		return "-"
	case v.Lost != "":
		return string(v.Lost)
	case v.Kind == journal.FileLink:
		return "link " + string(v.Link)
	case v.Kind != journal.FileRegular:
		return string(v.Kind)
	}
	return fmt.Sprintf("%o", v.Mode)
}

// expect compares what was found, whose lines are sorted.
func (b *bench) expect(facts []journal.Body, lines ...string) {
	b.Helper()
	got := strings.Split(changed(facts), "\n")
	slices.Sort(got)
	slices.Sort(lines)
	if want := strings.Join(lines, "\n"); strings.Join(got, "\n") != want {
		b.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.ReplaceAll(want, "\n", "\n\t"))
	}
}

// before has each change of the facts say what was there: its content can be given back.
func (b *bench) before(facts []journal.Body, want map[string]string) {
	b.Helper()
	contents, err := NewContents(b.k.Process, b.folder)
	if err != nil {
		b.Fatal(err)
	}
	defer contents.Close()
	got := map[string]string{}
	for _, f := range facts {
		c, ok := f.(journal.FilesChanged)
		if !ok {
			continue
		}
		for _, one := range c.Changes {
			if one.Before == nil || one.Before.Kind != journal.FileRegular {
				continue
			}
			content, err := contents.Content(context.Background(), one.Before)
			if err != nil {
				content = []byte(err.Error())
			}
			got[one.Name()] = string(content)
		}
	}
	if !maps.Equal(got, want) {
		b.Errorf("what was there before: %q, wanted %q", got, want)
	}
}

func baseOf(t *testing.T, facts []journal.Body) journal.FilesBase {
	t.Helper()
	for _, f := range facts {
		if base, ok := f.(journal.FilesBase); ok {
			return base
		}
	}
	t.Fatalf("no base: %+v", facts)
	return journal.FilesBase{}
}
