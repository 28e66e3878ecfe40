//go:build linux

package witness

import (
	"slices"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/plan"
)

// judge judges the end of a script.
func (x *attempt) judge() error {
	if len(x.Found) > 0 {
		return nil
	}
	if status := x.top().Run.Status; x.stand.given() && status != "completed" {
		if status != "interrupted" {
			x.Found.Add(judge.Stuck, "host %s has the run, and here it is left %s", otherHost, status)
		}
		return nil
	}
	hurt := slices.ContainsFunc(x.Fired, func(a plan.Arm) bool { return a.InRunner() && x.script.Victim != "host" })
	for _, c := range x.Needless {
		if !hurt {
			x.Found.Add(judge.Needless, "no runner was killed, and the outcome of call %s is recorded as unknown", c)
		}
	}
	if x.script.parts {
		return x.judgeParts(hurt)
	}
	left := x.Unknown > 0 && (x.script.Leave || x.script.Shape == "runbook")
	x.Found = append(x.Found, judge.CompareEnds(x.was, x.is, x.Unknown > 0 || hurt, left)...)
	return nil
}

// judgeParts wants each run of a family to have ended, and its effects to have happened.
func (x *attempt) judgeParts(unsure bool) error {
	for _, h := range x.Histories {
		if h.Run.Status != "completed" {
			x.Found.Add(judge.Stuck, "run %s is left %s", h.Run.ID, h.Run.Status)
		}
	}
	saw, err := x.World.Witness.Counts()
	for _, letter := range []string{"c", "d", "e"} {
		if n := saw[marks.In(x.World.Number, letter)]; n != 1 && x.Unknown == 0 && !unsure {
			x.Found.Add(judge.Lost, "the effect %s happened %d times", letter, n)
		}
	}
	return err
}
