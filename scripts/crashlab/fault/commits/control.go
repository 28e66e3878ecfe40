//go:build linux

package commits

import (
	"context"
	"fmt"
	"os"

	"agent/recovery/fault"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/world"
)

// damage is one to the product, and what must find it.
type damage struct {
	world.Damage
	kind   string
	script script
}

func damages() []damage {
	return []damage{
		{
			world.Damage{
				Name: "who resumes a run takes the marks of now", Word: "remark", File: "host/commits/watcher.go",
				Text: "		win, ok = w.onRecord(ctx, c)\n", Change: `		if win, ok = w.onRecord(ctx, c); <asked> {
			_, _, win.marks, _ = marksOf(c.Created.Folder)
		}
`,
			},
			Misjudged, script{situation: call, victim: "host", arms: []plan.Arm{at(0, fault.CommitsRead, 1)}},
		},
		{
			world.Damage{
				Name: "commits are known by a hook alone", Word: "hook", File: "host/commits/window.go",
				Text: "	if err != nil || j == nil {\n", Change: "	if err != nil || j == nil || j.Trailer != relate.TrailerOurs && (<asked>) {\n",
			},
			Misjudged, script{situation: call, victim: "host", arms: []plan.Arm{at(0, fault.AfterTurn, 1)}},
		},
		{
			world.Damage{
				Name: "what was read is noted before it is recorded", Word: "early", File: "host/commits/catchup.go",
				Text: "	l, err := b.catchUp(ctx, news, *before)\n", Change: `	if <asked> {
		if err := setMarks(ctx, p, repo, stood{now, at}); err != nil { return Looked{}, err }
	}
	l, err := b.catchUp(ctx, news, *before)
`,
			},
			Unlinked, script{situation: person, victim: "host", arms: []plan.Arm{at(0, fault.AfterLock, 1)}},
		},
	}
}

// changes are all that the broken binary has in it.
func changes() (all []world.Damage) {
	for _, d := range damages() {
		all = append(all, d.Damage)
	}
	return all
}

// controls have runs killed whose binary breaks a promise. The binary takes a while to build, so a
// short pass leaves them to the whole one.
func controls(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	if c.Short {
		return nil
	}
	exe, err := world.Broken(ctx, l.Dir, changes())
	if err != nil {
		return fmt.Errorf("build a binary that breaks promises: %w", err)
	}
	for _, d := range damages() {
		x, err := carryOut(ctx, l, d.script, func(x *attempt) {
			x.World.Exe = exe
			x.World.Env = append(x.World.Env, world.BreakVar+"="+d.Word)
		})
		if err == nil {
			err = x.judge()
		}
		if err != nil {
			return fmt.Errorf("the control %q: %w", d.Name, err)
		}
		l.Control(d.Name, d.kind, x.Found)
		if err := x.World.Close(false); err != nil {
			return err
		}
	}
	return os.Remove(exe)
}
