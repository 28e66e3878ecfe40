package serve

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"agent/host/input"
	"agent/host/launch"
	"agent/recovery/journal"
)

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// accepting is a server whose processes begin every run.
func accepting(t *testing.T) (*world, *launcher) {
	w := newWorld(t)
	l := &launcher{do: func(job launch.Job) (launch.Answer, error) {
		w.record(job, "")
		return launch.Answer{Accepted: &launch.Accepted{Run: job.Run}}, nil
	}}
	w.carrier = l
	return w.serve(), l
}

// What cannot be taken as it was written is refused by name, and nothing is started: no character
// is replaced, no field is guessed.
func TestStartRefusesWhatItWouldChange(t *testing.T) {
	w, l := accepting(t)
	with := func(field string) string { return `{"prompt":"p","folder":"/",` + field + `}` }
	for body, want := range map[string]string{
		"{\"prompt\":\"caf\xe9\",\"folder\":\"/\"}":            `400 json: read the body: it is not valid UTF-8, at byte 15`,
		`{"prompt":"a\ud800","folder":"/"}`:                    `400 json: read the body: the field "prompt" has half of a character at byte 13: \ud800`,
		`{"prompt":{"a":1},"folder":"/"}`:                      `400 json: read the body: the field "prompt" wants a text, and is an object`,
		`{"prompt":"a","folder":"/","prompt":"b"}`:             `400 json: read the body: the field "prompt" stands twice`,
		`{"Prompt":"a","folder":"/"}`:                          `400 json: read the body: there is no field "Prompt" here: there are prompt, folder, thread,`,
		`[]`:                                                   `400 json: read the body: it is a list, and is to be an object`,
		`prompt=a`:                                             `400 json: read the body: it is no JSON: at byte 1: `,
		with(`"max_turns":"7"`):                                `400 json: read the body: the field "max_turns" wants a number, and is a text`,
		with(`"max_turns":1.5`):                                `422 shape: max_turns: a whole number from 0, which is no limit`,
		with(`"max_turns":99999999999999999999`):               `422 shape: max_turns: a whole number from 0, which is no limit`,
		with(`"max_cost_usd":1e3`):                             `422 shape: max_cost_usd: an amount from 0, such as 2.50`,
		with(`"mode":"--takeover"`):                            `422 shape: mode: choose plan, ask, auto or yolo`,
		with(`"effort":"most"`):                                `422 shape: effort: choose none, low, medium or high`,
		with(`"max_tokens":-1`):                                `422 shape: max_tokens: a whole number from 0, which is no limit`,
		with(`"timeout":"soon"`):                               `422 shape: timeout: a text such as 30m or 48h`,
		with(`"expire":"-1h"`):                                 `422 shape: expire: a text such as 30m or 48h`,
		with(`"images":["aGk="]`):                              `422 shape: images: number 1: it is no png, jpeg, gif or webp picture`,
		with(`"images":["` + pixel + `","?"]`):                 `400 json: read the body: the field "images" wants a list of files, each a text in base64`,
		with(`"images":[` + strings.Repeat(`"",`, 20) + `""]`): `422 shape: images: 21 pictures; at most 20 go with a prompt`,
		`{"prompt":"a\u0000b","folder":"/"}`:                   `422 shape: prompt: line 1: holds a NUL byte`,
	} {
		a := w.ask("POST", "/v1/runs", body)
		got := fmt.Sprintf("%d %s: %s", a.status, a.json(t, "code"), a.json(t, "detail"))
		if !strings.HasPrefix(got, want) || fmt.Sprint(a.json(t, "next")) != "[agent help server]" {
			t.Errorf("%.80s:\n%s %v, want\n%s", body, got, a.json(t, "next"), want)
		}
	}
	if len(l.jobs) != 0 {
		t.Errorf("%d processes were started", len(l.jobs))
	}
	if a := w.ask("POST", "/v1/runs", `{"prompt":"caf\u00e9 \ud83d\ude00 😀","folder":"/"}`); a.status != 201 || l.jobs[0].Args[len(l.jobs[0].Args)-1] != "café 😀 😀" {
		t.Errorf("%d %s, %v", a.status, a.text, l.jobs)
	}
}

