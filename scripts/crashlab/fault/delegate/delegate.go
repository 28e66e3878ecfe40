//go:build linux

// Package delegate has runs that delegate tasks killed wherever they can be: at the fault points of
// a drive, at those that only a run passes which has runs below it, and at any moment; once, twice
// and three times, each time a step further. What was interrupted is resumed and what is asked is
// answered, by processes of their own, to the end of the whole family. Then each call has had one
// child, whose id was on record before it; no effect is missing and none is there twice; and every
// run has seen the same results as in the same family in which nobody was killed.
package delegate

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

// Fault is about runs that delegate.
func Fault() lab.Fault {
	return lab.Fault{
		Name: name, What: "runs that delegate tasks are killed, once and again and again, and so are those who answer",
		Needs: func(*lab.Lab) error { return nil }, Run: run,
	}
}

const name = "delegate"

// script is a family and who is killed in it. All of it is in its key.
type script struct {
	family string
	victim string // of a runner's point: host, or both it and the runner
	arms   []plan.Arm
	moment uint64 // where not 0, what moments are chosen from at which commands are killed
}

// byChance is the victim of a script whose kills come at any moment.
const byChance = "moment"

func (s script) key() string {
	if s.moment > 0 {
		return fmt.Sprintf("%s/%s/%d", s.family, byChance, s.moment)
	}
	var arms []string
	for _, a := range s.arms {
		arms = append(arms, a.String())
	}
	return strings.Join([]string{s.family, s.victim, strings.Join(arms, "+")}, "/")
}

// parse reads a key, also one of another seed.
func parse(key string) (s script, ok bool) {
	f := strings.Split(key, "/")
	if len(f) != 3 || families()[f[0]] == nil {
		return s, false
	}
	s = script{family: f[0], victim: f[1]}
	if s.victim == byChance {
		n, err := strconv.ParseUint(f[2], 10, 64)
		s.moment = n
		return s, err == nil && n > 0
	}
	for text := range strings.SplitSeq(f[2], "+") {
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
				l.Report.AddFigure("delegate: points not met", 1)
			}
			l.Report.AddFigure("delegate: kills", len(x.Fired)+x.kills)
			return l.Finish(key, x.Trial, x.kills)
		}})
	}
	return l.RunCases(ctx, name, c, cases)
}

// scripts are those of a pass. A short one has each family and each point of Delegating.
func scripts(c lab.Choice) []script {
	rng := rand.New(rand.NewPCG(c.Seed, 14))
	if c.Short {
		out := few()
		for _, f := range names() {
			out = append(out, further(f, 3, rng))
		}
		return out
	}
	return slices.Concat(once(), often(rng), moments(rng))
}

func at(command int, point fault.Point, pass int) plan.Arm {
	return plan.Arm{Command: command, Point: string(point), Pass: pass}
}

// few are the scripts of which every pass has one like it.
func few() []script {
	return []script{
		{family: "task", victim: "host", arms: []plan.Arm{at(0, fault.ChildRecorded, 1)}},
		{family: "further", victim: "host", arms: []plan.Arm{at(0, fault.ChildRecorded, 2)}},
		{family: "further", victim: "host", arms: []plan.Arm{at(0, fault.ChildEnded, 1)}},
		{family: "after", victim: "host", arms: []plan.Arm{at(0, fault.ChildEnded, 1), at(1, fault.AfterVerdict, 1)}},
		{family: "three", victim: "host", arms: []plan.Arm{at(0, fault.Parked, 1), at(1, fault.AnswerRecorded, 1)}},
		{family: "three", victim: "host", arms: []plan.Arm{at(1, fault.AnswerRecorded, 1), at(2, fault.Parked, 1), at(3, fault.ChildEnded, 1)}},
		{family: "task", victim: "both", arms: []plan.Arm{at(0, fault.RunnerRunning, 1)}},
	}
}

// once lists each point in each family that passes it, at several passes.
func once() (out []script) {
	for _, f := range names() {
		for _, p := range slices.Concat(fault.Driving(), fault.Delegating()) {
			if misses(f, p) != "" {
				continue
			}
			passes := 3
			if p == fault.BeforeCommit || p == fault.AfterCommit {
				passes = 12
			}
			for pass := 1; pass <= passes; pass++ {
				out = append(out, script{family: f, victim: "host", arms: arms(f, p, pass)})
				if (plan.Arm{Point: string(p)}).InRunner() && f == "task" && pass <= 2 {
					out = append(out, script{family: f, victim: "both", arms: arms(f, p, pass)})
				}
			}
		}
	}
	return append(out, few()...)
}

// arms arm a point that a family passes.
func arms(family string, p fault.Point, pass int) []plan.Arm {
	switch {
	case p == fault.InRecovery || p == fault.AfterVerdict || p == fault.BeforeMark:
		return []plan.Arm{at(0, fault.AfterEffect, 1), at(1, p, pass)}
	case p == fault.AnswerRecorded:
		return []plan.Arm{at(pass, p, 1)}
	case family == "three" && (p == fault.AfterAnswer || p == fault.ChildEnded || pass > 1 && p == fault.Parked):
		return []plan.Arm{at(pass, p, 1)}
	}
	return []plan.Arm{at(0, p, pass)}
}

// misses says why a family does not come by a point; "" where it does.
func misses(family string, p fault.Point) string {
	place, _, _ := strings.Cut(string(p), ".")
	asks := family == "three"
	switch {
	case p == fault.BeforeSummary || p == fault.AfterSummary:
		return "every family fits the window"
	case p == fault.AfterFailed:
		return "every request is answered"
	case place == "write" && family != "after":
		return "no file is written"
	case !asks && (p == fault.AtQuestion || p == fault.AfterAnswer || p == fault.AnswerRecorded || p == fault.Parked):
		return "nobody is asked"
	}
	return ""
}

// often lists families that are killed twice and three times.
func often(rng *rand.Rand) (out []script) {
	for _, f := range names() {
		for n := range 50 {
			out = append(out, further(f, 2+n%2, rng))
		}
	}
	return out
}

// further is a family of which each command is killed at a point that chance chooses.
func further(family string, kills int, rng *rand.Rand) script {
	var points []fault.Point
	for _, p := range slices.Concat(fault.Driving(), fault.Delegating()) {
		if misses(family, p) == "" {
			points = append(points, p)
		}
	}
	s := script{family: family, victim: "host"}
	for n := range kills {
		pool := points
		if rng.IntN(3) == 0 && family != "three" {
			pool = []fault.Point{fault.ChildRecorded, fault.ChildEnded}
		} else if rng.IntN(3) == 0 {
			pool = fault.Delegating()
		}
		if family != "three" {
			pool = slices.DeleteFunc(slices.Clone(pool), func(p fault.Point) bool { return p == fault.Parked })
		}
		s.arms = append(s.arms, at(n, pool[rng.IntN(len(pool))], 1+rng.IntN(2)))
	}
	return s
}

// moments lists families that are killed by chance.
func moments(rng *rand.Rand) (out []script) {
	for _, f := range names() {
		for range 15 {
			out = append(out, script{family: f, victim: byChance, moment: 1 + rng.Uint64N(1<<32)})
		}
	}
	return out
}
