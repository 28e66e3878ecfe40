package serve

import (
	"agent/recovery/journal"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Without the one credential, in its one form, no route says or does anything at either listener.
// // S2
func TestEveryRouteWantsTheToken(t *testing.T) {
	w := newWorld(t).serve()
	w.door()
	set := func(values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header["Authorization"] = values }
	}
	forms := func(secret string) map[string]func(*http.Request) {
		return map[string]func(*http.Request){
			"none":      set(),
			"empty":     set(""),
			"no secret": set("Bearer "),
			"wrong":     set("Bearer " + strings.Repeat("0", len(secret))),
			"truncated": set("Bearer " + secret[:len(secret)-1]),
			"longer":    set("Bearer " + secret + "0"),
			"basic":     set("Basic " + secret),
			"alone":     set(secret),
			"twice":     set("Bearer "+secret, "Bearer "+secret),
			"cookie": func(r *http.Request) {
				r.Header.Del("Authorization")
				r.AddCookie(&http.Cookie{Name: "token", Value: secret})
				r.AddCookie(&http.Cookie{Name: "session", Value: secret})
			},
			"query": func(r *http.Request) {
				r.Header.Del("Authorization")
				r.URL.RawQuery = "access_token=" + secret + "&token=" + secret + "&session=" + secret
			},
		}
	}
	routes := slices.DeleteFunc(w.s.routes(), func(r route) bool { return r.open })
	routes = append(routes, route{method: "GET", path: "/v1/there-is-none"}, route{method: "GET", path: "/there-is-none"})
	if len(routes) < 15 {
		t.Fatal("only", len(routes), "routes")
	}
	session := w.login()
	for where, ask := range map[string]func(method, path, body string, change ...func(*http.Request)) reply{"socket": w.ask, "port": w.at} {
		for _, r := range routes {
			path := strings.ReplaceAll(r.path, "{id}", "r-00000001")
			for _, secret := range []string{w.token, session} {
				for name, form := range forms(secret) {
					a := ask(r.method, path, "", form)
					if a.header.Get("WWW-Authenticate") != "Bearer" {
						t.Errorf("%s %s at the %s with the credential %s: %d %s", r.method, r.path, where, name, a.status, a.text)
					}
					w.refused(a, http.StatusUnauthorized, "credential")
				}
				if a := ask(r.method, path+"?not=known", `{"not":"known"}`, bearer(secret)); a.status == http.StatusUnauthorized {
					t.Errorf("%s %s at the %s with a credential: %d", r.method, r.path, where, a.status)
				}
			}
		}
	}
}

// A page in a browser reaches nothing here, by whatever name it was brought to this address. // S6
func TestHostAndOrigin(t *testing.T) {
	w := newWorld(t).serve()
	for _, c := range []struct {
		name   string
		status int
		code   string
		change func(*http.Request)
	}{
		{"localhost", 200, "", func(r *http.Request) { r.Host = "localhost" }},
		{"address", 200, "", func(r *http.Request) { r.Host = "127.0.0.1" }},
		{"address of IPv6", 200, "", func(r *http.Request) { r.Host = "[::1]" }},
		{"rebound name", 421, "host", func(r *http.Request) { r.Host = "evil.example" }},
		{"name that begins with the address", 421, "host", func(r *http.Request) { r.Host = "127.evil.example" }},
		{"name that ends with localhost", 421, "host", func(r *http.Request) { r.Host = "evil.localhost" }},
		{"port", 421, "host", func(r *http.Request) { r.Host = "localhost:8080" }},
		{"own origin", 200, "", func(r *http.Request) { r.Header.Set("Origin", "http://localhost") }},
		{"foreign origin", 403, "origin", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }},
		{"origin of another port", 403, "origin", func(r *http.Request) { r.Header.Set("Origin", "http://localhost:8080") }},
		{"origin null", 403, "origin", func(r *http.Request) { r.Header.Set("Origin", "null") }},
		{"same origin", 200, "", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-origin") }},
		{"typed", 200, "", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "none") }},
		{"same site", 403, "origin", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }},
		{"cross site", 403, "origin", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }},
	} {
		a := w.ask("GET", "/v1/server", "", c.change)
		if a.status != c.status {
			t.Errorf("%s: %d %s", c.name, a.status, a.text)
		}
		if c.code != "" {
			w.refused(a, c.status, c.code)
		}
		for name := range a.header {
			if strings.HasPrefix(name, "Access-Control-") || name == "Set-Cookie" {
				t.Errorf("%s: the answer has %s", c.name, name)
			}
		}
	}
	// Host and Origin come before the credential.
	w.refused(w.ask("GET", "/v1/server", "", func(r *http.Request) { r.Host = "evil.example"; r.Header.Del("Authorization") }), 421, "host")
}