// An answer is kept as it was typed, or refused.
func TestAnswerIsNotChanged(t *testing.T) {
	w := newWorld(t).serve()
	run := w.run("r-00000001", "p")
	w.hold(run)
	p := w.asks(run, 1, never, journal.Question{Kind: journal.RequestAskUser, Message: "name?", Schema: []byte(`{"type":"string"}`)})
	path := "/v1/pending/" + p + "/answer"
	w.refused(w.ask("POST", path, "{\"answer\":\"Andr\xe9\"}"), 400, "json")
	w.refused(w.ask("POST", path, `{"answer":"\udc00"}`), 400, "json")
	if a := w.ask("POST", path, "{\"answer\":\"Andr\u00e9\"}"); a.json(t, "request answer") != "André" {
		t.Error(a.text)
	}
}

// What a path is not, it is not taken for: there is no redirection, and no page of net/http.
func TestPathsThatAreNone(t *testing.T) {
	w := newWorld(t).serve()
	w.run("r-00000001", "p")
	base := w.door()
	auth := "Authorization: Bearer " + w.token
	for target, want := range map[string]string{
		"//x": "no_route", "//": "no_route", "/v1//runs": "no_route", "/v1/runs/": "no_route", "/v1/./runs": "no_route", "/v1/x/../runs": "no_route",
		"/v1/%2e%2e/v1/runs": "no_route", "/v1/runs%2Fr-00000001": "no_route", "/V1/runs": "no_route", "/v1/runs/r-00000001/nothing": "no_route", "": "no_route",
		"/v1/runs/r-00000001%2Fevents": "not_found", "/v1/runs/..%2F..%2Ftoken": "no_route", "/v1/runs/%00": "not_found", "/v1/runs/r-%EF%BC%91": "not_found",
		"/v1/runs/%FF%FE": "not_found", "/v1/runs/" + strings.Repeat("a", 2000): "not_found", "/v1/calls/'%20OR%201=1": "not_found",
		"/v1/runs/%00/events": "not_found", "/v1/runs/%2E%2E%2Ftoken/events": "no_route", "/v1/runs/a%2Fb/plan": "not_found", "/v1/threads/%00": "not_found",
		"/v1/pending/%FF": "not_found",
	} {
		a := raw(t, base, "GET http://"+strings.TrimPrefix(base, "http://")+target+" HTTP/1.1", "Host: "+strings.TrimPrefix(base, "http://"), auth, "Connection: close", "", "")
		w.refused(a, 404, want)
	}
	w.refused(raw(t, base, "OPTIONS * HTTP/1.1", "Host: "+strings.TrimPrefix(base, "http://"), auth, "Connection: close", "", ""), 404, "no_route")
	w.refused(raw(t, base, "GET //x HTTP/1.1", "Host: "+strings.TrimPrefix(base, "http://"), "Connection: close", "", ""), 401, "credential")
}

