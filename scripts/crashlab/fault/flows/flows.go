//go:build linux

// Package flows has flows of phases killed wherever they can be: at the fault points of a drive, at
// those that only a flow passes, and at any moment; once, twice and three times, each time a step
// further. Between a kill and the next command an artifact may be lost or changed; elsewhere the
// disk under the state has no room for a while. What was interrupted is resumed and what is asked
// is answered, by processes of their own, to the end. Then each part of a phase has had one run,
// whose id was on record before it; no effect is missing and none is there more often than a person
// let it be; each artifact holds what it is to be made from; nobody was asked who is not asked
// without a kill; and every run has seen the same results.
package flows

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"agent/recovery/fault"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/plan"
)

// Fault is about flows.
func Fault() lab.Fault {
	return lab.Fault{
		Name: name, What: "flows of phases are killed, once and again and again, and what they made is lost or changed in between",
		Needs: func(*lab.Lab) error { return nil }, Run: run,
	}
}

const name = "flows"

// script is a family, who is killed in it, and what happens to its artifacts. All of it is in its
// key.
type script struct {
	family string
	victim string // of a runner's point: host, or both it and the runner
	arms   []plan.Arm
	moment uint64 // where not 0, what moments are chosen from at which commands are killed
	harm   string // to an artifact, after the first kill by which one counts
}

// byChance is the victim of a script whose kills come at any moment.
const byChance = "moment"

// none is the harm of a script in which every artifact is left alone.
const none = "none"

func (s script) key() string {
	var arms []string
	for _, a := range s.arms {
		arms = append(arms, a.String())
	}
	if s.moment > 0 {
		arms = []string{strconv.FormatUint(s.moment, 10)}
	}
	return strings.Join([]string{s.family, s.victim, strings.Join(arms, "+"), s.harm}, "/")
}

// parse reads a key, also one of another seed.
func parse(key string) (s script, ok bool) {
	f := strings.Split(key, "/")
	if len(f) != 4 || families()[f[0]] == nil || f[3] != none && f[3] != full && harms()[f[3]] == nil {
		return s, false
	}
	s = script{family: f[0], victim: f[1], harm: f[3]}
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
	if l.Mounts != nil {
		l.Report.NoteNotTried(name+"/"+full, l.Mounts)
		all = slices.DeleteFunc(all, func(s script) bool { return s.harm == full })
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
				l.Report.AddFigure("flows: points not met", 1)
			}
			if s.harm == full {
				l.Report.AddFigure("flows: disks filled", len(x.Fired))
				return l.Finish(key, x.Trial, 0)
			}
			l.Report.AddFigure("flows: kills", len(x.Fired)+x.kills)
			if x.harmed.path != "" {
				l.Report.AddFigure("flows: artifacts "+harms()[s.harm].does, 1)
			}
			return l.Finish(key, x.Trial, x.kills)
		}})
	}
	return l.RunCases(ctx, name, c, cases)
}

// scripts are those of a pass.
func scripts(c lab.Choice) []script {
	if c.Short {
		return few()
	}
	rng := rand.New(rand.NewPCG(c.Seed, 14))
	return slices.Concat(few(), once(), often(rng), moments(rng), lost(rng), starved())
}

func at(command int, point fault.Point, pass int) plan.Arm {
	return plan.Arm{Command: command, Point: string(point), Pass: pass}
}

// few are the scripts of every pass: each family, and each point that only a flow passes.
func few() []script {
	host := func(family, harm string, arms ...plan.Arm) script {
		return script{family: family, victim: "host", arms: arms, harm: harm}
	}
	return []script{
		host("sequence", none, at(0, fault.PhaseStarted, 2), at(1, fault.ArtifactsLooked, 1)),
		host("sequence", "cut", at(0, fault.PhaseEnded, 2)),
		host("side", none, at(0, fault.ArtifactSynced, 2), at(1, fault.ChildRecorded, 1)),
		host("each", none, at(0, fault.ChildEnded, 4), at(1, fault.AfterCommit, 3)),
		host("rounds", none, at(0, fault.PhaseRewound, 1), at(1, fault.ChildRecorded, 1)),
		host("redo", none, at(0, fault.AtQuestion, 1), at(1, fault.PhaseRewound, 1), at(2, fault.ArtifactCopied, 1)),
		host("again", none, at(1, fault.AtQuestion, 1), at(2, fault.AnswerRecorded, 1), at(3, fault.PhaseStarted, 1)),
		host("models", none, at(0, fault.ArtifactTemp, 1)),
		host("models", "missing", at(0, fault.ArtifactLinked, 1), at(1, fault.ArtifactTemp, 1)),
		host("delegate", none, at(0, fault.ChildRecorded, 3), at(1, fault.ChildEnded, 1)),
		host("asks", none, at(0, fault.Parked, 1), at(1, fault.AnswerRecorded, 1)),
		host("sequence", full, at(0, fault.ArtifactCopied, 1)),
		{family: "sequence", victim: "both", arms: []plan.Arm{at(0, fault.RunnerRunning, 2)}, harm: none},
	}
}

