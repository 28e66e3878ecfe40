package transport_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agent/host/model/transport"
	"agent/recovery/journal"
)

// A fault is made for real by a server and comes out under its name, through every protocol.
func TestFaults(t *testing.T) {
	short := transport.Options{Idle: time.Second}
	cases := []struct {
		name   string
		o      transport.Options
		handle func(w http.ResponseWriter, r *http.Request, ended <-chan struct{})
		fault  journal.Fault
		says   string
	}{
		{"the connection is reset before the answer", transport.Options{}, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			hijack(w, true, "")
		}, journal.FaultNetwork, "broke before the answer began: connection reset by peer"},
		{"the connection is closed before the answer", transport.Options{}, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			hijack(w, false, "")
		}, journal.FaultNetwork, "broke before the answer began: closed by the other side"},
		{"the connection is closed behind the headers", transport.Options{}, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			hijack(w, false, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1000\r\n\r\n")
		}, journal.FaultNetwork, "broke before the answer began"},
		{"the connection is reset within the answer", transport.Options{}, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			answers(w, r)
			hijack(w, true, "")
		}, journal.FaultCut, "broke off"},
		{"a chunk is cut", transport.Options{}, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			hijack(w, false, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n1000\r\n"+speak(r.URL.Path, "hi")[0])
		}, journal.FaultCut, "broke off: closed by the other side"},
		{"less comes than the length says", transport.Options{}, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			hijack(w, false, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100000\r\n\r\n"+speak(r.URL.Path, "hi")[0])
		}, journal.FaultCut, "broke off: closed by the other side"},
		{"no answer comes", short, func(_ http.ResponseWriter, _ *http.Request, ended <-chan struct{}) {
			<-ended
		}, journal.FaultStalled, "did not answer within 1s"},
		{"the answer stops coming", short, func(w http.ResponseWriter, r *http.Request, ended <-chan struct{}) {
			answers(w, r)
			<-ended
		}, journal.FaultStalled, "stalled: no byte came for 1s"},
		{"only comments come", transport.Options{Idle: limit, Quiet: 150 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request, ended <-chan struct{}) {
			answers(w, r)
			repeat(w, ": OPENROUTER PROCESSING\n\n", ended)
		}, journal.FaultStalled, "nothing but keep-alives for 150ms"},
		{"only pings come", transport.Options{Idle: limit, Quiet: 150 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request, ended <-chan struct{}) {
			w.Header().Set("Content-Type", "text/event-stream")
			repeat(w, "event: ping\ndata: {\"type\": \"ping\"}\n\n", ended)
		}, journal.FaultStalled, "nothing but keep-alives for 150ms"},
		{"what comes is no HTTP", transport.Options{}, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			hijack(w, false, "SSH-2.0-OpenSSH_9.9\r\n")
		}, journal.FaultGarbage, "is no HTTP"},
		{"a web page comes", transport.Options{}, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<html><title>Sign in\x1b[31m</title>")
		}, journal.FaultGarbage, "web page instead of a model's answer: Sign in [31m"},
		{"a whole answer comes instead of a stream", transport.Options{}, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"choices":[]}`)
		}, journal.FaultGarbage, "in one piece though a stream was asked for"},
		{"an error comes with status 200", transport.Options{}, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"error":{"code":429,"message":"slow down"}}`)
		}, journal.FaultRateLimit, "slow down"},
		{"the answer is compressed in a way that was not asked for", transport.Options{}, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, "\x0b\x02\x80")
		}, journal.FaultGarbage, `compressed as "br"`},
		{"the answer is no gzip", transport.Options{}, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, strings.Repeat("no gzip ", 100))
		}, journal.FaultGarbage, "no gzip"},
		{"the headers have no end", transport.Options{}, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			hijack(w, false, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 2<<20))
		}, journal.FaultTooLarge, "headers of"},
		{"a refusal has no end", short, func(w http.ResponseWriter, _ *http.Request, ended <-chan struct{}) {
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, "out of order")
			w.(http.Flusher).Flush()
			<-ended
		}, journal.FaultOverloaded, "out of order"},
		{"a refusal is no JSON", transport.Options{}, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			w.Header().Set("X-Request-Id", "req-7")
			w.WriteHeader(http.StatusBadGateway)
			io.WriteString(w, "<html><head><title>502 Bad Gateway</title></head></html>")
		}, journal.FaultServer, "502 Bad Gateway"},
	}
	for _, c := range cases {
		for name, through := range clients() {
			if name == "anthropic" && c.name == "the connection is closed behind the headers" {
				continue // there an answer begins with its headers
			}
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := serve(t, c.handle)
				_, err := drive(t, through, c.o, s.URL, 1)
				if err == nil {
					t.Fatal("the exchange ended well")
				}
				e := transport.Explain(err, false)
				if e.Fault != c.fault || !strings.Contains(e.Message, c.says) {
					t.Errorf("got %s: %s\nwant %s: … %s …", e.Fault, e.Message, c.fault, c.says)
				}
				if strings.ContainsAny(e.Message, "\x1b\n") {
					t.Errorf("the message is not one clean line: %q", e.Message)
				}
			})
		}
	}
}

