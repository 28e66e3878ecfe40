//go:build linux

package flows

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
	narrow bool // the workspace is the home folder: of a file that a command made, only the flow keeps a copy
}

func damages() []damage {
	host := func(family, harm string, arms ...plan.Arm) script {
		return script{family: family, victim: "host", arms: arms, harm: harm}
	}
	return []damage{
		{
			world.Damage{
				Name: "the id of a phase's run is not on record before it", Word: "unnamed", File: "host/flow/start.go",
				Text: "	c := f.created(h, x)\n", Change: "	c := f.created(h, x)\n	if <asked> { c.Run = drive.NewID(\"r\") }\n",
			},
			judge.Twice, host("sequence", none, at(0, fault.ChildRecorded, 1)), false,
		},
		{
			world.Damage{
				Name: "the copy of an artifact is not in the commit that names it", Word: "uncopied", File: "host/flow/engine.go",
				Text: "		h.Keep(f.copies.Rows())\n", Change: "		if rows := f.copies.Rows(); !(<asked>) { h.Keep(rows) }\n",
			},
			judge.Lost, host("sequence", none, at(0, fault.PhaseEnded, 1)), true,
		},
		{
			world.Damage{
				Name: "a resumed flow looks at no artifact", Word: "unlooked", File: "host/flow/artifact/check.go",
				Text: "	asked := output(want)\n", Change: "	if <asked> { found.Artifact, found.State = want, journal.ArtifactIntact; return found, nil }\n	asked := output(want)\n",
			},
			judge.Lost, host("sequence", "cut", at(0, fault.PhaseEnded, 2)), false,
		},
		{
			world.Damage{
				Name: "a phase is done again without a person's consent", Word: "unasked", File: "recovery/flow/assess.go",
				Text: "	case remade && a.free(x):\n", Change: "	case <asked> || remade && a.free(x):\n",
			},
			judge.Twice, host("sequence", "edit-keep", at(0, fault.PhaseEnded, 3)), false,
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
			if d.narrow {
				x.World.Env = append(x.World.Env, "HOME="+x.World.Dir)
			}
		})
		if err != nil {
			return fmt.Errorf("the control %q: %w", d.Name, err)
		}
		if len(x.Found) == 0 {
			if x.Found, err = x.atEnd(); err != nil {
				return err
			}
		}
		l.Control(d.Name, d.kind, x.Found)
		if err := x.World.Close(false); err != nil {
			return err
		}
	}
	return os.Remove(exe)
}
