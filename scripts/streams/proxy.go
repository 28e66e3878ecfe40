//go:build linux

package main

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// proxy stands between a client and the server's socket, and cuts each stream after some bytes. As
// a control it makes of the server one that is broken.
type proxy struct {
	w      *world
	rarely bool // cut
	broken string

	mu   sync.Mutex
	dice *rand.Rand
	last string // id of the last fact that the server sent, to anybody
	cuts int
}

// How a server is broken, for the controls.
const (
	forgetful = "forgetful" // goes on at the fact after the last one that it sent, as it remembers
	repeating = "repeating" // goes on at the last fact that the client has, not behind it
)

// cutAfter is after how many bytes a connection is cut: mostly soon, and sometimes late enough for
// the longest event.
func cutAfter(dice *rand.Rand, rarely bool) int64 {
	if rarely || dice.IntN(4) == 0 {
		return dice.Int64N(300_000)
	}
	return dice.Int64N(20_000)
}

// open listens on loopback until stop.
func (p *proxy) open() (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	h := &http.Server{Handler: p}
	go func() { _ = h.Serve(l) }() // until it is closed
	return "http://" + l.Addr().String(), func() { _ = h.Close() }, nil
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	left := cutAfter(p.dice, p.rarely)
	last := r.Header.Get("Last-Event-ID")
	switch {
	case p.broken == forgetful && p.last != "":
		last = p.last
	case p.broken == repeating && last != "":
		number, _, _ := strings.Cut(last, "-")
		n, _ := strconv.Atoi(number) // the server made it
		last = strconv.Itoa(max(1, n-1))
	}
	p.mu.Unlock()
	out, err := http.NewRequestWithContext(r.Context(), r.Method, "http://localhost"+r.URL.RequestURI(), nil)
	if err != nil {
		panic(errors.Join(err, http.ErrAbortHandler))
	}
	out.Header = r.Header.Clone()
	out.Header.Del("Last-Event-ID")
	if last != "" {
		out.Header.Set("Last-Event-ID", last)
	}
	a, err := p.w.Client().Do(out)
	if err != nil {
		panic(http.ErrAbortHandler) // no server there: the connection breaks
	}
	defer a.Body.Close()
	for k, v := range a.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(a.StatusCode)
	control := http.NewResponseController(w)
	_ = control.Flush() // a client that is gone is seen by the next write
	for buf := make([]byte, 16<<10); ; {
		n, err := a.Body.Read(buf)
		p.note(buf[:n])
		if int64(n) > left {
			n, err = int(left), http.ErrAbortHandler
		}
		left -= int64(n)
		_, _ = w.Write(buf[:n]) // as above
		_ = control.Flush()
		switch {
		case errors.Is(err, http.ErrAbortHandler):
			p.mu.Lock()
			p.cuts++
			p.mu.Unlock()
			panic(err)
		case err != nil && a.StatusCode == http.StatusOK && err.Error() != "EOF":
			panic(http.ErrAbortHandler) // the server was killed
		case err != nil:
			return
		}
	}
}

// note keeps the id of the last fact in what the server sent.
func (p *proxy) note(text []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range strings.Lines(string(text)) {
		if id, ok := strings.CutPrefix(line, "id: "); ok && strings.HasSuffix(id, "\n") {
			p.last = strings.TrimSpace(id)
		}
	}
}
