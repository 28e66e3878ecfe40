//go:build linux

// Package commits has runs whose calls commit killed wherever they can be, and who looks for their
// commits, too: at the fault points of a drive, behind the reading of git's logs, and at any
// moment. What was interrupted is resumed to its end. A person commits what the run had left, and
// amends it. In the end each commit that git's log tells of has one checkpoint, and is linked as
// what it is; each link's commit is in the repository; and git finds nothing wrong with that.
package commits

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

// Fault is about runs that commit.
func Fault() lab.Fault {
	return lab.Fault{
		Name: name, What: "runs that commit are killed, and so is who looks for their commits",
		Needs: func(*lab.Lab) error { return nil }, Run: run,
	}
}

const name = "commits"

// The situations.
const (
	call   = "call"   // the run is killed
	looked = "looked" // likewise, and somebody looks for commits before each resume
	person = "person" // agent log is killed, after a person has committed
)

// script says who is killed in a situation. All of it is in its key.
type script struct {
	situation string
	victim    string // of a runner's point: host, or both it and the runner
	arms      []plan.Arm
	moment    uint64 // where not 0, what moments are chosen from at which commands are killed
}

// byChance is the victim of a script whose kills come at any moment.
const byChance = "moment"

func (s script) key() string {
	if s.moment > 0 {
		return fmt.Sprintf("%s/%s/%d", s.situation, byChance, s.moment)
	}
	var arms []string
	for _, a := range s.arms {
		arms = append(arms, a.String())
	}
	return strings.Join([]string{s.situation, s.victim, strings.Join(arms, "+")}, "/")
}

// parse reads a key, also one of another seed.
func parse(key string) (s script, ok bool) {
	f := strings.Split(key, "/")
	if len(f) != 3 || !slices.Contains([]string{call, looked, person}, f[0]) {
		return s, false
	}
	s = script{situation: f[0], victim: f[1]}
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
			if s.moment == 0 && len(x.Fired) == 0 {
				l.Report.AddFigure("commits: points not met", 1)
			}
			l.Report.AddFigure("commits: commits that are linked", x.linked)
			l.Report.AddFigure("commits: kills", len(x.Fired)+x.kills)
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
	rng := rand.New(rand.NewPCG(c.Seed, 31))
	return slices.Concat(few(), once(), often(rng), moments(rng))
}

// few are those of every pass.
func few() []script {
	return []script{
		{situation: call, victim: "host", arms: []plan.Arm{at(0, fault.CommitsRead, 2), at(1, fault.CommitsRead, 1)}},
		{situation: looked, victim: "host", arms: []plan.Arm{at(0, fault.AfterEffect, 1)}},
		{situation: looked, victim: "both", arms: []plan.Arm{at(0, fault.RunnerCommand, 2)}},
		{situation: person, victim: "host", arms: []plan.Arm{at(0, fault.CommitsRead, 1), at(1, fault.AfterCommit, 1)}},
	}
}

// points are those that a situation passes.
func points(situation string) []fault.Point {
	if situation == person {
		return slices.Concat([]fault.Point{fault.Started, fault.BeforeCommit, fault.AfterCommit, fault.AfterLock, fault.BeforeUnlocking}, fault.Committing())
	}
	all := slices.Concat(fault.Driving(), fault.Workspaces(), fault.Committing())
	return slices.DeleteFunc(all, func(p fault.Point) bool { return misses(p) != "" })
}

// misses says why a run that commits does not come by a point; "" where it does.
func misses(p fault.Point) string {
	place, _, _ := strings.Cut(string(p), ".")
	switch {
	case p == fault.BeforeSummary || p == fault.AfterSummary:
		return "every run fits the window"
	case p == fault.AfterFailed:
		return "every request is answered"
	case place == "write":
		return "no file tool is called"
	case p == fault.AtQuestion || p == fault.AfterAnswer || p == fault.AnswerRecorded:
		return "nobody is asked"
	}
	return ""
}

// passes says how often a point is tried in a row: each of the three calls, or each record.
func passes(p fault.Point) int {
	switch p {
	case fault.BeforeCommit, fault.AfterCommit:
		return 8
	case fault.CommitsRead, fault.AfterEffect, fault.LookedAfter, fault.RunnerCommand, fault.RunnerExit:
		return 3
	}
	return 1
}

// arms arm a point where it is passed.
func arms(p fault.Point, pass int) []plan.Arm {
	if p == fault.InRecovery || p == fault.AfterVerdict || p == fault.BeforeMark {
		return []plan.Arm{at(0, fault.AfterEffect, 1), at(1, p, pass)}
	}
	return []plan.Arm{at(0, p, pass)}
}

// once lists each point of each situation, at several passes, and what a runner meets also where it
// is killed with its host.
func once() (out []script) {
	for _, situation := range []string{call, looked, person} {
		for _, p := range points(situation) {
			for pass := 1; pass <= passes(p); pass++ {
				if situation == person && pass > 4 {
					break
				}
				victims := []string{"host"}
				if strings.HasPrefix(string(p), "runner.") && p != fault.RunnerStarted {
					victims = append(victims, "both")
				}
				for _, v := range victims {
					out = append(out, script{situation: situation, victim: v, arms: arms(p, pass)})
				}
			}
		}
	}
	return out
}

// often lists what is killed twice and three times.
func often(rng *rand.Rand) (out []script) {
	for n := range 18 {
		s := script{situation: []string{call, looked, person}[n%3], victim: "host"}
		pool := points(s.situation)
		for k := range 2 + n/3%2 {
			from := pool
			if rng.IntN(2) == 0 {
				from = []fault.Point{fault.CommitsRead, fault.AfterCommit}
			}
			s.arms = append(s.arms, at(k, from[rng.IntN(len(from))], 1+rng.IntN(2)))
		}
		out = append(out, s)
	}
	return out
}

// moments lists what is killed by chance.
func moments(rng *rand.Rand) (out []script) {
	for n := range 12 {
		out = append(out, script{situation: []string{call, looked, person}[n%3], victim: byChance, moment: 1 + rng.Uint64N(1<<32)})
	}
	return out
}
