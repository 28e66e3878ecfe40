package serve

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/host/serve/login"
	"agent/host/serve/page"
)

// The page is at loopback addresses alone, and only once it is asked for. // S1
func TestDoorIsOnLoopbackAlone(t *testing.T) {
	w := newWorld(t).serve()
	if at := readAbout(t, filepath.Join(w.home, aboutName)).Page; at != "" || w.s.door.address() != "" {
		t.Errorf("nobody asked for the page, which is at %q", at)
	}
	base := w.door()
	if again := w.door(); again != base {
		t.Errorf("the page is at %s and at %s", base, again)
	}
	_, port, err := net.SplitHostPort(strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range append(all, &net.IPNet{IP: net.IPv4(127, 0, 0, 2)}) {
		at, ok := a.(*net.IPNet)
		if !ok || at.IP.Equal(net.IPv4(127, 0, 0, 1)) || at.IP.Equal(net.IPv6loopback) || at.IP.IsLinkLocalUnicast() {
			continue
		}
		if c, err := net.Dial("tcp", net.JoinHostPort(at.IP.String(), port)); err == nil {
			t.Errorf("the page is at %s, too", at.IP)
			_ = c.Close()
		}
	}
	w.code()
	if at := readAbout(t, filepath.Join(w.home, aboutName)).Page; at != base {
		t.Errorf("%s names the page at %q", aboutName, at)
	}
	if a := w.ask("GET", "/v1/server", ""); a.json(t, "page") != base {
		t.Errorf("the server says %s", a.text)
	}
}

// A port that another process has is refused with what helps. // S1
func TestPortIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	w := newWorld(t).serve()
	a := w.ask("POST", "/v1/logins", fmt.Sprintf(`{"port":%d}`, port))
	w.refused(a, http.StatusConflict, "port_taken")
	who := "another process"
	if runtime.GOOS == "linux" {
		who = fmt.Sprintf("process %d, which serves the state folder", os.Getpid())
	}
	for _, want := range []string{fmt.Sprint(port), "agent web --port 0", who} {
		if !strings.Contains(a.text, want) {
			t.Errorf("without %q: %s", want, a.text)
		}
	}
	w.refused(w.ask("POST", "/v1/logins", `{"port":65536}`), http.StatusUnprocessableEntity, "shape")
	w.refused(w.ask("POST", "/v1/logins", `{"port":"0.0.0.0:80"}`), http.StatusBadRequest, "json")
	w.refused(w.ask("POST", "/v1/logins", `{"host":"0.0.0.0"}`), http.StatusBadRequest, "json")
	if w.s.door.address() != "" {
		t.Error("the page is shown")
	}
}

// What needs no credential is the page's files and the login, and nothing else. // S2
func TestOpenRoutes(t *testing.T) {
	w := newWorld(t).serve()
	w.door()
	files, err := fs.Glob(page.Files, "*")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/v1/login", "/{$}"}
	for _, name := range files {
		if name != "index.html" {
			want = append(want, "/"+name)
		}
	}
	var got []string
	for path, r := range w.s.access {
		if r.open {
			got = append(got, path)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("without a credential: %v, want %v", got, want)
	}
	for _, path := range want {
		if path == "/v1/login" {
			continue
		}
		a := w.at("GET", strings.TrimSuffix(path, "{$}"), "")
		if kind := a.header.Get("Content-Type"); a.status != http.StatusOK || a.text == "" || kind == "" {
			t.Errorf("%s: %d, %s", path, a.status, kind)
		}
	}
}

// A session does what the token does, but makes no other; what ended it makes it worth nothing.
// // S2
func TestSession(t *testing.T) {
	w := newWorld(t).serve()
	w.door()
	session, other := w.login(), w.login()
	if a := w.at("GET", "/v1/runs", "", bearer(session)); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.text)
	}
	w.refused(w.at("POST", "/v1/logins", "{}", bearer(session)), http.StatusForbidden, "token_only")
	if a := w.at("POST", "/v1/logout", "{}", bearer(session)); a.status != http.StatusNoContent || a.text != "" {
		t.Errorf("%d %s", a.status, a.text)
	}
	w.refused(w.at("GET", "/v1/runs", "", bearer(session)), http.StatusUnauthorized, "credential")
	if a := w.at("GET", "/v1/runs", "", bearer(other)); a.status != http.StatusOK {
		t.Errorf("the session of another tab: %d %s", a.status, a.text)
	}
}

