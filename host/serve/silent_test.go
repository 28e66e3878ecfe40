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
	"agent/scripts/testkit"
)

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
	testkit.Until(w.t, "the stream opens", func() bool { return len(w.s.streams) > open })
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
	testkit.Until(t, "it stops to watch the run", func() bool { return len(w.s.streams) == 1 })
	w.add(run, turn(run, 201, "more", "printed")...)
	reads.until("turn.settled")
	reads.close()
	testkit.Until(t, "no stream is left", func() bool { return len(w.s.streams) == 0 })

	list, _ := w.stream("/v1/events")
	list.until(watch.TypeServer)
	w.silent("/v1/events")
	testkit.Until(t, "it joins", func() bool {
		w.s.list.mu.Lock()
		defer w.s.list.mu.Unlock()
		return w.s.list.observers == 2
	})
	for i := range 4 {
		w.s.list.take(t.Context(), map[string]json.RawMessage{fmt.Sprint("x", i): json.RawMessage(`{"id":"` + strings.Repeat("x", 1<<20) + `"}`)})
		list.until(watch.TypeRuns)
	}
	testkit.Until(t, "it stops to watch the list", func() bool { return len(w.s.streams) == 1 })
	next := w.run("r-00000002", "p")
	list.follow(t, next, func(map[string]any) bool { return true })
}
