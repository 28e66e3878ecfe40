package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/host/watch"
	"agent/recovery/journal"
)

// follow reads a stream of the list until a run stands as it should, and returns how often that run
// came.
func (o *opened) follow(t *testing.T, id string, stands func(run map[string]any) bool) int {
	t.Helper()
	for n := 0; ; {
		events := o.until(watch.TypeRuns)
		last := events[len(events)-1]
		var line struct {
			Data struct {
				Runs []map[string]any `json:"runs"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(last.data), &line); err != nil || last.id != "" {
			t.Fatalf("%q %s: %v", last.id, last.data, err)
		}
		for _, run := range line.Data.Runs {
			if run["id"] != id {
				continue
			}
			if n++; stands(run) {
				return n
			}
		}
	}
}

func status(want string) func(map[string]any) bool {
	return func(run map[string]any) bool { return run["status"] == want }
}

// The stream of the list begins with how the server stands; then every run comes that changed, as
// it is now, also the owner that it lost or found, to all who observe it.
func TestListStream(t *testing.T) {
	w := newWorld(t).serve()
	old := w.run("r-00000001", "p")
	w.hold(old)
	one, a := w.stream("/v1/events")
	if a.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(a.Status)
	}
	if first := one.until(watch.TypeServer); len(first) != 1 || !strings.Contains(first[0].data, fmt.Sprintf(`"pid":%d`, os.Getpid())) {
		t.Fatalf("%v", first)
	}
	two, _ := w.stream("/v1/events")
	two.until(watch.TypeServer)
	run := w.run("r-00000002", "new one")
	release := w.hold(run)
	for _, o := range []*opened{one, two} {
		o.follow(t, run, func(r map[string]any) bool { return r["status"] == "running" && r["prompt"] == "new one" })
	}
	w.question(run, never)
	one.follow(t, run, func(r map[string]any) bool { return r["pending_request"] != nil })
	w.add(run, journal.Event{Body: journal.RunInterrupted{Cause: journal.CauseShutdown}})
	one.follow(t, run, status("interrupted"))
	two.follow(t, run, status("interrupted")) // it was slower, and came to the same
	release()
	two.close()
	w.complete(old, 1)
	one.follow(t, old, status("completed"))
	one.close()
	three, _ := w.stream("/v1/events") // what was before is not new to it
	three.until(watch.TypeServer)
	last := w.run("r-00000003", "p")
	if n := three.follow(t, last, func(r map[string]any) bool { return true }); n != 1 {
		t.Error(n)
	}
	w.stop()
	three.until("") // the server's end is the stream's
}

// Who is behind what is kept has to begin again: the stream ends.
func TestListForgets(t *testing.T) {
	w := newWorld(t).serve()
	l := &w.s.list
	at, leave, err := l.join(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	runs := map[string]json.RawMessage{}
	for i := range mostChanged {
		runs[fmt.Sprint(i)] = json.RawMessage("1")
	}
	l.take(t.Context(), runs)
	if got, now, news := l.after(at); len(got) != mostChanged || now != at+mostChanged || news == nil {
		t.Fatalf("%d to %d", len(got), now)
	}
	l.take(t.Context(), map[string]json.RawMessage{"more": json.RawMessage("2")})
	if _, _, news := l.after(at); news != nil {
		t.Error("a gap goes unnoticed")
	}
}

// A new run is offered the folders of others, the latest first, that are still there.
func TestFolders(t *testing.T) {
	w := newWorld(t)
	first, second := t.TempDir(), t.TempDir()
	for i, folder := range []string{first, filepath.Join(first, "gone"), second, first} {
		id := fmt.Sprintf("r-%08d", i)
		err := w.journals.Begin(t.Context(), id, "t"+id[1:],
			journal.Event{Body: journal.RunCreated{Run: id, Thread: "t" + id[1:], Prompt: "p", Folder: folder, Model: "m", Mode: journal.ModeAsk}})
		if err != nil {
			t.Fatal(err)
		}
	}
	w.serve()
	a := w.ask("GET", "/v1/folders", "")
	var v struct {
		Folders []struct {
			Folder string `json:"folder"`
		} `json:"folders"`
	}
	if err := json.Unmarshal([]byte(a.text), &v); err != nil || fmt.Sprint(v.Folders) != fmt.Sprintf("[{%s} {%s}]", first, second) {
		t.Errorf("%v %s", err, a.text)
	}
}

// A look at the runs that ends once all observers have left changes nothing: another list may have
// begun meanwhile, for others.
func TestListOfBefore(t *testing.T) {
	l := &list{runs: map[string]changed{}, news: make(chan struct{})}
	news, runs := l.news, map[string]json.RawMessage{"r-00000001": json.RawMessage(`{}`)}
	over, stop := context.WithCancel(t.Context())
	stop()
	if l.take(over, runs) || l.number != 0 || len(l.runs) != 0 || l.news != news {
		t.Errorf("a list of before took %v", l.runs)
	}
	if !l.take(t.Context(), runs) || l.number != 1 || len(l.runs) != 1 {
		t.Errorf("the list took %v", l.runs)
	}
}

// The models are those of a new run in the folder, with the reason.
func TestModels(t *testing.T) {
	w := newWorld(t).serve()
	dir := t.TempDir()
	if a := w.ask("GET", "/v1/models?folder="+dir, ""); a.status != 200 || !strings.Contains(a.text, `"would_use":{"model":`) || !strings.Contains(a.text, `"usable":`) {
		t.Errorf("%d %s", a.status, a.text)
	}
	if err := os.MkdirAll(filepath.Join(dir, ".agent"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".agent", "config.toml"), []byte("= no"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.refused(w.ask("GET", "/v1/models?folder="+dir, ""), 422, "refused")
	w.refused(w.ask("GET", "/v1/models?folder=here", ""), 400, "parameter")
}
