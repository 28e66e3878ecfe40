//go:build linux

package power

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"agent/host/model/modeltest"
	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// flowShape is the story of a flow. Its cuts are judged alone: how a flow goes on when artifacts of
// it are lost is for package fault/flows.
const flowShape = "flow"

// answering are words of the prompt to which the model's answer is an artifact.
const answering = "PART-two."

// newFlow is a story whose commands write artifacts and make nothing durable, and whose model's
// answer is one.
func newFlow(number int) story.Story {
	effect := func(letter string) string { return "echo " + marks.In(number, letter) + " >> effects\n```\n" }
	return story.Story{Tool: "shell", Situation: "first", Shape: "anthropic", Mode: "yolo", Subject: story.Subjects()["shell"], Files: map[string]string{
		"notes.txt": "hay\n",
		"flow.md": "---\nagent: flow\n---\n" +
			"## one\n```phase\nmodel = \"runbook\"\noutputs = [\"made/one\"]\n```\n```sh\nmkdir -p made && seq 1 3000 > made/one && " + effect("a") +
			"## two\n```phase\nmode = \"plan\"\nanswer = \"made/far/two\"\n```\n" + answering + "\n" +
			"## three\n```phase\nmodel = \"runbook\"\ninputs = [\"one\", \"two\"]\noutputs = [\"made/deep/down/three\", \"made/four\"]\n```\n```sh\n" +
			"mkdir -p made/deep/down && cat made/one made/far/two > made/deep/down/three && echo four > made/four && " + effect("c"),
	}}
}

// first are the commands that begin the story, where it does not say so itself.
func (p *recording) first() [][]string {
	if p.shape != flowShape {
		return nil
	}
	p.world.Model.Add(answering, []modeltest.Turn{{Text: "Two it is."}})
	return [][]string{append(p.story.RunArgs("", p.world.URL())[:5], "-f", "flow.md")}
}

// next is what follows in the story; a flow is one command.
func (p *recording) next(t *trial.Trial) ([]string, error) {
	if p.shape == flowShape {
		return nil, nil
	}
	return t.Next()
}

// compareClaims says of which artifacts the record claims that a phase made them, and the folder
// that the cut left does not hold their bytes. The story writes each of them once.
func compareClaims(r *journal.Record, dir string) (judge.Findings, error) {
	var f judge.Findings
	for _, no := range slices.Sorted(maps.Keys(r.Facts)) {
		for _, x := range r.Facts[no] {
			if x.Kind != journal.PhaseEnded {
				continue
			}
			part, err := x.Part()
			if err != nil {
				return nil, err
			}
			for _, a := range part.Out {
				b, err := os.ReadFile(filepath.Join(dir, "work", a.Path))
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return nil, err
				}
				if sum := sha256.Sum256(b); err != nil || hex.EncodeToString(sum[:]) != a.SHA {
					f.Add(judge.Lost, "fact %d says that phase %s made %s, and after the cut it has %d bytes of others (%v)", x.Seq, part.Phase, a.Path, len(b), err)
				}
			}
		}
	}
	return f, nil
}

// unsynced is a product that claims artifacts whose bytes it never made durable.
func unsynced() world.Damage {
	return world.Damage{
		Name: "an artifact is claimed before its bytes are durable", Word: "unsynced", File: "host/flow/artifact/read.go",
		Text: "func syncFile(t *files.Target, file *os.File) error {\n", Change: "func syncFile(t *files.Target, file *os.File) error {\n	if <asked> { return nil }\n",
	}
}

// controlFlow cuts the power of such a product.
func controlFlow(ctx context.Context, l *lab.Lab, disk string) (err error) {
	d := unsynced()
	exe, err := world.Broken(ctx, l.Dir, []world.Damage{d})
	if err != nil {
		return fmt.Errorf("build a binary that breaks promises: %w", err)
	}
	p, err := record(ctx, l, disk, flowShape, func(w *world.World) {
		w.Exe = exe
		w.Env = append(w.Env, world.BreakVar+"="+d.Word)
	})
	if err != nil {
		return fmt.Errorf("record the control %q: %w", d.Name, err)
	}
	defer func() { err = errors.Join(err, p.close(), os.Remove(exe)) }()
	var f judge.Findings
	for i, c := range p.cutPoints() {
		if i%4 != 0 || len(f) > 0 {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.model = "synced"
		dir, err := p.makeState(c)
		if err != nil {
			return err
		}
		own, err := p.judge(c, dir)
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return err
		}
		f = append(f, own...)
	}
	l.Control(d.Name, judge.Lost, f)
	return nil
}
