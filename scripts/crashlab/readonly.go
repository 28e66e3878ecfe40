//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agent/recovery/fault"
)

// freeze is a story whose state's disk takes nothing for a while.
type freeze struct {
	job
	tries  []arm  // where it begins; none for before the first command
	how    string // fails: the file system turns read-only under who has files open; remount: everybody is killed, then it is remounted
	victim string // of a file system that fails: nobody, host or both
}

// key names it, after "readonly/".
func (f *freeze) key() string {
	at := "start"
	if len(f.tries) > 0 {
		at = f.tries[0].point
	}
	return strings.Join([]string{at, f.how, f.victim, f.tool, f.situation, f.shape}, "/")
}

// readonlyTrouble is about a file system that turns read-only.
func readonlyTrouble() trouble {
	return trouble{
		name: "readonly", what: "the file system under the state turns read-only for a while",
		takes: "a mount namespace of its own, with ext4 on a loop device or a tmpfs", needs: needsMounts, run: runReadonly,
	}
}

// runReadonly turns the file system under the state read-only, at every fault point and before a start.
func runReadonly(ctx context.Context, l *lab, c troubleChoice) error {
	if c.only == "" {
		if err := frozenControl(ctx, l); err != nil {
			return err
		}
	}
	all := freezes()
	if c.short && c.only == "" {
		all = sample(all, 4, c.seed, func(f *freeze) string { return f.how + f.victim })
	}
	var stories []ordeal
	for _, f := range all {
		stories = append(stories, ordeal{f.key(), func(ctx context.Context, key string) error {
			t, err := playFreeze(ctx, l, f)
			if err != nil {
				return err
			}
			return l.verdictOn(key, t, 0)
		}})
	}
	return l.ordeals(ctx, "readonly", c, stories)
}

// freezes lists the stories. A file system fails of itself only where it is an ext4.
func freezes() []*freeze {
	var out []*freeze
	ways := [][2]string{{"remount", "both"}}
	if canLoop() {
		ways = append(ways, [2]string{"fails", "nobody"}, [2]string{"fails", "host"}, [2]string{"fails", "both"})
	}
	tools := []string{"write_file", "shell", "ask_user", "fetch", "shell:write", "edit_file", "read_file"}
	for i, point := range fault.All() {
		for k, way := range ways {
			for m := range tools {
				tool := tools[(i+k+m)%len(tools)]
				situation, shape, ok := teller(tool, string(point), i+k)
				if !ok {
					continue
				}
				f := newFamily(tool, situation, shape, string(point), false)
				f.job.victim = "host"
				var tries []arm
				for c := range 3 {
					tries = append(tries, arm{f.first + c, string(point), 1})
				}
				out = append(out, &freeze{job: f.job, tries: tries, how: way[0], victim: way[1]})
				break
			}
		}
	}
	return append(out, &freeze{job: job{tool: "shell", situation: "first", shape: "chat", victim: "host"}, how: "remount", victim: "both"})
}

// frozen is a story on its way through a freeze.
type frozen struct {
	*tale
	*freeze
	disk *volume
	met  bool
}

// playFreeze carries a story out and judges it. The caller closes its world.
func playFreeze(ctx context.Context, l *lab, f *freeze) (*tale, error) {
	was, err := l.of(ctx, f.job)
	if err != nil {
		return nil, err
	}
	z, err := frozenWorld(l, f)
	if err != nil {
		return nil, err
	}
	e, err := l.conclude(ctx, z.tale, z.finish(ctx))
	if err != nil {
		return nil, err
	}
	if !z.met {
		l.report.figure("readonly: points not met", 1)
	}
	for _, c := range z.needless {
		// A runner that cannot write its record any more leaves nothing to look at.
		if z.freeze.victim != "both" && !strings.HasSuffix(c, " shell") {
			z.found.add(needless, "no runner was killed, and the outcome of call %s is told as unknown", c)
		}
	}
	if len(z.found) == 0 {
		left := z.unknown > 0 && (z.leave || z.shape == "runbook")
		z.found = append(z.found, compareEnds(was, e, z.unknown > 0, left)...)
	}
	return z.tale, nil
}

func frozenWorld(l *lab, f *freeze) (*frozen, error) {
	var disk *volume
	t, err := l.begin(f.job, func(root string) (_ func(bool) error, err error) {
		if disk, err = newVolume(filepath.Join(root, "home"), volumeOptions{mib: 96, block: 4096}); err != nil {
			return nil, err
		}
		return disk.close, nil
	})
	if err == nil {
		err = disk.sync() // what the lab has put there is not what the disk is to lose
	}
	return &frozen{tale: t, freeze: f, disk: disk}, err
}

