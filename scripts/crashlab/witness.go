//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// markForm is what every effect carries: the number of its world, and its step.
const markForm = `mark-\d+-[a-z]+`

// markIn is the mark of a step in a world. All worlds' marks are of one length: what a tool says of a file that holds them, such as its
// size, is the same in all.
func markIn(world int, letters string) string { return fmt.Sprintf("mark-%06d-%s", world, letters) }

func marksIn(text string) []string {
	var out []string
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(markForm).FindAllString(text, -1) {
		if !seen[m] {
			seen[m] = true
			out = append(out, m)
		}
	}
	return out
}

// counter is asked by calls whose effect is a request. It serves all worlds.
type counter struct {
	listen net.Listener
	http   *http.Server
	note   func(mark string) // is told of each effect before it is answered; nil for nobody
	mu     sync.Mutex
	counts map[string]int
	asks   map[int]chan struct{} // questions that are coming, by world
}

func startCounter() (*counter, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the counter: %v", err)
	}
	c := &counter{listen: l, counts: map[string]int{}, asks: map[int]chan struct{}{}}
	c.http = &http.Server{Handler: c, ReadHeaderTimeout: time.Minute}
	go func() {
		// It ends when the listener is closed, which is no error.
		_ = c.http.Serve(l)
	}()
	return c, nil
}

// counterWork is how long an effect takes. A commit is over sooner.
const counterWork = 20 * time.Millisecond

// ServeHTTP counts POST /effect/MARK, takes POST /asks/WORLD for the word that a question is coming, and has a page to look at.
func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	if r.Method == http.MethodGet && r.URL.Path == "/page" {
		_, _ = w.Write([]byte("hay and needle\n")) // as below
		return
	}
	if world, ok := strings.CutPrefix(r.URL.Path, "/asks/"); ok {
		c.asked(world)
		return
	}
	mark, ok := strings.CutPrefix(r.URL.Path, "/effect/")
	if r.Method != http.MethodPost || !ok {
		http.NotFound(w, r)
		return
	}
	// What is asked for takes a moment and does not happen for a client that is gone by then: so a result that was recorded before
	// its effect is found to claim what nobody saw. Whoever hangs up is noticed once the request is read.
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
	// A client that is gone is no trouble: what it asked for has happened.
	_, _ = w.Write([]byte("counted\n"))
}

// asked tells a world that a question is coming.
func (c *counter) asked(world string) {
	n, err := strconv.Atoi(world)
	if err != nil {
		return // nobody of ours
	}
	select {
	case c.askedIn(n) <- struct{}{}:
	default: // many are on their way already
	}
}

// askedIn brings the word that a question of the world is coming.
func (c *counter) askedIn(world int) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asks[world] == nil {
		c.asks[world] = make(chan struct{}, 16)
	}
	return c.asks[world]
}

func (c *counter) of(world int) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := map[string]int{}
	for mark, n := range c.counts {
		if strings.HasPrefix(mark, markIn(world, "")) {
			own[mark] = n
		}
	}
	return own
}

// tell lets somebody be told of each effect, instead of whoever was before; nil for nobody.
func (c *counter) tell(note func(mark string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note = note
}

// set lets the counts be what they were at another time.
func (c *counter) set(counts map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts = maps.Clone(counts)
}

func (c *counter) addr() string { return c.listen.Addr().String() }

func (c *counter) close() error { return c.http.Close() }

// witness counts effects without a word from the process or its database.
type witness struct {
	world   int
	effects string // commands append to it
	folder  string
	counter *counter
	inotify int
	moved   map[string]int // marks of files that were moved into place
}

func newWitness(world int, folder string, c *counter) (*witness, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %v", folder, err)
	}
	if _, err := unix.InotifyAddWatch(fd, folder, unix.IN_MOVED_TO); err != nil {
		return nil, errors.Join(fmt.Errorf("watch %s: %v", folder, err), unix.Close(fd))
	}
	return &witness{world: world, effects: filepath.Join(folder, "effects"), folder: folder, counter: c, inotify: fd, moved: map[string]int{}}, nil
}

func (w *witness) close() error { return unix.Close(w.inotify) }

// drain takes what the kernel has noted. The queue is filled before the call that moves a file returns.
func (w *witness) drain() error {
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.inotify, buf)
		if errors.Is(err, unix.EAGAIN) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what happened in %s: %v", w.folder, err)
		}
		for at := 0; at < n; {
			e := (*unix.InotifyEvent)(unsafe.Pointer(&buf[at]))
			if e.Mask&unix.IN_Q_OVERFLOW != 0 {
				return fmt.Errorf("read what happened in %s: the kernel's queue ran over", w.folder)
			}
			name := strings.TrimRight(string(buf[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+int(e.Len)]), "\x00")
			for _, m := range marksIn(name) {
				w.moved[m]++
			}
			at += unix.SizeofInotifyEvent + int(e.Len)
		}
	}
}

// counts says how often each marked effect has happened so far.
func (w *witness) counts() (map[string]int, error) {
	if err := w.drain(); err != nil {
		return nil, err
	}
	all := w.counter.of(w.world)
	text, err := os.ReadFile(w.effects)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		all[strings.TrimSpace(line)]++
	}
	for m, n := range w.moved {
		all[m] += n
	}
	return all, nil
}
