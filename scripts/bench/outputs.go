//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	outputBytes   = 1_000_000
	outputPairs   = 5 // calls of each kind in one run
	outputPatient = time.Minute
)

// outputs is what a command costs that puts out 1 MB, with the binary as it is released: time, disk
// and memory. In one run it takes turns with a command that puts out a line, so that the start of a
// command is not part of the figure.
func outputs(ctx context.Context, b *bench) ([]row, error) {
	o, err := b.newOutputs()
	if err != nil {
		return nil, err
	}
	lines, err := o.round(ctx, false) // makes the state folder, too
	if err != nil {
		return nil, err
	}
	before, err := sizeOf(o.home)
	if err != nil {
		return nil, err
	}
	var small, large, limit []time.Duration
	var memory []float64
	rounds := b.times(20)
	for range rounds {
		m, err := o.round(ctx, true)
		if err != nil {
			return nil, err
		}
		small, large, memory = append(small, m.small...), append(large, m.large...), append(memory, m.memory)
		times, err := takeTurns(outputPairs, o.write)
		if err != nil {
			return nil, err
		}
		limit = append(limit, times[0]...)
	}
	after, err := sizeOf(o.home)
	if err != nil {
		return nil, err
	}
	took := median(large, time.Millisecond) - median(small, time.Millisecond)
	left := float64(after-before) / float64(rounds*outputPairs) / 1e3
	return []row{
		above(cost("a call that puts out 1 MB, beyond one of a line", took, "ms", median(limit, time.Millisecond), "to write and fsync 1 MB once"), whyOutput),
		plain("a call that puts out a line", median(small, time.Millisecond), "ms"),
		cost("left on the disk by a call that puts out 1 MB", left, "KB", outputBytes/1e3, "of output"),
		cost("memory of the host at most", middle(memory), "MB", lines.memory+outputBytes/1e6, "for calls of a line, and 1 MB"),
	}, nil
}

const whyOutput = "what the limit writes once goes through a pipe to the runner, which writes and hashes it, is read as it comes and once more at " +
	"the end, looked through for secrets both times, hashed and written by the store with four fsyncs of file and folders. Profile of the " +
	"host: a quarter of its time looks for secrets, a ninth cleans for the terminal; the rest is reading, writing and waking up"

// outputBench is a state folder, a workspace, and two pipes: one in which each command says that it
// begins, one at which the last one waits.
type outputBench struct {
	*bench
	home, folder string
	here, gate   *os.File
	random       *rand.Rand
	runs         int
}

func (b *bench) newOutputs() (*outputBench, error) {
	root, err := b.folder("outputs")
	if err != nil {
		return nil, err
	}
	o := &outputBench{bench: b, home: filepath.Join(root, "state"), folder: filepath.Join(root, "work"), random: rand.New(rand.NewPCG(1, 2))}
	if err := os.Mkdir(o.folder, 0o700); err != nil {
		return nil, err
	}
	for path, f := range map[string]**os.File{filepath.Join(root, "here"): &o.here, filepath.Join(root, "gate"): &o.gate} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			return nil, err
		}
		if *f, err = os.OpenFile(path, os.O_RDWR, 0); err != nil { // both ends: nothing waits for the other
			return nil, err
		}
	}
	return o, nil
}

// outputRound is what was seen in one run.
type outputRound struct {
	small, large []time.Duration
	memory       float64 // MB
}

// round carries out calls of both kinds, or those of a line alone.
func (o *outputBench) round(ctx context.Context, both bool) (r outputRound, err error) {
	book, err := o.book(both)
	if err != nil {
		return r, err
	}
	var said bytes.Buffer
	c := o.command(ctx, o.home, o.folder, "run", "--model", "runbook", "--max-turns", "0", "-f", book)
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		return r, err
	}
	if err := o.follow(c, &r); err != nil {
		return r, fmt.Errorf("agent run: %v\n%s", errors.Join(err, c.Process.Kill(), c.Wait()), said.String())
	}
	if err := c.Wait(); err != nil {
		return r, fmt.Errorf("agent run: %v\n%s", err, said.String())
	}
	return r, nil
}

// follow notes when each command begins. Between two of these moments lies what the first of them
// does, its settling, and the start of the second.
func (o *outputBench) follow(c *exec.Cmd, r *outputRound) (err error) {
	var last time.Time
	if err := o.here.SetReadDeadline(time.Now().Add(outputPatient)); err != nil {
		return err
	}
	for n := range 2*outputPairs + 2 {
		if _, err := io.ReadFull(o.here, make([]byte, len("x\n"))); err != nil {
			return fmt.Errorf("wait for command %d: %v", n+1, err)
		}
		took := time.Since(last)
		last = time.Now()
		switch { // the first one has the start of the process before it
		case n < 2:
		case n%2 == 0:
			r.small = append(r.small, took)
		default:
			r.large = append(r.large, took)
		}
	}
	r.memory, err = peak(c.Process.Pid)
	_, opened := o.gate.WriteString("\n")
	return errors.Join(err, opened)
}

// book writes a runbook: a call of a line, pairs of one call each, and one that waits. Each output
// is another one, since the same would be kept once.
func (o *outputBench) book(both bool) (string, error) {
	o.runs++
	var book strings.Builder
	step := func(command string) { fmt.Fprintf(&book, "```sh\necho x >'%s'\n%s\n```\n\n", o.here.Name(), command) }
	step("echo warm")
	for n := range outputPairs {
		line := fmt.Sprintf("echo run %d, line %d", o.runs, n)
		step(line)
		if !both {
			step(line)
			continue
		}
		data := filepath.Join(o.folder, fmt.Sprintf("data-%d", n))
		if err := durable(data, o.text()); err != nil {
			return "", err
		}
		step("cat '" + data + "'")
	}
	step("read -r _ <'" + o.gate.Name() + "'")
	path := filepath.Join(o.folder, "book.md")
	return path, os.WriteFile(path, []byte(book.String()), 0o600)
}

// text is 1 MB of what a build may print.
func (o *outputBench) text() []byte {
	words := strings.Fields("compile link test package error warning in of at line file missing value type used not found ok done cached")
	var t bytes.Buffer
	for t.Len() < outputBytes {
		fmt.Fprintf(&t, "%s %s %s %d: %s\n", words[o.random.IntN(len(words))], words[o.random.IntN(len(words))],
			words[o.random.IntN(len(words))], o.random.IntN(1e6), words[o.random.IntN(len(words))])
	}
	return t.Bytes()[:outputBytes]
}

// write is the limit.
func (o *outputBench) write() error {
	return durable(filepath.Join(o.folder, "limit"), make([]byte, outputBytes))
}
