//go:build linux

// Package copies has state folders copied, and runs moved, while a run is in its middle: its host
// is killed first, and then whoever makes the backup, the folder of it, the pack, or takes it in,
// at each of their fault points, and does it again. What was interrupted goes on to its end in both
// places, as far as it may. In the end each effect has happened once, a run is driven in one place,
// and nothing half stands under a valid name.
package copies

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agent/recovery/fault"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/plan"
)

// Fault is about copies of a state folder and runs that move.
func Fault() lab.Fault {
	return lab.Fault{
		Name: name, What: "state folders are copied and runs are moved in their middle, and who does it is killed",
		Needs: func(*lab.Lab) error { return nil }, Run: run,
	}
}

const name = "copies"

// The situations.
const (
	restored = "restored" // a backup is restored after the original has gone on
	replaced = "replaced" // a backup is restored, and the original is gone
	moved    = "moved"    // the run goes to another store
	back     = "back"     // likewise, is interrupted there, and comes back
)

func situations() []string { return []string{restored, replaced, moved, back} }

// script says where the run is interrupted, and where who copies it is killed. All of it is in its
// key.
type script struct {
	situation string
	run       plan.Arm    // for the first command
	copy      fault.Point // "" for nobody
}

func (s script) key() string {
	return strings.Join([]string{s.situation, s.run.Point, strconv.Itoa(s.run.Pass), string(s.copy)}, "/")
}

// parse reads a key.
func parse(key string) (s script, ok bool) {
	f := strings.Split(key, "/")
	if len(f) != 4 || !slices.Contains(situations(), f[0]) || !slices.Contains(fault.Driving(), fault.Point(f[1])) {
		return s, false
	}
	pass, err := strconv.Atoi(f[2])
	s = script{f[0], at(fault.Point(f[1]), pass), fault.Point(f[3])}
	return s, err == nil && pass > 0 && (s.copy == "" || slices.Contains(points(s.situation), s.copy))
}

func at(point fault.Point, pass int) plan.Arm { return plan.Arm{Point: string(point), Pass: pass} }

// points are those that whoever copies or moves a run passes.
func points(situation string) []fault.Point {
	if situation == moved || situation == back {
		return []fault.Point{fault.PackMarked, fault.PackSealed, fault.PackRead, fault.PackTaken}
	}
	return []fault.Point{fault.BackupBegun, fault.BackupCopied, fault.BackupSealed, fault.StoreUnpacked, fault.StoreDecided, fault.StoreNamed}
}

// moments are those of the run at which it is interrupted: before its first call, in one whose
// effect is there and whose result is not, behind one, and at its end.
func moments() []plan.Arm {
	return []plan.Arm{
		at(fault.AfterClaim, 1), at(fault.BeforeModel, 1), at(fault.AfterModel, 1), at(fault.AfterPrepare, 1), at(fault.AfterStarted, 1), at(fault.AfterStarted, 2),
		at(fault.AfterEffect, 1), at(fault.AfterEffect, 2), at(fault.AfterSettled, 1), at(fault.AfterTurn, 1), at(fault.AfterTurn, 2), at(fault.BeforeTerminal, 1),
	}
}

// scripts are those of a pass.
func scripts(c lab.Choice) (out []script) {
	if c.Short {
		return []script{
			{restored, at(fault.AfterTurn, 1), fault.BackupSealed},
			{restored, at(fault.AfterEffect, 1), fault.StoreNamed},
			{replaced, at(fault.AfterEffect, 2), fault.StoreUnpacked},
			{moved, at(fault.AfterEffect, 1), fault.PackMarked},
			{moved, at(fault.AfterTurn, 1), fault.PackTaken},
			{back, at(fault.AfterTurn, 1), fault.PackSealed},
		}
	}
	for _, situation := range situations() {
		for _, m := range moments() {
			for _, p := range append([]fault.Point{""}, points(situation)...) {
				out = append(out, script{situation, m, p})
			}
		}
	}
	return out
}

func run(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	if c.Only == "" {
		if err := controls(ctx, l, c); err != nil {
			return err
		}
	}
	all := scripts(c)
	if s, ok := parse(c.Only); ok {
		all = []script{s}
	}
	var cases []lab.Case
	for _, s := range all {
		cases = append(cases, lab.Case{Key: s.key(), Try: func(ctx context.Context, key string) error {
			x, err := carryOut(ctx, l, s, nil)
			if err != nil {
				return err
			}
			if err := x.judge(); err != nil {
				return errors.Join(err, x.World.Close(true))
			}
			if len(x.Fired) == 0 || s.copy != "" && x.kills == 0 {
				l.Report.AddFigure("copies: points not met", 1)
			}
			l.Report.AddFigure("copies: calls that ask because of a copy", x.asked)
			l.Report.AddFigure("copies: kills", len(x.Fired)+len(x.there.Fired)+x.kills)
			if len(x.Found) > 0 {
				if err := x.there.World.SaveTranscript("there"); err != nil {
					return fmt.Errorf("keep what was printed: %w", err)
				}
			}
			return l.Finish(key, x.Trial, x.kills)
		}})
	}
	return l.RunCases(ctx, name, c, cases)
}
