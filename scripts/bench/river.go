//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"agent/scripts/bench/bare"
)

// River's version is the newest whose SQLite driver the module proxy has.
const riverName = "River 0.31, SQLite, WAL and FULL, "

// river is one run of ours, turn after turn, against the same chain of steps on River, with the
// same bytes, in rounds.
func river(ctx context.Context, b *bench) (rows []row, err error) {
	exe, err := b.buildEngine(ctx, "river")
	if err != nil {
		return nil, err
	}
	host, err := b.openHost(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, host.close()) }()
	limit, err := b.openBare(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, limit.Close()) }()
	if err := host.chain(ctx, warmedUp); err != nil { // until the log has its size
		return nil, err
	}
	size, err := host.bytesOf(ctx, 1)
	if err != nil {
		return nil, err
	}
	c := chains{host: host, limit: limit, size: size}
	if err := c.commits(2 * warmedUp); err != nil {
		return nil, err
	}
	quick, err := c.rounds(ctx, b, exe, b.times(12), 50, "-poll", "1ms")
	if err != nil {
		return nil, err
	}
	patient, err := c.rounds(ctx, b, exe, b.times(4), 3)
	if err != nil {
		return nil, err
	}
	const turn = "a turn, or step of a chain"
	rows = []row{
		cost(turn, median(quick.ours, time.Microsecond), "µs", median(quick.theirs, time.Microsecond), riverName+"looked for every millisecond").because(
			"River completes a step and inserts the next in one commit, and marks it as running in another: two commits, as a turn of ours. " +
				"The rest is its waiting for the next look, and its queries."),
		cost(turn, median(patient.ours, time.Millisecond), "ms", median(patient.theirs, time.Millisecond), riverName+"looked for as it chooses, every second"),
		plain("in commits of one row, here: ours", quick.ratio(quick.ours), "commits/step"),
		plain("in commits of one row, here: River, every millisecond", quick.ratio(quick.theirs), "commits/step"),
	}
	return append(rows, elsewhere()...), nil
}

// elsewhere are engines that cannot be had here. What FIELD.md measured of them, on another day, is
// given in what carries over: how many commits of one row of 1 KiB a durable step took as long as.
func elsewhere() []row {
	var rows []row
	for _, e := range []struct {
		name string
		rate float64 // of such commits
	}{
		{"DBOS (Go, SQLite, made to be FULL)", 0.59},
		{"DBOS (Go, SQLite, as it comes: NORMAL, which power loss undoes)", 1.45},
		{"DBOS (Go, Postgres 15)", 0.34},
		{"go-workflows (SQLite, one process)", 0.054},
		{"Temporal (dev server, WAL and FULL)", 0.004},
		{"durabletask-go (SQLite)", 0.003},
	} {
		rows = append(rows, plain("not measured here, from FIELD.md: "+e.name, 1/e.rate, "commits/step"))
	}
	const why = "The figure is how many commits of one row of 1 KiB took as long as a step, in one round on the machine of FIELD.md. DBOS has no record " +
		"of what it is about to do, and so one commit where a turn of ours has two. Restate and Inngest are servers that FIELD.md compares by what they promise, and has not measured."
	rows[0] = rows[0].because(why)
	return rows
}

// chains are the same steps, carried out by either.
type chains struct {
	host  *inProcess
	limit *bare.DB
	size  bare.Turn
}

// paired are the times of a step, in the same rounds.
type paired struct{ ours, theirs, commit []time.Duration }

// ratio is how many commits of one row took as long as a step: the median over the rounds.
func (p paired) ratio(steps []time.Duration) float64 {
	const unit = time.Microsecond
	return median(steps, unit) / median(p.commit, unit)
}

// rounds takes turns between chains of so many steps of ours and of the engine, and commits of one
// row.
func (c chains) rounds(ctx context.Context, b *bench, exe string, n, steps int, args ...string) (out paired, err error) {
	dir, err := b.folder("engine")
	if err != nil {
		return out, err
	}
	e, err := startEngine(ctx, exe, append([]string{"-dir", dir}, args...)...)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	for i := range n + 1 {
		took, err := takeTurns(1,
			func() error { return c.host.chain(ctx, steps) },
			func() error { return c.commits(steps) },
		)
		if err != nil {
			return out, err
		}
		theirs, err := e.chain(order{Steps: steps, Request: c.size.Answer, Result: c.size.Results})
		if err != nil {
			return out, err
		}
		if i == 0 {
			continue // the first makes what the others find
		}
		per := time.Duration(steps)
		out.ours, out.commit, out.theirs = append(out.ours, took[0][0]/per), append(out.commit, took[1][0]/per), append(out.theirs, theirs/per)
	}
	return out, nil
}

// commits are rows of 1 KiB, each durable before the next.
func (c chains) commits(n int) error {
	for range n {
		if err := c.limit.Commit([]byte(kib())); err != nil {
			return err
		}
	}
	return nil
}

// chain is one run of so many turns.
func (p *inProcess) chain(ctx context.Context, turns int) error {
	h, err := p.host(looping{turns: turns, calls: instantCalls(0)})
	if err != nil {
		return err
	}
	return p.carryOut(ctx, h)
}

// buildEngine makes the program of another engine, which has a module of its own.
func (b *bench) buildEngine(ctx context.Context, name string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "agent").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %v", err)
	}
	out := filepath.Join(b.dir, name)
	c := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(strings.TrimSpace(string(root)), "scripts/bench/engines", name), "-o", out, ".")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the engine %s: %v\n%s", name, err, text)
	}
	return out, nil
}

// engine is the program of another engine at work. It carries out one chain after the other, as it
// is asked to.
type engine struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	said *strings.Builder
}

// order is what a chain shall be.
type order struct {
	Steps   int `json:"steps"`
	Request int `json:"request"` // bytes
	Result  int `json:"result"`  // bytes
}

func startEngine(ctx context.Context, exe string, args ...string) (*engine, error) {
	e := &engine{cmd: exec.CommandContext(ctx, exe, args...), said: &strings.Builder{}}
	e.cmd.Stderr = e.said
	var err error
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	e.out = json.NewDecoder(out)
	return e, e.cmd.Start()
}

// chain says how long it took, as the engine measured it.
func (e *engine) chain(o order) (time.Duration, error) {
	if err := json.NewEncoder(e.in).Encode(o); err != nil {
		return 0, fmt.Errorf("tell %s what to do: %w", e.cmd.Path, err)
	}
	var took struct {
		NS time.Duration `json:"ns"`
	}
	if err := e.out.Decode(&took); err != nil {
		return 0, fmt.Errorf("hear what %s did: %w", e.cmd.Path, err)
	}
	return took.NS, nil
}

// close ends the engine, and gives what it said when it ended badly.
func (e *engine) close() error {
	err := e.in.Close()
	if werr := e.cmd.Wait(); werr != nil {
		err = errors.Join(err, fmt.Errorf("%s: %v: %s", e.cmd.Path, werr, e.said))
	}
	return err
}
