//go:build linux

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent/recovery/fault"
)

// shortage is a story in which the disk under the state has no room for a while.
type shortage struct {
	job
	tries  []arm  // where it is taken: the first of them that the story comes by; none for before the first command
	kind   string // what is taken: space, inodes, or bare (space, and the ballast too)
	victim string // who is killed meanwhile: nobody, host or both
	growth bool   // a command's output grows meanwhile
}

// key names it, after "full/".
func (s *shortage) key() string {
	at := "start"
	if len(s.tries) > 0 {
		at = s.tries[0].point
	}
	if s.growth {
		at += "+growth"
	}
	return strings.Join([]string{at, s.kind, s.victim, s.tool, s.situation, s.shape}, "/")
}

// fullTrouble is about a disk on which there is no room.
func fullTrouble() trouble {
	return trouble{
		name: "full", what: "the disk under the state has no room, or no inode, for a while",
		takes: "a mount namespace of its own, with ext4 on a loop device or a tmpfs", needs: needsMounts, run: runFull,
	}
}

// runFull fills the disk under the state at every fault point, with kills on top.
func runFull(ctx context.Context, l *lab, c troubleChoice) error {
	if c.only == "" {
		if err := fullControls(ctx, l); err != nil {
			return err
		}
	}
	all := shortages()
	last := shapes()
	if c.short && c.only == "" {
		all, last = sample(all, 7, c.seed, func(s *shortage) string { return s.kind + s.victim }), last[:1]
	}
	for _, shape := range last {
		all = append(all, unkept(shape))
	}
	var stories []ordeal
	for _, s := range all {
		stories = append(stories, ordeal{s.key(), func(ctx context.Context, key string) error { return playShortage(ctx, l, key, s) }})
	}
	return l.ordeals(ctx, "full", c, stories)
}

// sample takes n of them, no two of one kind as long as there are kinds left.
func sample[T any](all []T, n int, seed uint64, kind func(T) string) []T {
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))
	var out []T
	used, taken := map[string]int{}, map[int]bool{}
	for round := 0; len(out) < min(n, len(all)); round++ {
		for _, i := range order {
			if k := kind(all[i]); len(out) < n && used[k] == round && !taken[i] {
				used[k]++
				taken[i] = true
				out = append(out, all[i])
			}
		}
	}
	return out
}

// shortages lists the stories: each fault point with a tool that comes by it, each thing that may be missing, each victim.
func shortages() []*shortage {
	var out []*shortage
	tools := []string{"shell", "write_file", "fetch", "shell:write", "apply_patch", "ask_user", "read_file"}
	for i, point := range fault.All() {
		for k, kind := range []string{"space", "inodes"} {
			for n, victim := range []string{"nobody", "host", "both"} {
				for m := range tools {
					tool := tools[(i+k+n+m)%len(tools)]
					situation, shape, ok := teller(tool, string(point), i+k+n)
					if !ok {
						continue
					}
					f := newFamily(tool, situation, shape, string(point), false)
					f.job.victim = "host"
					var tries []arm
					for c := range 3 {
						tries = append(tries, arm{f.first + c, string(point), 1})
					}
					out = append(out, &shortage{job: f.job, tries: tries, kind: kind, victim: victim})
					break
				}
			}
		}
	}
	for _, kind := range []string{"space", "inodes"} {
		for _, shape := range []string{"runbook", "anthropic"} {
			out = append(out, &shortage{job: job{tool: "shell", situation: "first", shape: shape, victim: "host"}, kind: kind, victim: "nobody"})
		}
		for _, victim := range []string{"nobody", "host", "both"} {
			grows := &shortage{job: job{tool: "shell", situation: "first", shape: "runbook", victim: "host"}, kind: kind, victim: victim, growth: true}
			grows.tries, grows.change = []arm{{0, string(fault.RunnerRunning), 1}}, growing
			out = append(out, grows)
		}
	}
	return out
}

