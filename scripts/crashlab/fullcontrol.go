//go:build linux

package main

import (
	"context"
	"errors"
	"path/filepath"
)

// fullControls lose something on purpose: the ballast is taken away, and a command pays no heed to a write that fails.
func fullControls(ctx context.Context, l *lab) error {
	bare := unkept("anthropic")
	bare.kind = "bare"
	w, err := fillUp(ctx, l, bare)
	if err != nil {
		return err
	}
	l.control("a full disk and no ballast lose the result of a request", lost, w.found)
	if err := w.world.close(false); err != nil {
		return err
	}
	var disk *volume
	t, err := l.begin(heedless(), func(root string) (_ func(bool) error, err error) {
		if disk, err = newVolume(filepath.Join(root, "work"), volumeOptions{mib: 4, block: 1024}); err != nil {
			return nil, err
		}
		return disk.close, nil
	})
	if err == nil {
		err = disk.fill()
	}
	if err != nil {
		return err
	}
	if err := t.finish(ctx); err != nil && !errors.Is(err, errFound) {
		return errors.Join(err, t.world.close(false))
	}
	l.control("a command pays no heed to a full disk", lost, t.found)
	return t.world.close(false)
}

// heedless is a story whose first command goes on as if its write had not failed.
func heedless() job {
	return job{tool: "shell", situation: "first", shape: "runbook", victim: "host", change: func(s *story) {
		command := s.turns[0][0].args["command"].(string) + " || true"
		s.turns[0][0] = step{"shell", map[string]any{"command": command}, "```sh\n" + command + "\n```\n"}
	}}
}