// A code logs in once and for a minute; five wrong ones void it; and neither a code nor a session
// is found in what the server leaves behind or shows of itself. // S4
func TestLogin(t *testing.T) {
	w := newWorld(t).serve()
	w.door()
	late := false
	w.s.desk = login.New(func() time.Duration {
		if late {
			return login.CodeLife
		}
		return 0
	})
	try := func(code string) reply { return w.at("POST", "/v1/login", `{"code":"`+code+`"}`) }
	once := w.code()
	session := loginAt(t, w.s.door.address(), once)
	w.refused(try(once), http.StatusUnauthorized, "login")

	unused := w.code()
	late = true
	w.refused(try(unused), http.StatusUnauthorized, "login")
	late = false

	good := w.code()
	w.refused(try(""), http.StatusUnauthorized, "login")
	for i := range 3 { // one more was late
		w.refused(try(fmt.Sprint(good, i)), http.StatusUnauthorized, "login")
	}
	w.refused(try(good), http.StatusUnauthorized, "login")
	again := w.login()
	w.stop()

	secrets := []string{once, session, unused, good, again}
	if err := filepath.WalkDir(w.home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, secret := range append(secrets, w.token) {
			if strings.Contains(string(text), secret) && (secret != w.token || e.Name() != tokenName) {
				t.Errorf("%s has a secret", path)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	said := strings.Join(append(w.said, os.Args...), "\n")
	if text, err := os.ReadFile("/proc/self/cmdline"); err == nil {
		said += string(text)
	}
	for _, secret := range append(secrets, w.token) {
		if strings.Contains(said, secret) {
			t.Errorf("a secret is in what the server says or was started with: %s", said)
		}
	}
}

// No page of another place reaches this one, though it had the credential. // S6
func TestForeignPages(t *testing.T) {
	w := newWorld(t).serve()
	base := w.door()
	host := strings.TrimPrefix(base, "http://")
	port := host[strings.LastIndex(host, ":")+1:]
	secret := "Authorization: Bearer " + w.login()
	for _, c := range []struct {
		name    string
		status  int
		code    string
		request []string
	}{
		{"own page", 200, "", []string{"GET /v1/server HTTP/1.1", "Host: " + host, "Origin: " + base, "Sec-Fetch-Site: same-origin", secret}},
		{"by the name localhost", 200, "", []string{"GET /v1/server HTTP/1.1", "Host: localhost:" + port, secret}},
		{"post of another site", 403, "origin", []string{"POST /v1/logout HTTP/1.1", "Host: " + host, "Origin: http://evil.example", "Sec-Fetch-Site: cross-site", secret}},
		{"post of another port", 403, "origin", []string{"POST /v1/logout HTTP/1.1", "Host: " + host, "Origin: http://127.0.0.1:1", "Sec-Fetch-Site: same-site", secret}},
		{"post of a rebound name", 421, "host", []string{"POST /v1/logout HTTP/1.1", "Host: evil.example:" + port, "Origin: http://evil.example:" + port, "Sec-Fetch-Site: same-origin", secret}},
		{"reading by a rebound name", 421, "host", []string{"GET /v1/runs HTTP/1.1", "Host: evil.example:" + port, "Sec-Fetch-Site: same-origin", secret}},
		{"image of another site", 403, "origin", []string{"GET /v1/runs HTTP/1.1", "Host: " + host, "Sec-Fetch-Site: cross-site", secret}},
		{"file or closed frame", 403, "origin", []string{"GET /v1/runs HTTP/1.1", "Host: " + host, "Origin: null", secret}},
		{"forwarded from another port", 421, "host", []string{"GET / HTTP/1.1", "Host: 127.0.0.1:1"}},
		{"program without the credential", 401, "credential", []string{"GET /v1/runs HTTP/1.1", "Host: " + host}},
		{"name without the port", 421, "host", []string{"GET / HTTP/1.1", "Host: 127.0.0.1"}},
		{"name that begins with the address", 421, "host", []string{"GET / HTTP/1.1", "Host: " + host + ".evil.example"}},
		{"page of another origin at the login", 403, "origin", []string{"POST /v1/login HTTP/1.1", "Host: " + host, "Origin: http://localhost:" + port}},
		{"frame of another site", 403, "origin", []string{"GET / HTTP/1.1", "Host: " + host, "Sec-Fetch-Site: cross-site"}},
		{"question before a foreign request", 403, "origin", []string{"OPTIONS /v1/runs HTTP/1.1", "Host: " + host, "Origin: http://evil.example", "Access-Control-Request-Method: POST"}},
	} {
		a := raw(t, base, append(c.request, "Content-Type: application/json", "Connection: close", "", "")...)
		if a.status != c.status {
			t.Errorf("%s: %d %s", c.name, a.status, a.text)
		}
		if c.code != "" {
			w.refused(a, c.status, c.code)
		}
		if c.code == "host" && !strings.Contains(a.text, fmt.Sprintf("ssh -L %s:127.0.0.1:%s", port, port)) {
			t.Errorf("%s: the refusal does not name the port: %s", c.name, a.text)
		}
		for name := range a.header {
			if strings.HasPrefix(name, "Access-Control-") || name == "Set-Cookie" {
				t.Errorf("%s: the answer has %s", c.name, name)
			}
		}
	}
}

// Every answer says what a browser may do with it, refusals too. // S3, S7
func TestHeadersOfAnswers(t *testing.T) {
	w := newWorld(t).serve()
	w.door()
	want := map[string]string{
		"Cache-Control":                "no-store",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "no-referrer",
		"X-Content-Type-Options":       "nosniff",
		"Set-Cookie":                   "",
	}
	policy := []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self'", "base-uri 'none'", "form-action 'none'",
		"frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
	}
	session := bearer(w.login())
	for name, a := range map[string]reply{
		"the page":  w.at("GET", "/", ""),
		"a script":  w.at("GET", "/app.js", ""),
		"a refusal": w.at("GET", "/v1/runs", ""),
		"an answer": w.at("GET", "/v1/runs", "", session),
		"no route":  w.at("GET", "/v1/there-is-none", "", session),
		"a login":   w.at("POST", "/v1/login", `{"code":""}`),
	} {
		for header, value := range want {
			if got := a.header.Get(header); got != value {
				t.Errorf("%s: %s is %q, want %q", name, header, got, value)
			}
		}
		got := strings.Split(a.header.Get("Content-Security-Policy"), "; ")
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(policy))) {
			t.Errorf("%s: the policy is %v", name, got)
		}
	}
}