// What cannot be read as a request is refused as everything else, at the page's port and at the
// socket.
func TestRequestsThatAreNone(t *testing.T) {
	w := newWorld(t).serve()
	host := strings.TrimPrefix(w.door(), "http://")
	auth := []string{"Host: " + host, "Authorization: Bearer " + w.token, "Connection: close"}
	for first, want := range map[string]string{
		"GET /v1/runs/%zz HTTP/1.1": "http", "GET /v1/runs/a b HTTP/1.1": "http", "hello": "http", "GET /v1/runs HTTP/9.9": "http", "GET /v1/runs HTTP/1.1\r\nHost: twice": "http",
		"POST /v1/runs HTTP/1.1\r\nContent-Length: -5": "http", "POST /v1/runs HTTP/1.1\r\nTransfer-Encoding: gzip, chunked": "http",
		"GET /v1/runs HTTP/1.1\r\nExpect: foo":                              "expectation",
		"GET /v1/runs?q=" + strings.Repeat("x", 2*mostHeader) + " HTTP/1.1": "header_large", "GET /v1/runs HTTP/1.1\r\nX: " + strings.Repeat("x", mostHeader) + " HTTP/1.1": "header_large",
	} {
		lines := append([]string{first}, auth...)
		a := raw(t, w.s.door.address(), append(lines, "", "")...)
		status := map[string]int{"http": 400, "expectation": 417, "header_large": 431}[want]
		w.refused(a, status, want)
		if err := described(t).validate("GET", "/v1/runs", a); err != nil {
			t.Errorf("%.60s: %v", first, err)
		}
	}
	for _, written := range []string{"", "HTTP/1.1 400 Bad Request\r\nX: y\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 OK\r\n", "data: HTTP/1.1 400"} {
		if got := unread([]byte(written)); string(got) != written {
			t.Errorf("%q became %q", written, got)
		}
	}
}

// What a body says that it is, it has to be: one type, one text, not packed.
func TestTypesOfBodies(t *testing.T) {
	w, l := accepting(t)
	for kind, want := range map[string]int{
		"application/json": 201, "application/json; charset=UTF-8": 201, "application/json; charset=iso-8859-1": 415, "application/json; charset=utf-16": 415,
		"text/plain": 415, "": 415, "application/x-www-form-urlencoded": 415, "application/json, text/plain": 415,
	} {
		if a := w.ask("POST", "/v1/runs", `{"prompt":"p","folder":"/"}`, func(r *http.Request) { r.Header.Set("Content-Type", kind) }); a.status != want {
			t.Errorf("%q: %d %s", kind, a.status, a.text)
		}
	}
	started := len(l.jobs)
	w.refused(w.ask("POST", "/v1/runs", `{}`, func(r *http.Request) { r.Header["Content-Type"] = []string{"application/json", "text/plain"} }), 415, "media_type")
	w.refused(w.ask("POST", "/v1/runs", `{}`, func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }), 415, "media_type")
	if len(l.jobs) != started {
		t.Error("processes were started")
	}
}

// A parameter that cannot be read as it is meant is refused, and none counts in silence.
func TestParameters(t *testing.T) {
	w := newWorld(t).serve()
	run := w.run("r-00000001", "p")
	w.hold(run)
	for _, q := range []string{"runs?q=%ff", "runs?folder=%C3", "runs?limit=-1", "runs?limit=1e2", "runs?before=-1", "runs?status=Running", "runs/" + run + "/facts?limit=501",
		"runs/" + run + "/facts?before=3&after=1", "runs/" + run + "/facts?after=1&after=1", "runs/" + run + "/events?after=1&after=1", "pending?all=1", "models?folder=~"} {
		w.refused(w.ask("GET", "/v1/"+q, ""), 400, "parameter")
	}
	w.refused(w.ask("GET", "/v1/runs/"+run+"/events", "", func(r *http.Request) { r.Header["Last-Event-Id"] = []string{"1", "2"} }), 400, "parameter")
	w.refused(w.ask("POST", "/v1/runs/"+run+"/resume", `{"mode":"loose"}`), 422, "shape")
	w.refused(w.ask("POST", "/v1/runs/"+run+"/resume", `{"max_turns":-1}`), 422, "shape")
}

// A method that a route has not is refused with those that it has, whatever it is.
func TestMethods(t *testing.T) {
	w := newWorld(t).serve()
	has := map[string][]string{}
	for _, r := range append(w.s.routes(), w.s.shell()...) {
		has[r.path] = append(has[r.path], r.method)
	}
	for path, methods := range has {
		slices.Sort(methods)
		for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FETCH"} {
			if slices.Contains(methods, m) {
				continue
			}
			a := w.ask(m, strings.NewReplacer("{id}", "r-00000001", "{$}", "").Replace(path), "")
			w.refused(a, 405, "method")
			if got := a.header.Get("Allow"); got != strings.Join(methods, ", ") {
				t.Errorf("%s %s: Allow is %q", m, path, got)
			}
		}
	}
}

