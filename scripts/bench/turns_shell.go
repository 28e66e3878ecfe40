//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"agent/host/model/modeltest"
)

// shellTurns is how much more a turn costs that runs a command than one that reads a file, from the
// request to the next request. floor does what the command cannot do without.
func (b *bench) shellTurns(ctx context.Context, floor func() error) (_ []row, err error) {
	server, err := modeltest.Start(modeltest.Options{Only: []modeltest.Protocol{modeltest.Anthropic}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	kind := func(tool, args string) syncKind {
		return syncKind{"a turn of " + tool, func(int) []modeltest.Call { return []modeltest.Call{{Tool: tool, Args: json.RawMessage(args)}} }}
	}
	read, command := kind("read_file", `{"path":"data-0"}`), kind("shell", `{"command":"true"}`)
	const few, many = 1, 21
	var took [5][]time.Duration // few and many turns that read, few and many that run a command, and the floor
	for range b.times(20) {
		for i, k := range []syncKind{read, read, command, command} {
			s, err := b.script(server, k, []int{few, many}[i%2])
			if err != nil {
				return nil, err
			}
			began := time.Now()
			if err := s.drive(ctx); err != nil {
				return nil, err
			}
			took[i] = append(took[i], time.Since(began))
		}
		for range many - few {
			began := time.Now()
			if err := floor(); err != nil {
				return nil, err
			}
			took[4] = append(took[4], time.Since(began))
		}
	}
	ms := func(i int) float64 { return median(took[i], time.Millisecond) }
	reads, commands := (ms(1)-ms(0))/(many-few), (ms(3)-ms(2))/(many-few)
	return []row{
		cost("a turn of one shell call, true", commands, "ms", 1.3*reads+ms(4), "1.3 turns that read a file, and the floor of a confined command").because(
			"The floor is sh -c true, a Go program that says hello twice, for the runner and the confining process, and the fsyncs of new files. " +
				"What is above it is what the rows of the runner and of the sandbox have above theirs, but for what confines: it is set up while the record of " +
				"the start is synced, on the other processor where that is free."),
		plain("a turn of one read_file call", reads, "ms"),
		plain("the floor of a confined command", ms(4), "ms"),
	}, nil
}
