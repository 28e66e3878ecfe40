//go:build linux

// Package rewinds has runs that destroy a person's work killed wherever they can be, and what takes
// them back: at the fault points of a drive, at those where the host looks at files and makes them
// again, and at any moment; once, twice and three times. What was interrupted is resumed to its
// end. The lab keeps a copy of its own of the whole workspace: before the run, after it, after the
// undo, and after the undo of that. All that was there in scope is there again after the undo, to
// the byte; what a person did since stays; the second undo gives back what the first one took; and
// the repository stands where the run had left it.
package rewinds

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"agent/recovery/fault"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/plan"
)

// Fault is about runs that destroy work, and rewinds.
func Fault() lab.Fault {
	return lab.Fault{
		Name: name, What: "runs that destroy a person's work are killed, and so is what takes them back",
		Needs: func(*lab.Lab) error { return nil }, Run: run,
	}
}

const name = "rewinds"

// The situations.
const (
	destroy = "destroy" // the run is killed
	rewind  = "rewind"  // the undo is killed, and the undo of that
	back    = "back"    // the undo is killed, and another undo takes back what it did
	written = "written" // a person writes between two calls, while the run stands still
	voided  = "voided"  // a person writes between the plan and its act
)

// Torn is the kind of finding about a file that is neither old nor new.
const Torn = "file torn"

// script is a family and who is killed in it. All of it is in its key.
type script struct {
	family    string
	situation string
	victim    string // of a runner's point: host, or both it and the runner
	arms      []plan.Arm
	moment    uint64 // where not 0, what moments are chosen from at which commands are killed
}

// byChance is the victim of a script whose kills come at any moment.
const byChance = "moment"

func (s script) key() string {
	if s.moment > 0 {
		return fmt.Sprintf("%s/%s/%s/%d", s.situation, s.family, byChance, s.moment)
	}
	var arms []string
	for _, a := range s.arms {
		arms = append(arms, a.String())
	}
	return strings.Join([]string{s.situation, s.family, s.victim, strings.Join(arms, "+")}, "/")
}

// parse reads a key, also one of another seed.
func parse(key string) (s script, ok bool) {
	f := strings.Split(key, "/")
	if len(f) != 4 || families()[f[1]] == nil || !slices.Contains([]string{destroy, rewind, back, written, voided}, f[0]) {
		return s, false
	}
	s = script{situation: f[0], family: f[1], victim: f[2]}
	if s.victim == byChance {
		n, err := strconv.ParseUint(f[3], 10, 64)
		s.moment = n
		return s, err == nil && n > 0
	}
	for text := range strings.SplitSeq(f[3], "+") {
		p := strings.Split(text, ":")
		if len(p) != 3 {
			return s, false
		}
		command, err := strconv.Atoi(p[0])
		pass, err2 := strconv.Atoi(p[2])
		if err != nil || err2 != nil || !slices.Contains(fault.All(), fault.Point(p[1])) {
			return s, false
		}
		s.arms = append(s.arms, plan.Arm{Command: command, Point: p[1], Pass: pass})
	}
	return s, true
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
	was := &endings{lab: l}
	var cases []lab.Case
	for _, s := range all {
		cases = append(cases, lab.Case{Key: s.key(), Try: func(ctx context.Context, key string) error {
			x, err := carryOut(ctx, l, s, nil)
			if err != nil {
				return err
			}
			if err := x.judge(ctx, was); err != nil {
				return errors.Join(err, x.World.Close(true))
			}
			if s.moment == 0 && len(x.Fired) == 0 {
				l.Report.AddFigure("rewinds: points not met", 1)
			}
			l.Report.AddFigure("rewinds: files given back", x.restored)
			l.Report.AddFigure("rewinds: kills", len(x.Fired)+x.kills)
			return l.Finish(key, x.Trial, x.kills)
		}})
	}
	return l.RunCases(ctx, name, c, cases)
}

func at(command int, point fault.Point, pass int) plan.Arm {
	return plan.Arm{Command: command, Point: string(point), Pass: pass}
}

// scripts are those of a pass.
func scripts(c lab.Choice) []script {
	if c.Short {
		return few()
	}
	rng := rand.New(rand.NewPCG(c.Seed, 15))
	return slices.Concat(few(), once(), often(rng), moments(rng))
}

// few are those of every pass.
func few() []script {
	return []script{
		{family: "work", situation: destroy, victim: "host", arms: []plan.Arm{at(0, fault.LookedAfter, 2)}},
		{family: "moved", situation: destroy, victim: "host", arms: []plan.Arm{at(0, fault.AfterEffect, 2), at(1, fault.LookedBefore, 1)}},
		{family: "gone", situation: destroy, victim: "host", arms: []plan.Arm{at(0, fault.BaseMade, 1), at(1, fault.AfterStarted, 1), at(2, fault.AfterVerdict, 1)}},
		{family: "work", situation: rewind, victim: "host", arms: []plan.Arm{at(0, fault.RestoreTemp, 3), at(1, fault.RestoreRenamed, 2)}},
		{family: "plain", situation: back, victim: "host", arms: []plan.Arm{at(0, fault.RestoreRenamed, 2)}},
		{family: between, situation: written, victim: "", arms: []plan.Arm{at(0, fault.AfterTurn, 1)}},
		{family: "plain", situation: voided, victim: "", arms: []plan.Arm{at(0, fault.AfterClaim, 1)}},
	}
}

