package serve

import (
	"slices"
	"testing"

	"agent/host/launch"
)

const (
	rewindJSON = `{"version":1,"to":"r-00000001@0","thread_id":"t-00000001","folder":"/w","digest":"d1","runs":["r-00000001"],"num_turns":2,"commits":[],` +
		`"restore":[{"path":"a","run_id":"r-00000001","place":"1.0","proof":"while","text":"changed while call 1.0 of r-00000001 ran"}],"remove":[],` +
		`"yours":[{"path":"b","run_id":"r-00000001","since_at":"2026-11-25T08:00:00Z","text":"it was changed by nobody's call"}],"git":[],` +
		`"left_out":[{"path":"c","run_id":"r-00000001","reason":"too_large","text":"what it was is not kept"}],` +
		`"git_moves":[{"from":"main","to":"other","back":"git switch main"}],` +
		`"stands":[{"run_id":"r-00000001","call_id":"c-00000001","place":"1.0","tool":"shell","words":"git push","unknown":true}],"notes":["n"],"conversation":true}`
	changedJSON = `{"version":1,"run_id":"","reused":false,"submitted":false,"status":"refused","exit_code":1,"code":"plan_changed",` +
		`"error":"rewind to r-00000001@0: it is not as it was planned","next":["agent rewind --dry-run r-00000001@0"],"plan":` + rewindJSON + `}`
)

// A rewind is planned, and carried out as it was shown, by processes of their own.
func TestRewind(t *testing.T) {
	w := newWorld(t)
	w.folder.Who = "anna"
	l := &launcher{do: func(launch.Job) (launch.Answer, error) {
		return launch.Answer{Ended: &launch.Ended{Out: rewindJSON}}, nil
	}}
	w.carrier = l
	w.serve()
	run := w.run("r-00000001", "p")
	path := "/v1/runs/" + run + "/rewind"
	args := func(want ...string) {
		t.Helper()
		if got := l.jobs[len(l.jobs)-1].Args; !slices.Equal(got, want) {
			t.Errorf("its process was started with %q, not %q", got, want)
		}
	}
	if a := w.ask("GET", path, ""); a.status != 200 || a.json(t, "digest") != "d1" {
		t.Errorf("%d %s", a.status, a.text)
	}
	args("rewind", "--json", "--dry-run", "--", run+"@0")
	if a := w.ask("GET", path+"?turn=2&only=files&overwrite=b&overwrite=--yes", ""); a.status != 200 {
		t.Errorf("%d %s", a.status, a.text)
	}
	args("rewind", "--json", "--dry-run", "--only=files", "--overwrite=b", "--overwrite=--yes", "--", run+"@2")
	for query, code := range map[string]string{"?turn=-1": "parameter", "?turn=1&turn=2": "parameter", "?x=1": "parameter", "?only=all": "parameter", "?overwrite=%ff": "parameter", "?a;b": "parameter"} {
		w.refused(w.ask("GET", path+query, ""), 400, code)
	}
	w.refused(w.ask("GET", "/v1/runs/r-0000000z/rewind", ""), 404, "not_found")

	// There is nothing to be done: no run is made.
	w.refused(w.ask("POST", path, `{"digest":"d1","only":"files"}`), 422, "refused")
	l.do = func(job launch.Job) (launch.Answer, error) {
		w.record(job, "")
		return launch.Answer{Accepted: &launch.Accepted{Run: job.Run}}, nil
	}
	a := w.ask("POST", path, `{"turn":1,"overwrite":["b"],"digest":"d1"}`)
	made := l.jobs[len(l.jobs)-1]
	if a.status != 201 || a.json(t, "run_id") != made.Run || a.header.Get("Location") != "/v1/runs/"+made.Run || made.By != "anna (api)" {
		t.Errorf("%d %s, by %q", a.status, a.text, made.By)
	}
	args("rewind", "--json", "--yes", "--digest=d1", "--overwrite=b", "--", run+"@1")

	// It is not as it was shown: the refusal has what it is now.
	l.do = func(launch.Job) (launch.Answer, error) {
		return launch.Answer{Ended: &launch.Ended{Code: 1, Out: changedJSON}}, nil
	}
	a = w.ask("POST", path, `{"digest":"d0"}`)
	w.refused(a, 409, "plan_changed")
	if a.json(t, "plan digest") != "d1" {
		t.Error(a.text)
	}
	before := len(l.jobs)
	for _, body := range []string{`{}`, `{"digest":"d1","turn":1.5}`, `{"digest":"d1","only":"all"}`} {
		w.refused(w.ask("POST", path, body), 422, "shape")
	}
	w.refused(w.ask("POST", "/v1/runs/r-0000000z/rewind", `{"digest":"d1"}`), 404, "not_found")
	if len(l.jobs) != before {
		t.Error("a process was started for what is refused")
	}
}