// The first thing that is wrong refuses a request, in the order that package serve names, at both
// listeners.
func TestOrderOfChecks(t *testing.T) {
	w := newWorld(t).serve()
	base := w.door()
	steps := []struct {
		status int
		code   string
		mend   func(*http.Request)
	}{
		{421, "host", func(r *http.Request) { r.Host = "" }},
		{403, "origin", func(r *http.Request) { r.Header.Del("Origin") }},
		{401, "credential", bearer(w.token)},
		{405, "method", func(r *http.Request) { r.Method = "POST" }},
		{415, "media_type", func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }},
		{413, "too_large", func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("[")), 1 }},
		{400, "json", nil},
	}
	for name, ask := range map[string]func(change func(*http.Request)) reply{
		"socket": func(change func(*http.Request)) reply { return w.ask("PUT", "/v1/logout", "[", change) },
		"port": func(change func(*http.Request)) reply {
			return askAt(t, base, "PUT", "/v1/logout", "[", change)
		},
	} {
		for i, step := range steps {
			a := ask(func(r *http.Request) {
				r.Host = "evil.example"
				r.Header.Set("Origin", "http://evil.example")
				r.Header.Del("Authorization")
				r.Header.Set("Content-Type", "text/plain")
				for _, before := range steps[:i] {
					before.mend(r)
				}
				if step.status == http.StatusRequestEntityTooLarge { // else it is cut off while it is sent
					large := strings.Repeat("[", 2<<20)
					r.Body, r.ContentLength = io.NopCloser(strings.NewReader(large)), int64(len(large))
				}
			})
			if a.status != step.status {
				t.Errorf("%s, step %d: %d %s", name, i, a.status, a.text)
			}
			w.refused(a, step.status, step.code)
		}
	}
}
