//go:build unix

package serve

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever takes the port of a server that was killed is sent the page's session, which the next
// server does not know. // S5
func TestSessionEndsWithItsServer(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	first, err := w.served(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer kill(first)
	w.token = readFile(t, filepath.Join(w.home, tokenName))
	made := w.ask("POST", "/v1/logins", `{"port":0}`)
	link, _ := made.json(t, "url").(string)
	base, code, _ := strings.Cut(link, loginPart)
	session := loginAt(t, base, code)
	read := func() reply { return askAt(t, base, "GET", "/v1/runs", "", bearer(session)) }
	if a := read(); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.text)
	}
	kill(first)

	l, err := net.Listen("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	thief := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("Authorization") })}
	go func() { _ = thief.Serve(l) }() // it is closed below
	raw(t, base, "GET /v1/runs HTTP/1.1", "Host: "+strings.TrimPrefix(base, "http://"), "Authorization: Bearer "+session, "Connection: close", "", "")
	captured := <-got
	if err := thief.Close(); err != nil {
		t.Fatal(err)
	}

	second, err := w.served(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer kill(second)
	port := base[strings.LastIndex(base, ":")+1:]
	if made := w.ask("POST", "/v1/logins", `{"port":`+port+`}`); made.status != http.StatusOK {
		t.Fatalf("%d %s", made.status, made.text)
	}
	replayed := askAt(t, base, "GET", "/v1/runs", "", func(r *http.Request) { r.Header.Set("Authorization", captured) })
	w.refused(replayed, http.StatusUnauthorized, "credential")
	if captured != "Bearer "+session {
		t.Errorf("the page sent %q", captured)
	}
}
