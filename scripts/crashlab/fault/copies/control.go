//go:build linux

package copies

import (
	"context"
	"fmt"
	"os"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
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
				Name: "a restored run goes on without asking", Word: "unguarded", File: "recovery/restored.go",
				Text: "	if b.Nothing { //", Change: "	if b.Nothing || <asked> { //",
			},
			judge.Twice, script{situation: restored, run: at(fault.AfterTurn, 1)},
		},
		{
			world.Damage{
				Name: "a run that went is driven on", Word: "stays", File: "host/drive/claim.go",
				Text: "	if s.Moved == nil {\n", Change: "	if s.Moved == nil || <asked> {\n",
			},
			Driven, script{situation: moved, run: at(fault.AfterTurn, 1)},
		},
		{
			world.Damage{
				Name: "a backup has its name before it is whole", Word: "early", File: "db/backup/make.go",
				Text: "	fault.Hit(fault.BackupCopied)\n", Change: "	if <asked> {\n		_ = os.Link(temp.Name(), path)\n	}\n	fault.Hit(fault.BackupCopied)\n",
			},
			Torn, script{situation: restored, run: at(fault.AfterTurn, 1), copy: fault.BackupCopied},
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

// controls have runs copied and moved by a binary that breaks a promise. The binary takes a while
// to build, so a short pass leaves them to the whole one.
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