// unkept is the story that needs the ballast: no runner and no file tells what came of its call, so its result is lost unless there
// is room for its commit. The first command, which ends with a question, has time to make the ballast.
func unkept(shape string) *shortage {
	return &shortage{
		job: job{tool: "fetch", situation: "question", shape: shape, victim: "host"}, kind: "space", victim: "nobody",
		tries: []arm{{1, string(fault.AfterEffect), 1}, {2, string(fault.AfterEffect), 1}},
	}
}

// growing has the first command print more than its pipe holds before its effect, and more after it.
func growing(s *story) {
	mark := marksIn(s.turns[0][0].args["command"].(string))[0]
	command := "seq -f 'line %g' 1 60000; echo " + mark + " >> effects; seq -f 'line %g' 60001 90000"
	s.turns[0][0] = step{"shell", map[string]any{"command": command}, "```sh\n" + command + "\n```\n"}
	s.read.returns = "line 1"
}

// starved is a story on a disk that has no room.
type starved struct {
	*tale
	*shortage
	disk  *volume
	met   bool
	kills int
}

// playShortage carries one out.
func playShortage(ctx context.Context, l *lab, key string, s *shortage) error {
	w, err := fillUp(ctx, l, s)
	if err != nil {
		return err
	}
	if !w.met {
		l.report.figure("full: points not met", 1)
	}
	return l.verdictOn(key, w.tale, w.kills)
}

// fillUp carries a story out and judges it. The caller closes its world.
func fillUp(ctx context.Context, l *lab, s *shortage) (*starved, error) {
	var was end
	var err error
	if !s.growth {
		if was, err = l.of(ctx, s.job); err != nil {
			return nil, err
		}
	}
	var disk *volume
	t, err := l.begin(s.job, func(root string) (func(bool) error, error) {
		o := volumeOptions{mib: 96, block: 4096}
		if pick(3, s.key()) == 0 {
			o.block = 1024 // smaller than a page of memory
		}
		if s.kind == "inodes" {
			o.inodes = 200
		}
		disk, err = newVolume(filepath.Join(root, "home"), o)
		if err != nil {
			return nil, err
		}
		return disk.close, nil
	})
	if err != nil {
		return nil, err
	}
	w := &starved{tale: t, shortage: s, disk: disk}
	told := w.finish(ctx)
	e, err := l.conclude(ctx, t, told)
	if err != nil {
		return nil, err
	}
	w.judge(was, e)
	return w, nil
}

// finish carries the story to its end, and takes the room away on the way.
func (w *starved) finish(ctx context.Context) error {
	if len(w.tries) == 0 {
		if err := w.beforehand(); err != nil {
			return err
		}
	}
	return w.proceed(ctx, func(args []string) error { return w.stepOver(args, w.tries, &w.met, w.suffer) })
}