// flood writes more than 100 MB, or until nobody reads on.
func flood(w io.Writer, piece string) {
	block := []byte(strings.Repeat(piece, 64))
	for sent := 0; sent < 100<<20; sent += len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// repeat sends the same every few milliseconds until the test ends.
func repeat(w http.ResponseWriter, piece string, ended <-chan struct{}) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-ended:
			return
		case <-tick.C:
		}
	}
}

// Events of several MB are taken: a provider repeats the whole answer in the last one.
func TestLargeEvent(t *testing.T) {
	for name, through := range clients() {
		t.Run(name, func(t *testing.T) {
			large := strings.Repeat("x", 4<<20)
			s := serve(t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
				w.Header().Set("Content-Type", "text/event-stream")
				for _, event := range speak(r.URL.Path, large) {
					io.WriteString(w, event)
				}
			})
			text, err := drive(t, through, transport.Options{}, s.URL, 1)
			if err != nil || name != "bare" && text != large {
				t.Errorf("got %d bytes, %v", len(text), err)
			}
		})
	}
}

// A server that sends 100 MB, in one line, in many, or packed into a few KB, is bounded and
// reported as too large. What it costs in memory is bounded by what one event may have, and does
// not grow with what is sent.
func TestFlood(t *testing.T) {
	var bomb bytes.Buffer
	zw, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	flood(zw, "data: {\"x\":1}\n")
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, says string
		send       func(w http.ResponseWriter)
	}{
		{"one line", "a line of the answer is larger than 8 MiB", func(w http.ResponseWriter) {
			io.WriteString(w, "data: ")
			flood(w, strings.Repeat("x", 1024))
		}},
		{"lines", "the answer is larger than 32 MiB", func(w http.ResponseWriter) { flood(w, ": "+strings.Repeat("x", 1021)+"\n") }},
		{"gzip bomb", "the answer is larger than 32 MiB", func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		}},
	}
	for _, c := range cases {
		for name, through := range clients() {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
					w.Header().Set("Content-Type", "text/event-stream")
					c.send(w)
				})
				peak := watchMemory(t)
				_, err := drive(t, through, transport.Options{}, s.URL, 1)
				used := peak()
				if err == nil {
					t.Fatal("the exchange ended well")
				}
				if e := transport.Explain(err, false); e.Fault != journal.FaultTooLarge || !strings.Contains(e.Message, c.says) {
					t.Errorf("got %s: %s", e.Fault, e.Message)
				}
				t.Logf("%d MiB", used>>20)
				// A scanner of lines doubles its buffer, and so has 8 and 16 MiB at once; an event
				// of many lines has 32.
				if used > 96<<20 {
					t.Errorf("%d MiB of memory were used", used>>20)
				}
			})
		}
	}
}

// watchMemory looks at the heap until the function that it returns is called, which gives how much
// it grew at most.
func watchMemory(t *testing.T) func() uint64 {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-stop:
				done <- most - min(before, most)
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 { close(stop); return <-done }
}