// points are those that a run or a rewind passes.
func points(situation string) []fault.Point {
	all := slices.Concat(fault.Driving(), fault.Workspaces())
	if situation != destroy {
		all = append(all, fault.Restoring()...)
	}
	return slices.DeleteFunc(all, func(p fault.Point) bool { return misses(situation, p) != "" })
}

// misses says why a situation does not come by a point; "" where it does.
func misses(situation string, p fault.Point) string {
	place, _, _ := strings.Cut(string(p), ".")
	rewinds := situation != destroy
	switch {
	case p == fault.BeforeSummary || p == fault.AfterSummary:
		return "every run fits the window"
	case p == fault.AfterFailed:
		return "every request is answered"
	case place == "write":
		return "no file tool is called"
	case p == fault.AtQuestion || p == fault.AfterAnswer || p == fault.AnswerRecorded:
		return "nobody is asked"
	case rewinds && (place == "runner" || p == fault.BeforeForget || p == fault.MidAnswer):
		return "a rewind runs no command and asks no provider"
	case rewinds && (p == fault.BaseMade || p == fault.BeforePrepare || p == fault.AfterPrepare):
		return "a rewind looks at its own paths, and prepares nothing"
	}
	return ""
}

// passes says how often a point is tried in a row.
func passes(situation string, p fault.Point) int {
	switch {
	case p == fault.BeforeCommit || p == fault.AfterCommit, slices.Contains(fault.Restoring(), p):
		return 4
	case situation == destroy && slices.Contains(fault.Workspaces(), p):
		return 3
	}
	return 1
}

// arms arm a point where it is passed.
func arms(situation string, p fault.Point, pass int) []plan.Arm {
	first := at(0, fault.AfterEffect, 1)
	if situation != destroy {
		first = at(0, fault.RestoreRenamed, 1)
	}
	if p == fault.InRecovery || p == fault.AfterVerdict || p == fault.BeforeMark {
		return []plan.Arm{first, at(1, p, pass)}
	}
	return []plan.Arm{at(0, p, pass)}
}

// once lists each point in each family, at several passes.
func once() (out []script) {
	for _, f := range names() {
		if f == between {
			continue
		}
		for _, situation := range []string{destroy, rewind, back} {
			for _, p := range points(situation) {
				for pass := 1; pass <= passes(situation, p); pass++ {
					if situation == back && (pass%2 == 0 || passes(back, p) == 1) {
						continue // what another undo finds then is much the same
					}
					out = append(out, script{family: f, situation: situation, victim: "host", arms: arms(situation, p, pass)})
				}
			}
		}
	}
	for _, p := range []fault.Point{fault.AfterTurn, fault.BeforeModel, fault.AfterModel, fault.BeforePrepare} {
		pass := 2
		if p == fault.AfterTurn {
			pass = 1
		}
		for _, victim := range []string{"", "host"} {
			out = append(out, script{family: between, situation: written, victim: victim, arms: []plan.Arm{at(0, p, pass)}})
		}
	}
	for i, f := range []string{"work", "plain", "moved"} {
		for k, p := range []fault.Point{fault.BeforeModel, fault.AfterModel, fault.LookedBefore, fault.AfterStarted} {
			victim := []string{"", "host"}[(i+k)%2]
			out = append(out, script{family: f, situation: voided, victim: victim, arms: []plan.Arm{at(0, p, 1)}})
		}
	}
	return out
}

// often lists families that are killed twice and three times.
func often(rng *rand.Rand) (out []script) {
	for _, f := range names() {
		for n := range 12 {
			if f == between {
				continue
			}
			situation := []string{destroy, rewind}[n%2]
			pool := points(situation)
			s := script{family: f, situation: situation, victim: "host"}
			for k := range 2 + n/2%2 {
				from := pool
				if rng.IntN(2) == 0 && situation == destroy {
					from = fault.Workspaces()
				} else if rng.IntN(2) == 0 && situation == rewind {
					from = fault.Restoring()
				}
				s.arms = append(s.arms, at(k, from[rng.IntN(len(from))], 1+rng.IntN(2)))
			}
			out = append(out, s)
		}
	}
	return out
}

// moments lists families that are killed by chance.
func moments(rng *rand.Rand) (out []script) {
	for _, f := range names() {
		for n := range 8 {
			if f != between {
				out = append(out, script{family: f, situation: []string{destroy, rewind}[n%2], victim: byChance, moment: 1 + rng.Uint64N(1<<32)})
			}
		}
	}
	return out
}