// take takes away what the story is about.
func (w *starved) take() error {
	if w.kind == "inodes" {
		return w.disk.fillInodes()
	}
	if w.kind == "bare" {
		if err := os.Remove(filepath.Join(w.world.state, "ballast")); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return w.disk.fill()
}

// beforehand has the story begin on a full disk.
func (w *starved) beforehand() error {
	if err := w.take(); err != nil {
		return err
	}
	w.met = true
	c, err := w.world.start("", w.story.runArgs(w.prompt, w.world.url())...)
	if err != nil {
		return err
	}
	w.cmd++
	o, err := w.over(c)
	if err != nil {
		return err
	}
	w.said(o)
	return errors.Join(w.meanwhile(), w.disk.free())
}

// said looks at the words of a command on a full disk. It may have come to its end: cutting down the log that a crash has left
// makes room, and for what the ballast holds there is some.
func (w *starved) said(o output) {
	switch o.code {
	case -9:
		w.kills++
	case 0, 3, 5:
	case 1:
		if !strings.Contains(o.text, " is kept") { // an answer that was recorded, and is taken by the next resume
			w.words(o)
		}
	default:
		w.words(o)
	}
}

// words looks whether a command that could not go on says what is missing and where.
func (w *starved) words(o output) {
	said := strings.Contains(o.text, "make room") || strings.Contains(o.text, "no inode") || strings.Contains(o.text, "no space left")
	if !said || !strings.Contains(o.text, w.world.state) {
		w.found.add(silent, "agent %s ends with %d and does not say that the disk of %s is full:\n%s", strings.Join(o.args, " "), o.code, w.world.state, o.text)
	}
}

// suffer takes the room away while the story stands still, lets it go on, sees that nothing is begun without room, and gives
// the room back.
func (w *starved) suffer(s *standing) error {
	if err := w.take(); err != nil {
		return errors.Join(err, endOf(s.command))
	}
	if err := errors.Join(s.goOn(w.shortage.victim), s.escort()); err != nil {
		return errors.Join(err, endOf(s.command))
	}
	o, err := w.over(s.command)
	if err != nil {
		return err
	}
	w.said(o)
	// What a runner still does belongs to what was begun before.
	w.world.runnersEnd()
	if err := w.take(); err != nil {
		return err
	}
	return errors.Join(w.meanwhile(), w.disk.free())
}

// meanwhile is what a person does before there is room: look at what there is, and try to go on.
func (w *starved) meanwhile() error {
	for _, args := range [][]string{{"ls", "--all"}, {"pending"}, {"show", "last"}} {
		if args[0] == "show" && len(w.last) == 0 {
			continue
		}
		if err := w.reads(args); err != nil {
			return err
		}
	}
	next, err := w.next()
	if err != nil || next == nil {
		return err
	}
	c, err := w.world.start("", next...)
	if err != nil {
		return err
	}
	w.cmd++
	o, err := w.over(c)
	if err != nil {
		return err
	}
	w.said(o)
	return nil
}

// reads carries out a command that only shows something.
func (w *starved) reads(args []string) error {
	c, err := w.world.start("", args...)
	if err != nil {
		return err
	}
	w.cmd++
	o, err := w.over(c)
	if err == nil && o.code != 0 {
		w.found.add(unlisted, "agent %s ends with %d on a full disk:\n%s", strings.Join(args, " "), o.code, o.text)
	}
	return err
}

// judge holds the story's end against the one of a story that always had room. The ballast keeps the result of whatever was under
// way, so an unknown outcome is a lost result where nobody was killed; where the host was, it is one unless nobody can look.
func (w *starved) judge(was, is end) {
	if w.shortage.victim == "nobody" && len(w.arms) == 0 {
		for _, h := range w.last {
			for _, c := range h.calls {
				if len(c.results) > 0 && c.results[0].Result.Outcome == "unknown" {
					w.found.add(lost, "the disk became full, nothing was killed, and the result of call %d.%d (%s) is lost", c.turn, c.index, c.tool)
				}
			}
		}
	}
	if w.shortage.victim != "both" {
		for _, c := range w.needless {
			w.found.add(needless, "only the host was killed, and the outcome of call %s is told as unknown", c)
		}
	}
	if w.growth {
		w.grown()
		return
	}
	if len(w.found) == 0 {
		left := w.unknown > 0 && (w.leave || w.shape == "runbook")
		w.found = append(w.found, compareEnds(was, is, w.unknown > 0, left)...)
	}
}

// grown looks at the result of a command whose output had no room: it is the command's own, and says what is missing.
func (w *starved) grown() {
	for _, h := range w.last {
		for _, c := range h.calls {
			if c.turn != 1 || len(c.results) == 0 || w.shortage.victim == "both" {
				continue
			}
			r := c.results[0].Result
			if r.Outcome != "ok" || !slices.ContainsFunc([]string{"are not kept", "line 90000"}, func(s string) bool { return strings.Contains(r.Content, s) }) {
				w.found.add(lost, "the output of a command met a full disk: its outcome is %q, and its result says\n%s", r.Outcome, clip(r.Content))
			}
		}
	}
}
