//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agent/host"
	"agent/host/model"
	"agent/host/model/anthropic"
	"agent/host/model/modeltest"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// streamBench is a provider on loopback that sends one long answer a token at a time, and holds it
// until it is let go.
type streamBench struct {
	server *modeltest.Server
	model  model.Model
	tokens int
}

// token ends with a blank: a word is shown when it is whole, since it may be the beginning of a
// secret.
const token = "the "

func openStream(tokens int) (*streamBench, error) {
	server, err := modeltest.Start(modeltest.Options{
		Only: []modeltest.Protocol{modeltest.Anthropic},
		Script: modeltest.Script{Chunk: len(token), Turns: []modeltest.Turn{{
			Text: strings.Repeat(token, tokens), Faults: []modeltest.Fault{{Kind: modeltest.Hold, At: 1500}},
		}}},
	})
	if err != nil {
		return nil, err
	}
	return &streamBench{server, anthropic.New(anthropic.Options{
		Model: "claude-test", BaseURL: server.URL(), HTTP: transport.Client(transport.Options{}),
		Key: func(context.Context) (string, error) { return modeltest.DefaultKey, nil },
	}), tokens}, nil
}

// timed lets the answer go once it is asked for, and says how long it takes from then to the end of
// what asks.
func (s *streamBench) timed(ctx context.Context, ask func() error) (time.Duration, error) {
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	seen, ended := len(s.server.Exchanges()), make(chan error, 1)
	go func() { ended <- ask() }()
	if _, err := s.server.Held(within, seen); err != nil {
		return 0, fmt.Errorf("wait for the stream: %w", err)
	}
	began := time.Now()
	s.server.Release()
	err := <-ended
	return time.Since(began), err
}

// drop parses the answer and keeps nothing of it.
func (s *streamBench) drop(ctx context.Context) error {
	n := 0
	prompt := []journal.Message{{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: "go"}}}}
	for d, err := range s.model.Stream(ctx, model.Request{Messages: prompt, MaxOutput: 1000, Thread: "t-bench", Turn: 1}) {
		if err != nil {
			return err
		}
		n += len(d.Text)
	}
	return s.whole(n)
}

func (s *streamBench) whole(bytes int) error {
	if want := s.tokens * len(token); bytes != want {
		return fmt.Errorf("%d of %d bytes of the answer came", bytes, want)
	}
	return nil
}

// fast takes every event as soon as it is there.
func (s *streamBench) fast(ctx context.Context, h *host.Host, drive func() error) error {
	o, got := h.Hub.Observe(0), make(chan int, 1)
	go func() {
		n := 0
		for {
			e, err := o.Next(ctx)
			if err != nil {
				got <- n
				return
			}
			n += len(e.Text)
		}
	}()
	err := drive()
	o.Close()
	return errors.Join(err, s.whole(<-got))
}

// streaming is how fast a model's answer comes through the host and into the record, whoever
// watches.
func streaming(ctx context.Context, b *bench) (_ []row, err error) {
	s, err := openStream(4000 * b.times(10))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.server.Close()) }()
	with, err := b.openHost(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, with.close()) }()
	without, err := b.openHost(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, without.close()) }()
	// Where the folder of live files cannot be made, runs go on without theirs.
	if err := os.WriteFile(filepath.Join(without.home, "live"), nil, 0o600); err != nil {
		return nil, err
	}
	h, err := with.host(s.model)
	if err != nil {
		return nil, err
	}
	unseen, err := without.host(s.model)
	if err != nil {
		return nil, err
	}
	ways := []func() error{
		func() error { return s.drop(ctx) },
		func() error { return without.carryOut(ctx, unseen) },
		func() error { return with.carryOut(ctx, h) },
		func() error { return s.fast(ctx, h, func() error { return with.carryOut(ctx, h) }) },
		func() error {
			stalled := h.Hub.Observe(0)
			defer stalled.Close()
			return with.carryOut(ctx, h)
		},
	}
	took := make([][]time.Duration, len(ways))
	for i := range b.times(10) {
		for k := range ways {
			way := (i + k) % len(ways)
			d, err := s.timed(ctx, ways[way])
			if err != nil {
				return nil, err
			}
			took[way] = append(took[way], d)
		}
	}
	return s.rows(took), nil
}

func (s *streamBench) rows(took [][]time.Duration) []row {
	a := func(way int) float64 { return float64(s.tokens) / median(took[way], time.Second) }
	const dropped, unit = "parsed and dropped without a run", "tokens/s"
	const why = "pieces that came over the network together are shown together. Of what a run adds to the parsing, two thirds go to the record (the " +
		"whole answer is looked through for secrets, encoded and read back, and two commits wait for the disk), a third to the look for secrets in what " +
		"is shown. A thousand tokens cost about 2 ms; a model takes seconds to give them."
	return []row{
		above(rate("no observer, no live file", a(1), unit, a(0), dropped), why),
		above(rate("no observer", a(2), unit, a(0), dropped), "as above."),
		above(rate("one fast observer", a(3), unit, a(0), dropped), "as above."),
		rate("one stalled observer", a(4), unit, a(2), "without it"),
		rate("the live file for other processes", a(2), unit, a(1), "without it"),
	}
}
