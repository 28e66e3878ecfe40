package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	floodConns = 5000
	mostMemory = 256 << 20
)

// mostUsed is the most memory that a process had at any time.
func mostUsed(t *testing.T, pid int) int64 {
	t.Helper()
	text := readFile(t, fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(text, "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// zeros is a body without an end that matters; it counts what was taken of it.
type zeros struct{ taken atomic.Int64 }

func (z *zeros) Read(b []byte) (int, error) {
	clear(b)
	z.taken.Add(int64(len(b)))
	return len(b), nil
}

// What strangers send to the page's port, too slowly, too often, too much or too deep, costs
// little, ends by itself, and neither a run nor who watches it notices. // S12
func TestFlood(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	server, err := w.served(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer kill(server)
	w.token = readFile(t, filepath.Join(w.home, tokenName))
	link, _ := w.ask("POST", "/v1/logins", `{"port":0}`).json(t, "url").(string)
	base, _, _ := strings.Cut(link, loginPart)
	run := w.run("r-00000001", "p")
	w.hold(run)
	stream, _ := w.stream("/v1/runs/" + run + "/events")
	stream.until("run.state")

	ended := slowly(t, ctx, strings.TrimPrefix(base, "http://"))
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", server.Process.Pid))
	if err != nil || len(open) > 1300 { // 1,100 connections, and the files and the socket
		t.Errorf("the server has %d files and connections open, %v", len(open), err)
	}
	for n := range 20 { // meanwhile
		w.add(run, turn(run, n+1, "text", "printed")...)
		stream.until("turn.settled")
		if a := w.ask("GET", "/v1/server", ""); a.status != http.StatusOK {
			t.Fatalf("the socket under the flood: %d %s", a.status, a.text)
		}
	}
	for _, err := range ended() {
		t.Error(err)
	}

	var large zeros
	r, err := http.NewRequestWithContext(ctx, "POST", base+"/v1/login", io.LimitReader(&large, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if a, err := http.DefaultClient.Do(r); err == nil { // else it was cut off while it was being sent
		if _, err := io.Copy(io.Discard, a.Body); err != nil || a.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("a body of 1 GiB: %d, %v", a.StatusCode, err)
		}
		_ = a.Body.Close() // it was read
	}
	if n := large.taken.Load(); n > 64<<20 {
		t.Errorf("%d bytes of a body were taken", n)
	}
	var deep sync.WaitGroup
	for range 4 * mostStrangers {
		deep.Go(func() {
			c, err := http.Post(base+"/v1/login", "application/json", strings.NewReader(`{"code":`+strings.Repeat("[", mostBody-8)))
			if err != nil {
				return // it was cut off while it was being sent
			}
			if c.StatusCode != http.StatusBadRequest && c.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("deep JSON: %d", c.StatusCode)
			}
			_ = c.Body.Close() // its status tells
		})
	}
	deep.Wait()
	http.DefaultClient.CloseIdleConnections()
	if a := askAt(t, base, "GET", "/v1/server", "", bearer(w.token)); a.status != http.StatusOK {
		t.Errorf("after the flood: %d %s", a.status, a.text)
	}
	w.add(run, turn(run, 21, "text", "printed")...)
	stream.until("turn.settled")
	used := mostUsed(t, server.Process.Pid)
	t.Logf("the server had %d MB at most", used>>20)
	if used > mostMemory && !raceEnabled { // the detector of races takes several times as much
		t.Errorf("the server had %d bytes", used)
	}
}

// slowly opens connections that begin a request and never end it. ended waits until the server has
// closed each, and says which it had not.
func slowly(t *testing.T, ctx context.Context, at string) (ended func() []error) {
	t.Helper()
	conns := floodConns
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if conns > int(limit.Cur)-200 {
		conns = int(limit.Cur) - 200
		t.Logf("only %d connections: this process may open no more", conns)
	}
	began := time.Now()
	var readers sync.WaitGroup
	failed := make(chan error, conns)
	for range conns {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(began.Add(10 * headerWait))                               // a connection has deadlines
		_, _ = io.WriteString(c, "POST /v1/login HTTP/1.1\r\nHost: "+at+"\r\nX-Slow: ") // it may be closed already
		readers.Go(func() {
			defer c.Close()
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				failed <- fmt.Errorf("a connection is open after %v", time.Since(began).Round(time.Second))
			}
		})
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
	}
	return func() (all []error) {
		readers.Wait()
		close(failed)
		for err := range failed {
			all = append(all, err)
		}
		return all
	}
}
