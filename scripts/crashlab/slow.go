//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// crawl is a story on a slow disk, with other processes at the same state.
type crawl struct {
	what string // look, answer, resume or cancel: what the others do
	wait time.Duration
}

// key names it, after "slow/".
func (c crawl) key() string { return fmt.Sprintf("%s/%d", c.what, c.wait.Milliseconds()) }

// slowTrouble is about a disk that takes its time.
func slowTrouble() trouble {
	return trouble{
		name: "slow", what: "every fsync takes its time, and several processes work on one state",
		takes: "a mount namespace of its own and FUSE", needs: needsIO, run: runSlow,
	}
}

// runSlow lets every fsync take its time while several processes work on one state.
func runSlow(ctx context.Context, l *lab, c troubleChoice) error {
	exe, err := buildDisk(ctx, l.dir)
	if err != nil {
		return err
	}
	if c.only == "" {
		slowControl(l)
	}
	var all []crawl
	for _, wait := range []time.Duration{50, 150, 300} {
		for _, what := range []string{"look", "answer", "resume", "cancel"} {
			all = append(all, crawl{what, wait * time.Millisecond})
		}
	}
	if c.short && c.only == "" {
		all = all[:4:4]
		all = []crawl{all[c.seed%2], all[2+c.seed%2]}
	}
	var stories []ordeal
	for _, s := range all {
		stories = append(stories, ordeal{s.key(), func(ctx context.Context, key string) error { return playSlow(ctx, l, exe, key, s) }})
	}
	return l.ordeals(ctx, "slow", c, stories)
}

// playSlow carries a story out and judges it.
func playSlow(ctx context.Context, l *lab, exe, key string, s crawl) error {
	j := job{tool: "shell", situation: "first", shape: "chat", victim: "host"}
	switch s.what {
	case "answer":
		j.situation = "question"
	case "cancel":
		j.change = func(s *story) {
			mark := marksIn(s.turns[0][0].args["command"].(string))[0]
			s.turns[0][0] = step{tool: "shell", args: map[string]any{"command": "echo " + mark + " >> effects; sleep 1000"}}
		}
	}
	var was end
	var err error
	if s.what != "cancel" {
		if was, err = l.of(ctx, j); err != nil {
			return err
		}
	}
	var d *disk
	t, err := l.begin(j, served(exe, "home", &d))
	if err != nil {
		return err
	}
	t.world.env = append(t.world.env, "AGENT_ALLOW_UNSAFE_FS=1") // a disk that is a program is refused, rightly, without it
	t.brief = true                                               // doctor would say that about the disk
	if err := d.slow("fsync", "", s.wait); err != nil {
		return errors.Join(err, t.world.close(false))
	}
	first := true
	e, err := l.conclude(ctx, t, t.proceed(ctx, func(args []string) error {
		if s.what == "answer" != (args[0] == "answer") || !first {
			return t.step(args)
		}
		first = false
		return crowd(t, s, args)
	}))
	if err != nil {
		return err
	}
	if s.what == "cancel" {
		if e.status != "cancelled" {
			t.found.add(differs, "the run was cancelled, and ends %s", e.status)
		}
	} else if len(t.found) == 0 {
		t.found = append(t.found, compareEnds(was, e, false, false)...)
	}
	return l.verdictOn(key, t, 0)
}

// crowd carries a command out with others beside it.
func crowd(t *tale, s crawl, args []string) error {
	t.cmd++
	main, err := t.world.start("", args...)
	if err != nil {
		return err
	}
	if s.what == "answer" { // the same answer from another process
		second, err := t.world.start("", args...)
		if err != nil {
			return errors.Join(err, endOf(main))
		}
		first, ok1 := main.wait()
		other, ok2 := second.wait()
		if !ok1 || !ok2 {
			return fmt.Errorf("%w: agent %s: %w after %s", errStuck, strings.Join(args, " "), errLate, limit)
		}
		onlyOne(t, first, other)
		return t.look()
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, other := range [][]string{{"ls", "--all"}, {"pending"}, {"show", "last"}} {
		wg.Go(func() { beside(t, &mu, main, other) })
	}
	err = meddle(t, &mu, s, main)
	wg.Wait()
	if err != nil {
		return errors.Join(err, endOf(main))
	}
	_, err = t.over(main)
	return err
}

// beside carries a command out again and again until main has ended.
func beside(t *tale, mu *sync.Mutex, main *command, args []string) {
	for {
		select {
		case <-main.ended:
			return
		default:
		}
		o, err := t.world.agent(context.Background(), args...)
		mu.Lock()
		if err != nil {
			t.found.add(stuck, "%v", err)
		}
		t.found = append(t.found, refusal(o)...)
		mu.Unlock()
		if err != nil {
			return
		}
	}
}

// refusal says whether a command that only shows something was refused. Before the first run there is nothing to show.
func refusal(o output) findings {
	var f findings
	if o.code != 0 && !strings.Contains(o.text, "nothing was run yet") {
		f.add(refused, "agent %s ends with %d beside another process on a slow disk:\n%s", strings.Join(o.args, " "), o.code, o.text)
	}
	return f
}

// onlyOne wants one answer to count, and the other process to say so.
func onlyOne(t *tale, a, b output) {
	if a.code == 1 {
		a, b = b, a
	}
	if a.code == 1 || b.code != 1 && b.code != a.code || b.code == 1 && !strings.Contains(b.text, "answered it") && !strings.Contains(b.text, "is kept") {
		t.found.add(refused, "two processes give the same answer: one ends with %d and the other with %d:\n%s\n%s", a.code, b.code, a.text, b.text)
	}
}

// meddle does to the run of main what the story is about, once its first command is running.
func meddle(t *tale, mu *sync.Mutex, s crawl, main *command) error {
	if s.what == "look" || !busy(t.world, main) {
		return nil
	}
	o, err := t.world.agent(context.Background(), s.what, "last")
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	switch {
	case s.what == "cancel" && o.code != 0 && o.code != 6:
		t.found.add(refused, "agent cancel ends with %d on a slow disk:\n%s", o.code, o.text)
	case s.what == "resume" && o.code == 1 && !strings.Contains(o.text, "show --follow") && !strings.Contains(o.text, "can be resumed"): // it has ended
		t.found.add(refused, "agent resume of a run that is driven is refused without who drives it:\n%s", o.text)
	}
	return nil
}

// busy waits until a runner is at work; false when main ended before.
func busy(w *world, main *command) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if len(w.processes()) > 0 {
			return true
		}
		select {
		case <-tick.C:
		case <-main.ended:
			return false
		}
	}
}

// slowControl judges what a process prints that does not wait for another.
func slowControl(l *lab) {
	l.control("a process is refused for another's slow commit", refused, refusal(output{args: []string{"ls"}, code: 1, text: "agent: database is locked\n"}))
}
