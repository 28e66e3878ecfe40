package serve

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

// door shows the page, at a port that is free, and returns its address.
func (w *world) door() string {
	w.t.Helper()
	if err := w.s.door.listen(0); err != nil {
		w.t.Fatal(err)
	}
	return w.s.door.address()
}

// at asks at the page's port, without a credential.
func (w *world) at(method, path, body string, change ...func(*http.Request)) reply {
	w.t.Helper()
	return askAt(w.t, w.s.door.address(), method, path, body, change...)
}

func askAt(t *testing.T, base, method, path, body string, change ...func(*http.Request)) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, c := range change {
		c(r)
	}
	a, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := reply{status: a.StatusCode, header: a.Header, text: string(text)}
	asDescribed(t, r, got)
	return got
}

func bearer(secret string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) }
}

// code has a link made, and returns what stands behind its #.
func (w *world) code() string {
	w.t.Helper()
	made := w.ask("POST", "/v1/logins", "{}")
	link, _ := made.json(w.t, "url").(string)
	code, ok := strings.CutPrefix(link, w.s.door.address()+loginPart)
	if !ok {
		w.t.Fatalf("the link is %s", made.text)
	}
	return code
}

// login logs in as a browser does.
func (w *world) login() string {
	w.t.Helper()
	return loginAt(w.t, w.s.door.address(), w.code())
}

func loginAt(t *testing.T, base, code string) string {
	t.Helper()
	a := askAt(t, base, "POST", "/v1/login", `{"code":"`+code+`"}`)
	session, _ := a.json(t, "session").(string)
	if a.status != http.StatusOK || session == "" {
		t.Fatalf("login: %d %s", a.status, a.text)
	}
	return session
}

// raw sends the lines of a request as they are.
func raw(t *testing.T, base string, lines ...string) reply {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, strings.Join(lines, "\r\n")); err != nil {
		t.Fatal(err)
	}
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{status: a.StatusCode, header: a.Header, text: string(text)}
}

// readAbout is what serve.json says.
func readAbout(t *testing.T, path string) (v about) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}