// A server that cannot be reached is reported with its address and what to look at, and never with
// the key.
func TestUnreachable(t *testing.T) {
	closed := unheard(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	cases := []struct {
		name, url    string
		fault        journal.Fault
		says, remedy string
	}{
		{"nothing listens", "http://" + closed, journal.FaultNetwork, "connect to " + closed + ": connection refused", "check that the server runs"},
		{"no such name", "http://nowhere.invalid", journal.FaultNetwork, "look up nowhere.invalid: ", "check the base URL"},
		{"no TLS", "https://" + plain.Listener.Addr().String(), journal.FaultNetwork, "does not speak TLS", "http://"},
		{"a certificate of nobody", secure.URL, journal.FaultNetwork, "its certificate is not accepted", "check the base URL"},
		{"no scheme of HTTP", "gopher://127.0.0.1", journal.FaultRequest, "no address that begins with http:// or https://", "check the base URL"},
	}
	for _, c := range cases {
		for name, through := range clients() {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				_, err := drive(t, through, transport.Options{}, c.url, 1)
				if err == nil {
					t.Fatal("the exchange ended well")
				}
				e := transport.Explain(err, false)
				if e.Fault != c.fault || !strings.Contains(e.Message, c.says) || !strings.Contains(e.Remedy, c.remedy) {
					t.Errorf("got %s: %s (%s)", e.Fault, e.Message, e.Remedy)
				}
			})
		}
	}
}

// unheard is an address at which nobody listens: the client's end of a connection, which is nobody
// else's as long as the connection stands. The port of a listener that was closed may be.
func unheard(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.LocalAddr().String()
}

// A key with a line break in it, as a command may print one, is reported as such.
func TestKeyThatCannotBeSent(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request, <-chan struct{}) {})
	for name, through := range clients() {
		_, err := through(t.Context(), 1, transport.Client(transport.Options{}), s.URL, "sk-123456789\n456")
		if e := transport.Explain(err, false); e.Fault != journal.FaultKey || strings.Contains(e.Message, "sk-1") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// The key does not go where a redirect leads, not even on the same host.
func TestRedirect(t *testing.T) {
	var asked atomic.Int64
	other := serve(t, func(http.ResponseWriter, *http.Request, <-chan struct{}) { asked.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		for name, through := range clients() {
			t.Run(fmt.Sprint(status, "/", name), func(t *testing.T) {
				s := serve(t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
					http.Redirect(w, r, other.URL+"/v2?token=abc", status)
				})
				_, err := drive(t, through, transport.Options{}, s.URL, 1)
				e := transport.Explain(err, false)
				if want := "redirects to " + other.URL + "/v2,"; e.Fault != journal.FaultRequest || !strings.Contains(e.Message, want) {
					t.Errorf("got %s: %s", e.Fault, e.Message)
				}
			})
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the other server was asked %d times", n)
	}
}

// A context's end comes out as its own error, before the answer and within it.
func TestCancel(t *testing.T) {
	for _, when := range []string{"before", "within"} {
		for name, through := range clients() {
			t.Run(when+"/"+name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s := serve(t, func(w http.ResponseWriter, r *http.Request, ended <-chan struct{}) {
					if when == "within" {
						answers(w, r)
					}
					cancel()
					<-ended
				})
				if _, err := through(ctx, 1, transport.Client(transport.Options{}), s.URL, testKey); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

// What cannot be read of a stream is garbage, and an error that a provider tells in a stream is
// what it says.
func TestStreamErrors(t *testing.T) {
	cases := []struct {
		name, event string
		fault       journal.Fault
		says        string
	}{
		{"no JSON", "event: message_start\ndata: {\"type\":\n\n", journal.FaultGarbage, "not JSON"},
		{"overloaded", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"},\"request_id\":\"req-9\"}\n\n", journal.FaultOverloaded, "Overloaded"},
		{"no quota", "event: error\ndata: {\"error\":{\"code\":\"insufficient_quota\",\"message\":\"You exceeded your current quota\"}}\n\n", journal.FaultCredit, "current quota"},
		{"no reason", "event: error\ndata: {\"error\":{\"message\":\"upstream died\"}}\n\n", journal.FaultServer, "upstream died"},
	}
	for _, c := range cases {
		for name, through := range clients() {
			if name == "bare" {
				continue
			}
			t.Run(c.name+"/"+name, func(t *testing.T) {
				s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
					w.Header().Set("Content-Type", "text/event-stream")
					io.WriteString(w, c.event)
				})
				_, err := drive(t, through, transport.Options{}, s.URL, 1)
				if err == nil {
					t.Fatal("the exchange ended well")
				}
				if e := transport.Explain(err, true); e.Fault != c.fault || !strings.Contains(e.Message, c.says) || !e.Began {
					t.Errorf("got %+v", e)
				}
			})
		}
	}
}