// The socket lies in the hidden folder, for its user alone, whatever the length of its path. // S1
func TestSocketOfALongPath(t *testing.T) {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	home := filepath.Join(dir, strings.Repeat("long", 40), "state")
	if err := os.MkdirAll(filepath.Dir(home), 0o700); err != nil {
		t.Fatal(err)
	}
	w := openWorld(t, home).serve()
	for name, mode := range map[string]os.FileMode{socketName: os.ModeSocket | 0o600, tokenName: 0o600, aboutName: 0o600} {
		info, err := os.Lstat(filepath.Join(home, name))
		if err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	folder, err := os.Open(home) // a client has the same limit
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), socketName))
	}}}
	a, err := c.Get("http://localhost/v1/server")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Body.Close(); err != nil || a.StatusCode != http.StatusUnauthorized {
		t.Errorf("%d, %v", a.StatusCode, err)
	}
	w.stop()
	for _, name := range []string{socketName, aboutName} {
		if _, err := os.Lstat(filepath.Join(home, name)); err == nil {
			t.Errorf("%s is left behind", name)
		}
	}
}

// The token stays, but for one that others could have read. // S2
func TestToken(t *testing.T) {
	home := t.TempDir()
	first, err := readToken(home)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, tokenName)
	again, err := readToken(home)
	if err != nil || again != first {
		t.Errorf("another token at the second start, %v", err)
	}
	spoil := map[string]func() error{
		"open to others": func() error { return os.Chmod(path, 0o640) },
		"empty":          func() error { return os.WriteFile(path, nil, 0o600) },
		"short":          func() error { return os.WriteFile(path, []byte("0123\n"), 0o600) },
	}
	for name, do := range spoil {
		before, err := readToken(home)
		if err != nil {
			t.Fatal(err)
		}
		if err := do(); err != nil {
			t.Fatal(err)
		}
		after, err := readToken(home)
		if info, statErr := os.Stat(path); err != nil || statErr != nil || after == before || info.Mode().Perm() != 0o600 || info.Size() != 65 {
			t.Errorf("%s: %v %v %v", name, err, statErr, info)
		}
	}
}

