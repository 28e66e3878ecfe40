package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agent/host/model/transport"
	"agent/recovery/journal"
)

// moment is what a server sends after a wait.
type moment struct {
	wait time.Duration
	text string
}

// script is a server whose time is the test's.
type script struct {
	headers time.Duration // the wait before them
	moments []moment
}

// RoundTrip answers with the script.
func (s script) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := wait(r.Context(), s.headers); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: &scripted{ctx: r.Context(), moments: s.moments}}, nil
}

type scripted struct {
	ctx     context.Context
	moments []moment
}

func (s *scripted) Read(p []byte) (int, error) {
	if len(s.moments) == 0 {
		return 0, io.EOF
	}
	m := s.moments[0]
	s.moments = s.moments[1:]
	if err := wait(s.ctx, m.wait); err != nil {
		return 0, err
	}
	return copy(p, m.text), nil
}

func (s *scripted) Close() error { return nil }

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func pings(n int, every time.Duration, text string) []moment {
	var list []moment
	for range n {
		list = append(list, moment{every, text})
	}
	return list
}

// A server is waited for: two minutes without a byte, ten with keep-alives and nothing else.
func TestPatience(t *testing.T) {
	const minute = time.Minute
	comment, ping, content := ": still here\n\n", "event: ping\ndata: {\"type\": \"ping\"}\n\n", "event: x\ndata: {\"text\":\"hi\"}\n\n"
	long := func(list ...[]moment) (all []moment) {
		for _, l := range list {
			all = append(all, l...)
		}
		return all
	}
	cases := []struct {
		name string
		s    script
		ends time.Duration // after so long
		says string        // "" when it ends well
	}{
		{"headers that take long", script{headers: 119 * time.Second, moments: []moment{{0, content}}}, 119 * time.Second, ""},
		{"headers that take too long", script{headers: 121 * time.Second}, 2 * minute, "did not answer within 2m0s"},
		{"an hour of content", script{moments: pings(60, minute, content)}, 60 * minute, ""},
		{"content that stops", script{moments: []moment{{minute, content}, {3 * minute, content}}}, 3 * minute, "no byte came for 2m0s"},
		{"comments before content", script{moments: long(pings(9, minute, comment), pings(1, 0, content), pings(9, minute, comment))}, 18 * minute, ""},
		{"comments without content", script{moments: pings(30, minute, comment)}, 10 * minute, "nothing but keep-alives for 10m0s"},
		{"pings without content", script{moments: pings(30, minute, ping)}, 10 * minute, "nothing but keep-alives for 10m0s"},
		{"keepalive events", script{moments: pings(30, minute, "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":3}\n\n")}, 10 * minute, "nothing but keep-alives"},
		{"pings that have no name", script{moments: pings(30, minute, "data: {\"type\": \"ping\"}\n\n")}, 10 * minute, "nothing but keep-alives"},
		{"empty lines", script{moments: pings(30, minute, "\r\n")}, 10 * minute, "nothing but keep-alives"},
		{"pings byte by byte", script{moments: pings(30, minute, ":")}, 10 * minute, "nothing but keep-alives"},
		{"a long event that comes slowly", script{moments: long([]moment{{0, "data: {\"text\":\"" + strings.Repeat("x", 100)}}, pings(30, minute, "y"), []moment{{0, "\n\n"}})}, 30 * minute, ""},
		{"comments, then silence", script{moments: long(pings(5, minute, comment), pings(1, 3*minute, comment))}, 7 * minute, "no byte came for 2m0s"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := bare(t.Context(), 1, transport.Client(transport.Options{Base: c.s}), "http://script.invalid", testKey)
				if took := time.Since(began); took != c.ends {
					t.Errorf("it took %s, want %s", took, c.ends)
				}
				if c.says == "" {
					if err != nil {
						t.Errorf("it ended with %v", err)
					}
					return
				}
				if e := transport.Explain(err, false); err == nil || e.Fault != journal.FaultStalled || !strings.Contains(e.Message, c.says) {
					t.Errorf("it ended with %v, want … %s …", err, c.says)
				}
			})
		})
	}
}

// A reader that is slow does not make the server look stalled.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := transport.Client(transport.Options{Base: script{moments: []moment{{0, "data: 1\n\n"}, {0, "data: 2\n\n"}}}})
		resp, err := c.Get("http://script.invalid")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		buf := make([]byte, 100)
		for {
			<-time.After(time.Hour)
			if _, err = resp.Body.Read(buf); err != nil {
				break
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("it ended with %v", err)
		}
	})
}
