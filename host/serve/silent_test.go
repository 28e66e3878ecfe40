package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/host/watch"
)

// until waits until something holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for limit := time.Now().Add(patience); !holds(); <-again.C {
		if time.Now().After(limit) {
			t.Fatal(what)
		}
	}
}

// silent opens a stream of which nothing is ever read.
func (w *world) silent(path string) {
	w.t.Helper()
	open := len(w.s.streams)
	c, err := net.Dial("unix", filepath.Join(w.home, socketName))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+w.token+"\r\n\r\n"); err != nil {
		w.t.Fatal(err)
	}
	until(w.t, "the stream does not open", func() bool { return len(w.s.streams) > open })
}

// An observer that reads nothing is closed, of a run and of the list, and one beside it that reads
// sees everything. // promise 4
func TestSilentObserversAreClosed(t *testing.T) {
	w := newWorld(t)
	w.take = 2 * time.Second // enough for who reads, however busy the machine is
	w.serve()
	run := w.run("r-00000001", "p")
	w.hold(run)
	w.turns(run, 1, 200, strings.Repeat("text ", 1600)) // 1.6 MB, which no socket keeps
	reads, _ := w.stream("/v1/runs/" + run + "/events")
	reads.until("run.state")
	w.silent("/v1/runs/" + run + "/events?after=0")
	until(t, "it watches the run for ever", func() bool { return len(w.s.streams) == 1 })
	w.add(run, turn(run, 201, "more", "printed")...)
	reads.until("turn.settled")
	reads.close()
	until(t, "the reader is gone", func() bool { return len(w.s.streams) == 0 })

	list, _ := w.stream("/v1/events")
	list.until(watch.TypeServer)
	w.silent("/v1/events")
	until(t, "it does not join", func() bool {
		w.s.list.mu.Lock()
		defer w.s.list.mu.Unlock()
		return w.s.list.observers == 2
	})
	for i := range 4 {
		w.s.list.take(t.Context(), map[string]json.RawMessage{fmt.Sprint("x", i): json.RawMessage(`{"id":"` + strings.Repeat("x", 1<<20) + `"}`)})
		list.until(watch.TypeRuns)
	}
	until(t, "it watches the list for ever", func() bool { return len(w.s.streams) == 1 })
	next := w.run("r-00000002", "p")
	list.follow(t, next, func(map[string]any) bool { return true })
}