// A folder that is not there is refused wherever one is named.
func TestFolderThatIsGone(t *testing.T) {
	w, _ := accepting(t)
	gone := filepath.Join(t.TempDir(), "gone")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{gone, file} {
		w.refused(w.ask("GET", "/v1/models?folder="+folder, ""), 422, "folder_gone")
		w.refused(w.ask("POST", "/v1/runs", `{"prompt":"p","folder":"`+folder+`"}`), 422, "folder_gone")
	}
}

// Pictures go with a prompt as they do on the command line, up to the same limits, and a body is as
// large as they need. // S12
func TestStartWithPictures(t *testing.T) {
	w, l := accepting(t)
	if a := w.ask("POST", "/v1/runs", `{"prompt":"p","folder":"/","images":["`+pixel+`"]}`); a.status != 201 || len(l.jobs) != 1 || len(l.jobs[0].Pictures) != 1 {
		t.Fatalf("%d %s", a.status, a.text)
	}
	if media, err := input.Picture(l.jobs[0].Pictures[0]); err != nil || media != "image/png" {
		t.Errorf("%s, %v", media, err)
	}
	if testing.Short() { // what follows is many bytes, and nothing beside them
		return
	}
	large := `"` + pixel[:len(pixel)-4] + strings.Repeat("AAAA", (4<<20)/3) + `"` // which a PNG's reader stops before
	if a := w.ask("POST", "/v1/runs", `{"prompt":"p","folder":"/","images":[`+large+`,`+large+`,`+large+`]}`); a.status != 201 || len(l.jobs[1].Pictures) != 3 {
		t.Errorf("12 MiB of pictures: %d %.200s", a.status, a.text)
	}
	if a := w.ask("POST", "/v1/runs", `{"prompt":"`+strings.Repeat("p", 15<<20)+`","folder":"/"}`); a.status != 201 {
		t.Errorf("a prompt of 15 MiB: %d %.200s", a.status, a.text)
	}
	too := w.ask("POST", "/v1/runs", `{"prompt":"`+strings.Repeat("p", input.MaxPrompt+1)+`","folder":"/"}`)
	w.refused(too, 413, "too_large")
	if too.json(t, "detail") != "the prompt is larger than 16 MiB; put the bulk into a file of the folder and name it" {
		t.Error(too.text)
	}
	one := w.ask("POST", "/v1/runs", `{"prompt":"p","folder":"/","images":["`+strings.Repeat("AAAA", (6<<20)/3)+`"]}`)
	w.refused(one, 422, "shape")
	if one.json(t, "detail") != "images: number 1: it is larger than 5 MiB" {
		t.Error(one.text)
	}
	w.refused(w.ask("POST", "/v1/runs", `{"prompt":"`+strings.Repeat("p", mostStart)+`","folder":"/"}`), 413, "too_large")
	if len(l.jobs) != 3 || len(w.s.large) != 0 {
		t.Errorf("%d processes were started, %d places are taken", len(l.jobs), len(w.s.large))
	}
}

// A body that says that it is too large is refused before anything of it is read. // S12
func TestBodyIsRefusedUnread(t *testing.T) {
	w := newWorld(t).serve()
	base := w.door()
	for path, limit := range map[string]string{"/v1/runs": "17 MiB", "/v1/runs/r-00000001/cancel": "1 MiB"} {
		a := raw(t, base, "POST "+path+" HTTP/1.1", "Host: "+strings.TrimPrefix(base, "http://"), "Authorization: Bearer "+w.token, "Content-Type: application/json",
			"Content-Length: 1073741824", "Expect: 100-continue", "Connection: close", "", "")
		w.refused(a, 413, "too_large")
		if !strings.Contains(fmt.Sprint(a.json(t, "detail")), "larger than "+limit) {
			t.Error(a.text)
		}
	}
}

