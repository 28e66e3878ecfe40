//go:build linux

package delegate

import (
	"context"
	"fmt"
	"os"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
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
	host := func(family string, arms ...plan.Arm) script {
		return script{family: family, victim: "host", arms: arms}
	}
	return []damage{
		{
			world.Damage{
				Name: "the id of a child is not on record before it", Word: "unnamed", File: "host/drive/call.go",
				Text: "fact.Child = d.Child()", Change: "if !(<asked>) { fact.Child = d.Child() }",
			},
			judge.Twice, host("task", at(0, fault.ChildRecorded, 1)),
		},
		{
			world.Damage{
				Name: "a child is begun anew at each resume", Word: "anew", File: "host/child/carry.go",
				Text: "	return d.carry(ctx, c, nil)\n", Change: `	if <asked> {
		_, h, err := d.Prepare(ctx, c)
		if err != nil { return journal.Result{}, err }
		return d.Call(ctx, tools.Call{Run: c.Run, ID: c.ID, Args: c.Args, Handle: h, Parent: c.Parent, Waits: c.Waits})
	}
	return d.carry(ctx, c, nil)
`,
			},
			judge.Twice, host("task", at(0, fault.AfterEffect, 1)),
		},
		{
			world.Damage{
				Name: "an answer to a child never reaches the run at the top", Word: "unheard", File: "host/child/carry.go",
				Text: "	return d.carry(ctx, c, nil)\n", Change: `	if <asked> {
		c.Waits(true)
		<-ctx.Done()
		return journal.Result{}, &tools.SuspendedError{Waits: true, Detail: "it waits"}
	}
	return d.carry(ctx, c, nil)
`,
			},
			judge.Stuck, host("three", at(0, fault.Parked, 1)),
		},
		{
			world.Damage{
				Name: "a child is driven by who does not hold the run at the top", Word: "alone", File: "host/family.go",
				Text: "	return cmp.Or(row.Root, run), nil\n", Change: "	if <asked> { return run, nil }\n	return cmp.Or(row.Root, run), nil\n",
			},
			judge.Broken, host("three", at(0, fault.Parked, 1)),
		},
	}
}

// controls have families killed whose binary breaks a promise. The binary takes a while to build,
// so a short pass leaves them to the whole one.
func controls(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	if c.Short {
		return nil
	}
	var all []world.Damage
	for _, d := range damages() {
		all = append(all, d.Damage)
	}
	exe, err := world.Broken(ctx, l.Dir, all)
	if err != nil {
		return fmt.Errorf("build a binary that breaks promises: %w", err)
	}
	for _, d := range damages() {
		x, err := carryOut(ctx, l, d.script, func(x *attempt) {
			x.World.Exe = exe
			x.World.Env = append(x.World.Env, world.BreakVar+"="+d.Word)
		})
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