// finish carries the story to its end, and freezes the disk on the way.
func (z *frozen) finish(ctx context.Context) error {
	if len(z.tries) == 0 {
		z.met = true
		err := z.disk.readOnly(true)
		if err == nil {
			err = z.meanwhile()
		}
		if err := errors.Join(err, z.disk.readOnly(false)); err != nil {
			return err
		}
	}
	return z.proceed(ctx, func(args []string) error { return z.stepOver(args, z.tries, &z.met, z.suffer) })
}

// suffer freezes the disk while the story stands still, sees that nothing is begun, and thaws it.
func (z *frozen) suffer(s *standing) error {
	if z.how == "fails" {
		if err := z.disk.fail(); err != nil {
			return errors.Join(err, endOf(s.command))
		}
	}
	if err := errors.Join(s.goOn(z.freeze.victim), s.escort()); err != nil {
		return errors.Join(err, endOf(s.command))
	}
	o, err := z.over(s.command)
	if err != nil {
		return err
	}
	if o.code == 1 || o.code == 4 {
		z.words(o)
	}
	z.world.runnersEnd()
	if z.how == "fails" {
		return errors.Join(z.meanwhile(), z.disk.repair())
	}
	if err := z.disk.readOnly(true); err != nil {
		return err
	}
	return errors.Join(z.meanwhile(), z.disk.readOnly(false))
}

// words looks whether a command that could not go on says why, and what mends it.
func (z *frozen) words(o output) {
	said := strings.Contains(o.text, "make it writable") || strings.Contains(o.text, "see to the disk") || strings.Contains(o.text, "make room")
	if !said || !strings.Contains(o.text, z.world.state) {
		z.found.add(silent, "agent %s ends with %d and does not say that %s cannot be written:\n%s", strings.Join(o.args, " "), o.code, z.world.state, o.text)
	}
}

// meanwhile is what a person does before the disk takes something again: look at what there is, which works, and try to go on,
// which is refused. Nothing happens.
func (z *frozen) meanwhile() error {
	before, err := z.world.witness.counts()
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"ls", "--all"}, {"pending"}, {"show", "last"}} {
		if args[0] == "show" && len(z.last) == 0 {
			continue
		}
		o, err := z.try(args)
		if err != nil {
			return err
		}
		if o.code != 0 {
			z.found.add(unlisted, "agent %s ends with %d where nothing can be written:\n%s", strings.Join(args, " "), o.code, o.text)
		}
	}
	next, err := z.next()
	if err != nil || next == nil {
		return err
	}
	o, err := z.try(next)
	if err != nil {
		return err
	}
	if o.code != 1 {
		z.found.add(unlisted, "agent %s ends with %d where nothing can be written:\n%s", strings.Join(next, " "), o.code, o.text)
	}
	z.words(o)
	after, err := z.world.witness.counts()
	if err == nil && fmt.Sprint(before) != fmt.Sprint(after) {
		z.found.add(twice, "something happened without a record: %v became %v", before, after)
	}
	return err
}

// try carries out a command and returns what it printed.
func (z *frozen) try(args []string) (output, error) {
	c, err := z.world.start("", args...)
	if err != nil {
		return output{}, err
	}
	z.cmd++
	return z.over(c)
}

// frozenControl has something happen while nothing can be recorded.
func frozenControl(ctx context.Context, l *lab) error {
	f := &freeze{
		job: job{tool: "shell", situation: "first", shape: "runbook", victim: "host"}, how: "remount", victim: "both",
		tries: []arm{{0, string(fault.AfterStarted), 1}},
	}
	z, err := frozenWorld(l, f)
	if err != nil {
		return err
	}
	s, err := z.standstill(z.story.runArgs(z.prompt, ""), z.tries[0])
	if err == nil && s == nil {
		err = fmt.Errorf("the story of the control does not come by %s", z.tries[0].point)
	}
	if err == nil {
		err = s.goOn("both")
	}
	if err == nil {
		_, err = z.over(s.command)
	}
	if err == nil {
		err = z.disk.readOnly(true)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(z.world.dir, "effects"), []byte(markIn(z.world.number, "c")+"\n"), 0o600)
	}
	if err == nil {
		if err = z.look(); errors.Is(err, errFound) {
			err = nil
		}
	}
	l.control("something happens while nothing can be recorded", twice, z.found)
	return errors.Join(err, z.world.close(false))
}