// One request is one run, however many ask for it at once: the first has it started, the others
// wait for that, and no process is started for them. // promise 8
func TestManyStartsOfOneKey(t *testing.T) {
	w := newWorld(t)
	const many = 45 // more than are driven at a time
	l := &launcher{}
	w.carrier = l
	w.serve()
	l.do = func(job launch.Job) (launch.Answer, error) {
		for w.s.same.Waiting() < many-1 { // who comes later would have the key looked up by another process
			select {
			case <-t.Context().Done():
				return launch.Answer{}, t.Context().Err()
			default:
				runtime.Gosched()
			}
		}
		w.record(job, "k")
		return launch.Answer{Accepted: &launch.Accepted{Run: job.Run}}, nil
	}
	got := make(chan reply, many)
	for range many {
		go func() { got <- w.ask("POST", "/v1/runs", `{"prompt":"p","folder":"/"}`, withKey("k")) }()
	}
	runs, statuses := map[any]int{}, map[int]int{}
	for range many {
		a := <-got
		statuses[a.status]++
		runs[a.json(t, "run_id")]++
	}
	if len(runs) != 1 || !maps.Equal(statuses, map[int]int{201: 1, 200: many - 1}) || len(l.jobs) != 1 {
		t.Errorf("%v %v, %d processes", runs, statuses, len(l.jobs))
	}
	l.do = func(job launch.Job) (launch.Answer, error) {
		return ended(t, map[string]any{"status": "refused", "code": "key_reused", "error": "another request", "run_id": "r-1"}), nil
	}
	w.refused(w.ask("POST", "/v1/runs", `{"prompt":"another","folder":"/"}`, withKey("k")), 422, "key_reused")
}

// A start that is one too many loses nothing: asked again once there is room it is started, and
// each key has one run.
func TestTooManyLoseNothing(t *testing.T) {
	w := newWorld(t)
	const many = 45
	begin := make(chan struct{})
	l := &launcher{}
	l.do = func(job launch.Job) (launch.Answer, error) {
		<-begin
		i := slices.IndexFunc(job.Args, func(arg string) bool { return strings.HasPrefix(arg, "--start-key=") })
		w.record(job, strings.TrimPrefix(job.Args[i], "--start-key="))
		return launch.Answer{Accepted: &launch.Accepted{Run: job.Run}}, nil
	}
	w.carrier = l
	w.serve()
	start := func(n int) reply {
		return w.ask("POST", "/v1/runs", `{"prompt":"p","folder":"/"}`, withKey(fmt.Sprint("k", n)))
	}
	type result struct {
		n int
		a reply
	}
	got, runs, again := make(chan result, many), map[any]bool{}, []int{}
	for n := range many {
		go func() { got <- result{n, start(n)} }()
	}
	for range many {
		if len(again) == many-mostDriven {
			close(begin)
			again = append(again, -1) // once
		}
		r := <-got
		if r.a.status == 201 {
			runs[r.a.json(t, "run_id")] = true
			continue
		}
		w.refused(r.a, 503, "too_many")
		if fmt.Sprint(r.a.json(t, "next")) != "[agent ls]" || r.a.header.Get("Retry-After") == "" {
			t.Error(r.a.header, r.a.text)
		}
		again = append(again, r.n)
	}
	if len(runs) != mostDriven {
		t.Errorf("%d were started", len(runs))
	}
	for _, n := range again {
		if n >= 0 {
			if a := start(n); a.status != 201 { // nobody holds the others: they have ended
				t.Errorf("%d %s", a.status, a.text)
			} else {
				runs[a.json(t, "run_id")] = true
			}
		}
	}
	if len(runs) != many {
		t.Errorf("%d runs of %d keys", len(runs), many)
	}
}