// points are those at which flows are killed.
func points() []fault.Point {
	return slices.Concat(fault.Driving(), fault.Flows(), fault.Delegating(), fault.Phases())
}

// once lists each point in each family that passes it, at several passes.
func once() (out []script) {
	for _, f := range names() {
		for _, p := range points() {
			if misses(f, p) != "" {
				continue
			}
			passes := 3
			if p == fault.BeforeCommit || p == fault.AfterCommit {
				passes = 14
			}
			for pass := 1; pass <= passes; pass++ {
				s := script{family: f, victim: "host", arms: arms(f, p, pass), harm: none}
				out = append(out, s)
				if (plan.Arm{Point: string(p)}).InRunner() && (f == "sequence" || f == "models") {
					s.victim = "both"
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// arms arm a point that a family passes.
func arms(family string, p fault.Point, pass int) []plan.Arm {
	asks := family == "asks" || family == "redo"
	switch {
	case family == "again" && (p == fault.AtQuestion || p == fault.PhaseRewound):
		return []plan.Arm{at(1, p, 1)}
	case family == "again" && (p == fault.AnswerRecorded || p == fault.AfterAnswer):
		return []plan.Arm{at(1+pass, p, 1)}
	case family == "again" && pass%2 == 0:
		return []plan.Arm{at(1, p, pass)} // in the flow that goes on
	case p == fault.InRecovery || p == fault.AfterVerdict || p == fault.BeforeMark || p == fault.ArtifactsLooked:
		return []plan.Arm{at(0, fault.AfterEffect, 1+pass%2), at(1, p, pass)}
	case p == fault.AnswerRecorded, asks && p == fault.AfterAnswer:
		return []plan.Arm{at(pass, p, 1)}
	case p == fault.PhaseRewound && family == "redo":
		return []plan.Arm{at(1, p, 1)}
	}
	return []plan.Arm{at(0, p, pass)}
}

// misses says why a family does not come by a point; "" where it does.
func misses(family string, p fault.Point) string {
	place, _, _ := strings.Cut(string(p), ".")
	models := family == "models" || family == "delegate" || family == "asks"
	switch {
	case p == fault.BeforeSummary || p == fault.AfterSummary:
		return "every family fits the window"
	case p == fault.AfterFailed:
		return "every request is answered"
	case place == "write" && family != "models" && family != "delegate":
		return "no tool writes a file"
	case p == fault.MidAnswer && !models:
		return "the runbook model's answer has no middle"
	case family != "asks" && p == fault.Parked:
		return "no phase asks a person"
	case family != "asks" && family != "redo" && family != "again" && (p == fault.AtQuestion || p == fault.AfterAnswer || p == fault.AnswerRecorded):
		return "nobody is asked"
	case p == fault.PhaseRewound && family != "redo" && family != "rounds":
		return "no phase is done again"
	case (p == fault.ArtifactTemp || p == fault.ArtifactLinked) && family != "models" && family != "asks":
		return "no answer is an artifact"
	}
	return ""
}

// often lists families that are killed twice and three times.
func often(rng *rand.Rand) (out []script) {
	for _, f := range names() {
		for n := range 40 {
			out = append(out, further(f, 2+n%2, none, rng))
		}
	}
	return out
}

// further is a family of which each command is killed at a point that chance chooses.
func further(family string, kills int, harm string, rng *rand.Rand) script {
	met := func(all []fault.Point) []fault.Point {
		return slices.DeleteFunc(slices.Clone(all), func(p fault.Point) bool { return misses(family, p) != "" || p == fault.Started })
	}
	s := script{family: family, victim: "host", harm: harm}
	for n := range kills {
		pool := met(points())
		if rng.IntN(2) == 0 {
			pool = met(slices.Concat(fault.Flows(), fault.Delegating(), fault.Phases()))
		}
		s.arms = append(s.arms, at(n, pool[rng.IntN(len(pool))], 1+rng.IntN(3)))
	}
	return s
}

// moments lists families that are killed by chance.
func moments(rng *rand.Rand) (out []script) {
	for _, f := range names() {
		for range 10 {
			out = append(out, script{family: f, victim: byChance, moment: 1 + rng.Uint64N(1<<32), harm: none})
		}
	}
	return out
}

// lost lists families with each harm that they may come to, at a kill that chance chooses: at the
// boundaries between phases more often than elsewhere.
func lost(rng *rand.Rand) (out []script) {
	boundary := []fault.Point{fault.PhaseEnded, fault.PhaseStarted, fault.ChildRecorded, fault.ChildEnded, fault.ArtifactsLooked, fault.AfterStarted, fault.AfterEffect}
	for _, f := range names() {
		for _, h := range harmsOf(f) {
			for n := range 8 {
				s := further(f, 1+n%2, h, rng)
				if n < 6 {
					s.arms[0] = at(0, boundary[rng.IntN(len(boundary))], 2+rng.IntN(3))
				}
				out = append(out, s)
			}
		}
	}
	return out
}
