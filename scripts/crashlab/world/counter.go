//go:build linux

package world

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"agent/scripts/crashlab/marks"
)

// Counter is asked by calls whose effect is a request. It serves all worlds.
type Counter struct {
	listen net.Listener
	http   *http.Server
	note   func(mark string) // is called with each effect before it is answered; nil for nobody
	mu     sync.Mutex
	counts map[string]int
	asks   map[int]chan struct{} // questions that are coming, by world
}

func StartCounter() (*Counter, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the counter: %v", err)
	}
	c := &Counter{listen: l, counts: map[string]int{}, asks: map[int]chan struct{}{}}
	c.http = &http.Server{Handler: c, ReadHeaderTimeout: time.Minute}
	go func() {
		// It ends when the listener is closed, which is no error.
		_ = c.http.Serve(l)
	}()
	return c, nil
}

// counterWork is how long an effect takes. A commit is over sooner.
const counterWork = 20 * time.Millisecond

// ServeHTTP counts POST /effect/MARK, takes POST /asks/WORLD for the notice that a question is
// coming, and has a page to look at.
func (c *Counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	if r.Method == http.MethodGet && r.URL.Path == "/page" {
		_, _ = w.Write([]byte("hay and needle\n")) // as below
		return
	}
	if world, ok := strings.CutPrefix(r.URL.Path, "/asks/"); ok {
		c.announce(world)
		return
	}
	mark, ok := strings.CutPrefix(r.URL.Path, "/effect/")
	if r.Method != http.MethodPost || !ok {
		http.NotFound(w, r)
		return
	}
	// What is asked for takes a moment and does not happen for a client that is gone by then: so a
	// result that was recorded before its effect is found to claim what nobody saw. Whoever hangs
	// up is noticed once the request is read.
	_, err := io.Copy(io.Discard, r.Body)
	gone := err != nil
	work := time.NewTimer(counterWork)
	defer work.Stop()
	select {
	case <-work.C:
	case <-r.Context().Done():
		gone = true
	}
	if gone {
		return
	}
	c.mu.Lock()
	c.counts[mark]++
	note := c.note
	c.mu.Unlock()
	if note != nil {
		note(mark)
	}
	// A client that is gone is no error: what it asked for has happened.
	_, _ = w.Write([]byte("counted\n"))
}

// announce notifies a world that a question is coming.
func (c *Counter) announce(world string) {
	n, err := strconv.Atoi(world)
	if err != nil {
		return // nobody of ours
	}
	select {
	case c.Questions(n) <- struct{}{}:
	default: // many are on their way already
	}
}

// Questions receives the notices that a question of the world is coming.
func (c *Counter) Questions(world int) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asks[world] == nil {
		c.asks[world] = make(chan struct{}, 16)
	}
	return c.asks[world]
}

func (c *Counter) of(world int) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := map[string]int{}
	for mark, n := range c.counts {
		if strings.HasPrefix(mark, marks.In(world, "")) {
			own[mark] = n
		}
	}
	return own
}

// Notify has somebody notified of each effect, instead of whoever was before; nil for nobody.
func (c *Counter) Notify(note func(mark string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note = note
}

// Set lets the counts be what they were at another time.
func (c *Counter) Set(counts map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts = maps.Clone(counts)
}

func (c *Counter) Addr() string { return c.listen.Addr().String() }

func (c *Counter) Close() error { return c.http.Close() }