// What is too large, too deep or too much is refused by name, and the server stays. // S12
func TestCaps(t *testing.T) {
	w := newWorld(t).serve()
	w.run("r-00000001", "p")
	w.hold("r-00000001")
	p := w.question("r-00000001", never)
	path := "/v1/pending/" + p + "/answer"
	w.refused(w.ask("POST", path, `{"answer":"`+strings.Repeat("x", 2<<20)+`"}`), 413, "too_large")
	w.refused(w.ask("POST", path, `{"answer":"`+strings.Repeat("x", 2<<20)+`"}`, func(r *http.Request) { r.ContentLength = -1 }), 413, "too_large")
	w.refused(w.ask("POST", path, `{"answer":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`}`), 400, "json")
	w.refused(w.ask("POST", path, `{"answer":`+strings.Repeat("[", 500_000)), 400, "json")
	w.refused(w.ask("POST", path, `{"answer":"first"}`, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }), 415, "media_type")
	w.refused(w.ask("POST", path, `{"answer":"first"} {}`), 400, "json")
	w.refused(w.ask("POST", path, `answer=first`), 400, "json")
	large, err := http.NewRequestWithContext(t.Context(), "GET", "http://localhost/v1/server", nil)
	if err != nil {
		t.Fatal(err)
	}
	large.Header.Set("Authorization", "Bearer "+w.token)
	large.Header.Set("X", strings.Repeat("x", 20<<10))
	if a, err := client(w.home).Do(large); err == nil { // else it was cut off while it was still being sent
		if err := a.Body.Close(); err != nil || a.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a header of 20 KiB: %d, %v", a.StatusCode, err)
		}
	}
	w.refused(w.ask("PUT", "/v1/runs", ""), 405, "method")
	w.refused(w.ask("GET", "/v1/runs?limit=201", ""), 400, "parameter")
	w.refused(w.ask("GET", "/v1/runs?colour=red", ""), 400, "parameter")
	for range cap(w.s.streams) - 1 {
		w.s.streams <- struct{}{}
	}
	o, a := w.stream("/v1/runs/r-00000001/events")
	if a.StatusCode != http.StatusOK {
		t.Errorf("the last stream: %d", a.StatusCode)
	}
	o.until("run.state")
	w.refused(w.ask("GET", "/v1/runs/r-00000001/events", ""), 503, "too_many_streams")
	for range cap(w.s.requests) {
		w.s.requests <- struct{}{}
	}
	w.refused(w.ask("GET", "/v1/server", ""), 503, "too_many_requests")
	for range cap(w.s.requests) {
		<-w.s.requests
	}
	if a := w.ask("GET", "/v1/pending/"+p, ""); a.json(t, "request status") != "open" {
		t.Errorf("after all of it: %s", a.text)
	}
}

// No more connections are open than a number. // S12
func TestLimitOfConnections(t *testing.T) {
	home := t.TempDir()
	listener, err := listen(home)
	if err != nil {
		t.Fatal(err)
	}
	l := &limited{Listener: listener, most: 2}
	defer l.Close()
	taken := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(taken)
				return
			}
			taken <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("unix", filepath.Join(home, socketName))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	dial()
	dial()
	first := <-taken
	<-taken
	if n, err := dial().Read(make([]byte, 1)); err == nil {
		t.Errorf("the third connection gave %d bytes", n)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	_ = first.Close() // counts once
	dial()
	<-taken
}

// The log says of a request its method, route, status, id and time, and nothing that it said; what
// a stranger is answered says nothing of the store. // S14
func TestLogLines(t *testing.T) {
	w := newWorld(t).serve()
	w.run("r-00000001", "the prompt of a person")
	w.hold("r-00000001")
	p := w.question("r-00000001", never)
	const canary = "canary-7f3a"
	w.ask("POST", "/v1/pending/"+p+"/answer", `{"answer":"`+canary+`"}`)
	w.ask("GET", "/v1/runs?q="+canary, "")
	w.ask("GET", "/v1/runs/"+canary, "", func(r *http.Request) { r.Header.Set("X-Other", canary) })
	w.ask("GET", "/v1/"+canary, "")
	w.ask("GET", "/v1//"+canary, "")
	w.ask(canary, "/v1/runs", "")
	w.ask("POST", "/v1/runs", `{"prompt":"`+canary+`"}`, withKey(canary))
	w.ask("GET", "/v1/runs/r-00000001/events", "", func(r *http.Request) { r.Header.Set("Last-Event-ID", canary) })
	w.door()
	w.at("GET", "/?"+canary, "")
	w.at("GET", "/v1/runs", "", func(r *http.Request) { r.Host = canary })
	w.at("GET", "/v1/runs", "", bearer(canary), func(r *http.Request) { r.Header.Set("Origin", canary) })
	w.at("POST", "/v1/login", `{"code":"`+canary+`"}`)
	code := w.code()
	session := loginAt(t, w.s.door.address(), code)
	unknown := w.ask("GET", "/v1/runs/r-00000002", "")
	w.refused(unknown, 404, "not_found")
	stranger := w.ask("GET", "/v1/runs/r-00000001", "", func(r *http.Request) { r.Header.Del("Authorization") })
	for _, text := range []string{unknown.text, stranger.text} {
		for _, inner := range []string{"r-00000001", "prompt of", w.home, "SELECT", "agent.db", ".go"} {
			if strings.Contains(text, inner) {
				t.Errorf("%s says %s", text, inner)
			}
		}
	}
	w.stop()
	log := readFile(t, filepath.Join(w.home, "log", "agent.log"))
	for _, line := range []string{
		`"method":"POST","route":"/v1/pending/{id}/answer","id":"` + p + `","status":422`,
		`"method":"GET","route":"/v1/runs/{id}","id":"","status":404`,
		`"method":"GET","route":"/v1/runs/{id}","id":"r-00000001","status":401`,
		`"method":"GET","route":"/v1/runs","id":"","status":200`,
		`"method":"GET","route":"/v1/runs","id":"","status":421`,
		`"method":"GET","route":"/v1/runs","id":"","status":403`,
		`"method":"GET","route":"","id":"","status":404`,
		`"method":"another","route":"/v1/runs","id":"","status":405`,
		`"method":"POST","route":"/v1/runs","id":"","status":422`,
		`"method":"GET","route":"/v1/runs/{id}/events","id":"r-00000001","status":400`,
		`"method":"POST","route":"/v1/login","id":"","status":401`,
		`"method":"POST","route":"/v1/login","id":"","status":200`,
		`"method":"POST","route":"/v1/logins","id":"","status":200`,
	} {
		if !strings.Contains(log, line) {
			t.Errorf("the log has no %s:\n%s", line, log)
		}
	}
	if !regexp.MustCompile(`(?m)^\{"time":"[^"]+".*"msg":"request",.*"ms":\d+`).MatchString(log) {
		t.Errorf("the lines have no time:\n%s", log)
	}
	for _, inner := range []string{canary, code, session, w.token, "Bearer", "prompt of"} {
		if strings.Contains(log, inner) {
			t.Errorf("the log has %s:\n%s", inner, log)
		}
	}
}

// A secret leaves by no route, also where the text around it does. // S11, promise 6
func TestNoSecretLeaves(t *testing.T) {
	w := newWorld(t).serve()
	const canary = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	run := w.run("r-00000001", "the prompt with "+canary)
	w.add(run, turn(run, 1, "an answer with "+canary, "printed "+canary)...)
	p := w.asks(run, 2, never, journal.Question{Kind: journal.RequestAskUser, Message: "a question with " + canary, Schema: json.RawMessage(`{"type":"string"}`)})
	w.ask("POST", "/v1/pending/"+p+"/answer", `{"answer":"`+canary+`"}`)
	seen := ""
	for _, r := range w.s.routes() {
		if r.method != "GET" || r.stream {
			continue
		}
		for _, id := range []string{run, "t" + run[1:], p, callID(run, 1)} {
			seen += w.ask("GET", strings.ReplaceAll(r.path, "{id}", id), "").text
		}
	}
	refusals := ""
	for _, folder := range []string{"/gone-" + canary, "gone-" + canary} {
		refusals += w.ask("POST", "/v1/runs", `{"prompt":"p","folder":"`+folder+`"}`).text
		refusals += w.ask("GET", "/v1/models?folder="+folder, "").text
	}
	if seen += refusals; !strings.Contains(refusals, "gone-[secret:") {
		t.Errorf("the folder of a refusal: %s", refusals)
	}
	o, _ := w.stream("/v1/runs/" + run + "/events?after=0")
	for _, e := range o.until("run.state") {
		seen += e.data
	}
	w.stop()
	for _, name := range []string{aboutName, filepath.Join("log", "agent.log")} {
		if text, err := os.ReadFile(filepath.Join(w.home, name)); err == nil {
			seen += string(text)
		}
	}
	if strings.Contains(seen, canary) {
		t.Error("the secret was seen")
	}
	for _, around := range []string{"the prompt with [secret:", "an answer with [secret:", "printed [secret:", "a question with [secret:"} {
		if !strings.Contains(seen, around) {
			t.Errorf("nothing was seen of %q", around)
		}
	}
}
