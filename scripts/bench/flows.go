//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agent/host"
	"agent/host/child"
	"agent/host/flow"
	"agent/host/flow/file"
	"agent/recovery"
	"agent/recovery/journal"
)

// flows is what a flow costs beside the runs that it consists of, as counts and ratios.
func flows(ctx context.Context, b *bench) (rows []row, err error) {
	for _, measure := range []func(context.Context) ([]row, error){
		b.phaseCommits, b.phaseKept, b.branchCommits, b.parkedBranches, b.artifactSyncs, b.looks, b.flowResume, b.lists,
	} {
		some, err := measure(ctx)
		rows = append(rows, some...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// flowFile is a flow with so many phases, one after the other. Each reads what the one before it
// made, and its answer is an artifact.
func flowFile(phases int) string {
	var text strings.Builder
	text.WriteString("---\nagent: flow\n---\n")
	for i := range phases {
		inputs := ""
		if i > 0 {
			inputs = fmt.Sprintf("inputs = [\"out/%d.md\"]\n", i)
		}
		fmt.Fprintf(&text, "## p%d\n```phase\nmodel = \"runbook\"\n%sanswer = \"out/%d.md\"\n```\n```sh\n: %d\n```\n", i+1, inputs, i+1, i+1)
	}
	return text.String()
}

// eachFile is a flow with one branch for each item of a list, all of them side by side.
const eachFile = "---\nagent: flow\n---\n## each\n```phase\neach = \"items.json\"\nparallel = 32\n```\nDo it.\n"

// list writes the items of eachFile.
func (p *inProcess) list(n int) error {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf("item-%d", i)
	}
	text, err := json.Marshal(items)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.folder, "items.json"), text, 0o600)
}

// startFlow drives a new flow as far as it comes.
func (p *inProcess) startFlow(ctx context.Context, h *host.Host, text string, mode journal.Mode) (recovery.Status, error) {
	carrier := &child.Carrier{Process: &h.Process}
	h.Flows = (&flow.Engine{Carrier: carrier, Denied: []string{p.home}}).Open
	parsed := file.Parse("flow.md", text, file.Known{Folder: os.DirFS(p.folder)})
	if err := parsed.Err(); err != nil {
		return "", err
	}
	def, err := json.Marshal(parsed.Definition)
	if err != nil {
		return "", err
	}
	out, err := h.Start(ctx, host.StartRequest{Flow: def, Source: "flow.md", Folder: p.folder, Model: "looping", Mode: mode})
	if err == nil && out.Status != recovery.StatusCompleted && out.Status != recovery.StatusWaiting {
		err = fmt.Errorf("flow %s is %s: %s", out.Run, out.Status, out.Detail)
	}
	return out.Status, err
}

// carryOutFlow drives a new flow to its end.
func (p *inProcess) carryOutFlow(ctx context.Context, m looping, text string) error {
	h, err := p.host(m)
	if err != nil {
		return err
	}
	status, err := p.startFlow(ctx, h, text, journal.ModeYolo)
	if err == nil && status != recovery.StatusCompleted {
		err = fmt.Errorf("the flow is %s", status)
	}
	return err
}

// A short and a long flow: the difference is what phases alone cost.
const fewPhases, manyPhases = 10, 50

// phaseCommits counts the commits of phases one after the other, and of as many runs.
func (b *bench) phaseCommits(ctx context.Context) (rows []row, err error) {
	p, err := b.openHost(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	m := looping{turns: 1, calls: instantCalls(0)}
	counted := func(do func() error) (float64, error) {
		before := p.commits.Load()
		err := do()
		return float64(p.commits.Load() - before), err
	}
	run, err := counted(func() error { return p.begin(ctx, m) })
	if err != nil {
		return nil, err
	}
	var took []float64
	for _, n := range []int{fewPhases, manyPhases} {
		commits, err := counted(func() error { return p.carryOutFlow(ctx, m, flowFile(n)) })
		if err != nil {
			return nil, err
		}
		took = append(took, commits)
	}
	each := (took[1] - took[0]) / (manyPhases - fewPhases)
	return []row{cost(fmt.Sprintf("commits of the flow, beside the %s of the phase's run", number(run)), each-run, "a phase", 1,
		"by design: the end of one and the start of the next are one commit")}, nil
}

// phaseKept is what a phase leaves on the disk beyond what its run does.
func (b *bench) phaseKept(ctx context.Context) ([]row, error) {
	m := looping{turns: 1, calls: instantCalls(0)}
	left := func(flow bool, n int) (float64, error) {
		p, err := b.openHost(ctx)
		if err != nil {
			return 0, err
		}
		if flow {
			err = p.carryOutFlow(ctx, m, flowFile(n))
		}
		for i := 0; !flow && i < n && err == nil; i++ {
			err = p.begin(ctx, m)
		}
		if err = errors.Join(err, p.close()); err != nil {
			return 0, err
		}
		size, err := sizeOf(p.home)
		return float64(size), err
	}
	var each [2]float64 // of runs, and of phases
	for i, flow := range []bool{false, true} {
		few, err := left(flow, fewPhases)
		if err != nil {
			return nil, err
		}
		many, err := left(flow, manyPhases)
		if err != nil {
			return nil, err
		}
		each[i] = (many - few) / (manyPhases - fewPhases) / 1e3
	}
	return []row{cost(fmt.Sprintf("kept on disk, beside the %s KB of the phase's run", number(each[0])), each[1]-each[0], "KB a phase", 2,
		"by design, and the copy of a file of 5 bytes")}, nil
}

// branchCommits counts the commits of many branches that take their turns at once.
func (b *bench) branchCommits(ctx context.Context) (rows []row, err error) {
	p, err := b.openHost(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.list(atOnce); err != nil {
		return nil, err
	}
	rounds := b.times(10)
	var branches, runs int64
	for range rounds {
		n, err := p.branches(ctx)
		if err != nil {
			return nil, err
		}
		branches += n
		t := &turnBench{inProcess: p}
		_, n, err = t.race(ctx)
		if err != nil {
			return nil, err
		}
		runs += n
	}
	a := func(n int64) float64 { return float64(n) / float64(rounds*atOnce*(manyOwn-1)) }
	figure := fmt.Sprintf("commits, %d branches at once", atOnce)
	return []row{
		cost(figure, a(branches), "a turn", 0.2, "by design"),
		cost(figure, a(branches), "a turn", a(runs), "of as many runs at once"),
	}, nil
}

// branches drives them, and counts the commits from the second turn of each on.
func (p *inProcess) branches(ctx context.Context) (commits int64, err error) {
	ready, done := make(chan error, 2*atOnce), make(chan error, 2*atOnce) // each branch says one word to each; all say one more at the end
	begin := make(chan struct{})
	m := looping{turns: manyOwn, calls: instantCalls(0)}
	m.asked = func(turn int) {
		switch turn {
		case 1:
			ready <- nil
			<-begin
		case manyOwn:
			done <- nil
		}
	}
	ended := make(chan error, 1)
	go func() {
		err := p.carryOutFlow(ctx, m, eachFile)
		for range atOnce {
			ready <- err
			done <- err
		}
		ended <- err
	}()
	err = await(ready)
	commits = p.commits.Load()
	close(begin)
	err = errors.Join(err, await(done))
	commits = p.commits.Load() - commits
	return commits, errors.Join(err, <-ended)
}
