//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"agent/host/model"
	"agent/host/model/anthropic"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// provider is looping behind HTTP on loopback: whatever it is sent, it asks for the same call. What
// it is sent it reads and drops.
type provider struct {
	looping
	*httptest.Server
	turn int
	last int64 // bytes of the last request
}

// serve begins to serve; the first request it gets is for that turn.
func (m looping) serve(turn int) *provider {
	p := &provider{looping: m, turn: turn}
	p.Server = httptest.NewServer(p)
	return p
}

// ServeHTTP answers a request for an answer, or takes one that is only sent.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil || strings.HasSuffix(r.URL.Path, "/sent") {
		return
	}
	p.last = n
	p.asked(p.turn)
	w.Header().Set("Content-Type", "text/event-stream")
	block, delta, stop := `{"type":"text","text":""}`, `{"type":"text_delta","text":"done"}`, "end_turn"
	if p.turn < p.turns {
		block = fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":%q,"input":{}}`, p.turn, p.calls[0].Tool)
		delta, stop = fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, p.calls[0].Args), "tool_use"
	}
	p.turn++
	for _, e := range []string{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":` + block + `}`,
		`{"type":"content_block_delta","index":0,"delta":` + delta + `}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"` + stop + `"},"usage":{"output_tokens":1}}`,
		`{"type":"message_stop"}`,
	} {
		kind := strings.Split(e, `"`)[3]
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, e); err != nil {
			return // who asked is gone
		}
	}
}

// model asks it over the Messages API.
func (p *provider) model() model.Model {
	return anthropic.New(anthropic.Options{
		Model: "claude-test", BaseURL: p.URL, HTTP: transport.Client(transport.Options{}),
		Key: func(context.Context) (string, error) { return "none", nil },
	})
}

// send sends as many bytes as the last request had, and nothing else.
func (p *provider) send(c *http.Client) error {
	res, err := c.Post(p.URL+"/sent", "application/json", bytes.NewReader(make([]byte, p.last)))
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// conversation is a run that goes on after so many turns, with a provider of its own.
type conversation struct {
	*paced
	host     *inProcess
	provider *provider
	sent     paced // as many bytes as its requests have, sent by a plain client
}

func (b *bench) converse(ctx context.Context, after, turns int) (c *conversation, err error) {
	const run = "r-talk0000"
	c = &conversation{}
	if c.host, err = b.openHost(ctx); err != nil {
		return nil, err
	}
	created := journal.RunCreated{Run: run, Prompt: "go", Folder: c.host.folder, Model: "looping", Mode: journal.ModeYolo}
	err = grow(ctx, c.host.store, created, after)
	if err == nil { // until the log has its size
		err = c.host.begin(ctx, looping{turns: 300, calls: instantCalls(0)})
	}
	if err != nil {
		return nil, errors.Join(err, c.host.close())
	}
	ready := make(chan *provider, 1)
	c.paced = pace(after+turns, func(m looping) error {
		p := m.serve(after)
		defer p.Close()
		ready <- p
		return c.host.resume(ctx, p.model(), run)
	})
	c.provider = <-ready
	return c, nil
}

// turnAndSend takes a turn, and then sends a request's bytes.
func (c *conversation) turnAndSend(plain *http.Client) error {
	if err := c.turn(); err != nil {
		return err
	}
	at, before := time.Now(), worked()
	err := c.provider.send(plain)
	c.sent.times, c.sent.cpu = append(c.sent.times, time.Since(at)), append(c.sent.cpu, worked()-before)
	return err
}

// requests compares turns far into a conversation with turns near its beginning. What the bytes of
// a request cost that is only sent is left out of both.
func requests(ctx context.Context, b *bench) (_ []row, err error) {
	const near, far = 50, 1000
	many := max(b.times(200), 60)
	var of [2]*conversation
	for i, after := range []int{near, far} {
		if of[i], err = b.converse(ctx, after, many+2); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, of[i].host.close()) }()
	}
	plain := &http.Client{}
	defer plain.CloseIdleConnections()
	for range 2 { // the first request of a process is written whole
		err = errors.Join(err, of[0].turn(), of[1].turn())
	}
	for range many / 2 {
		err = errors.Join(err, of[0].turnAndSend(plain), of[1].turnAndSend(plain), of[1].turnAndSend(plain), of[0].turnAndSend(plain))
		if err != nil {
			break
		}
	}
	if err = errors.Join(err, of[0].finish(), of[1].finish()); err != nil {
		return nil, err
	}
	const us = time.Microsecond
	var rows []row
	for _, f := range []struct {
		what       string
		turn, sent func(*conversation) []time.Duration
	}{
		{"time", func(c *conversation) []time.Duration { return c.times }, func(c *conversation) []time.Duration { return c.sent.times }},
		{"processor time", func(c *conversation) []time.Duration { return c.cpu }, func(c *conversation) []time.Duration { return c.sent.cpu }},
	} {
		var own, sent [2]float64
		for i, c := range of {
			sent[i] = median(f.sent(c), us)
			own[i] = median(f.turn(c), us) - sent[i]
		}
		rows = append(rows, cost(fmt.Sprintf("%s of a turn after %d, beyond sending its request", f.what, far), own[1], "us",
			own[0], fmt.Sprintf("after %d", near)).because(fmt.Sprintf(
			"sending the %d KB of the one request alone took %.0f us, the %d KB of the other %.0f us.",
			of[1].provider.last>>10, sent[1], of[0].provider.last>>10, sent[0])))
	}
	return rows, nil
}
