//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"

	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/world"
)

// parts begins the pass that is kept in the file of -state, or goes on with it.
func (o options) parts(ctx context.Context, l *lab.Lab) (*lab.Parts, error) {
	binary, err := os.ReadFile(l.Exe)
	if err != nil {
		return nil, fmt.Errorf("read the binary: %w", err)
	}
	pass := lab.Pass{
		Commit: world.Commit(ctx), Binary: fmt.Sprintf("%x", sha256.Sum256(binary)), Mode: o.mode(), Seed: o.seed, EveryShape: o.everyShape,
	}
	return lab.OpenParts(o.state, o.limit, pass, l.Report)
}

// endPart keeps what is done, or, of a pass that is complete and in which all is as promised, the
// result.
func (o options) endPart(l *lab.Lab, complete, promised bool) error {
	if o.state == "" {
		return nil
	}
	if complete && promised && o.result != "" {
		if err := os.WriteFile(o.result, []byte(l.Parts.Result(o.command())), 0o644); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
	if err := l.Parts.Close(complete); err != nil {
		return err
	}
	if n := l.Parts.Left(); n > 0 {
		return fmt.Errorf("%w (%d pieces are left)", errMoreLeft, n)
	}
	return nil
}

// command is what carries out the same pass in one part.
func (o options) command() string {
	text := "go run ./scripts/crashlab"
	for _, flag := range []struct {
		set  bool
		name string
	}{{o.short, " -short"}, {o.everyShape, " -every-shape"}, {o.faults, " -faults"}} {
		if flag.set {
			text += flag.name
		}
	}
	return fmt.Sprintf("%s -seed %d", text, o.seed)
}
