//go:build linux

// Package witness has runs that have a witness killed wherever they can be, while something befalls
// the witness too: it is slow, cannot reach its log, hangs up on an entry before or after it took
// it, is killed, stays away, is silent, or gives the run to another host. What was interrupted goes
// on to its end, as far as it may. The witness counts the effects that are there before it takes an
// entry, so the order of both is seen from outside: no effect happens before its start is in the
// log, the log is the beginning of the journal, and nothing follows in it on what another host
// wrote. The story ends as if it had no witness and nobody had been killed.
package witness

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
	"agent/scripts/crashlab/story"
)

// Fault is about runs that have a witness.
func Fault() lab.Fault {
	return lab.Fault{
		Name: name, What: "runs that have a witness are killed, and so is the witness, or it is slow, silent, cut off, or another host has them",
		Needs: func(*lab.Lab) error { return nil }, Run: run,
	}
}

const name = "witness"

// What befalls the witness.
const (
	well   = "well"   // nothing
	slow   = "slow"   // each entry takes a while
	later  = "later"  // it cannot reach its log, twice
	drop   = "drop"   // it hangs up on an entry, and has not taken it
	lose   = "lose"   // it takes an entry, and hangs up instead of saying so
	killed = "killed" // it is killed, with an entry that it took or not, and is soon there again
	gone   = "gone"   // it is killed, and there again when the command has ended
	silent = "silent" // it says nothing until the command has ended, and takes the entry then
	older  = "older"  // it is killed, and for two commands there with a log that lacks its last entry
	fenced = "fenced" // another host has the run
	asleep = "asleep" // likewise, while who drives sleeps behind the answer to an entry
)

func troubles() []string {
	return []string{well, slow, later, drop, lose, killed, gone, silent, older, fenced, asleep}
}

// script is a story, what befalls its witness at which entry, and where who drives it is killed.
// All of it is in its key.
type script struct {
	trouble  string
	entry    int         // counted from 1, without those that nothing waits for
	detached bool        // processes of their own drive, and are killed
	point    fault.Point // where who drives is killed
	then     fault.Point // in the next command; "" for nowhere
	moment   uint64      // where not 0, what moments are chosen from at which commands are killed
	parts    bool        // the run delegates, to runs that have the same witness
	plan.Family
}

func (s *script) key() string {
	where := string(s.point)
	switch {
	case s.moment > 0:
		where = byChance + strconv.FormatUint(s.moment, 10)
	case s.then != "":
		where += "+" + string(s.then)
	}
	if s.detached {
		where = detached + where
	}
	tool := s.Tool
	if s.parts {
		tool = story.Delegates
	}
	return strings.Join([]string{s.trouble, strconv.Itoa(s.entry), where, tool, s.Situation, s.Shape}, "/")
}

// detached stands in a key before the points of processes that drive in the background.
const detached = "drive:"

// byChance stands in a key before a number, in place of a point.
const byChance = "moment-"

// nowhere is the point of a script in which nobody is killed who drives.
const nowhere fault.Point = "-"

// parse reads a key.
func parse(key string) (*script, bool) {
	f := strings.Split(key, "/")
	if len(f) != 6 || !slices.Contains(troubles(), f[0]) || !slices.Contains(story.Situations(), f[4]) || !slices.Contains(story.Shapes(), f[5]) {
		return nil, false
	}
	entry, err := strconv.Atoi(f[1])
	if _, ok := story.Subjects()[f[3]]; err != nil || entry < 1 || !ok && f[3] != story.Delegates {
		return nil, false
	}
	where, isDetached := strings.CutPrefix(f[2], detached)
	if text, ok := strings.CutPrefix(where, byChance); ok && !isDetached {
		s := newScript(f[0], entry, nowhere, "", f[3], f[4], f[5])
		s.moment, err = strconv.ParseUint(text, 10, 64)
		return s, err == nil && s.moment > 0
	}
	point, then, _ := strings.Cut(where, "+")
	s := newScript(f[0], entry, fault.Point(point), fault.Point(then), f[3], f[4], f[5])
	s.detached = isDetached
	for _, p := range []fault.Point{s.point, s.then} {
		if p != nowhere && p != "" && !slices.Contains(s.points(), p) {
			return nil, false
		}
	}
	return s, s.point != ""
}

// mostTries is at how many commands and passes a point is looked for.
const mostTries = 3

func newScript(trouble string, entry int, point, then fault.Point, tool, situation, shape string) *script {
	s := &script{trouble: trouble, entry: entry, point: point, then: then}
	if s.parts = tool == story.Delegates; s.parts {
		tool = "shell"
	}
	s.Family = plan.NewFamily(tool, situation, shape, string(point), false)
	s.Tries = s.Tries[:min(mostTries, len(s.Tries))]
	if s.parts {
		s.Tries = []plan.Arm{{Point: string(point), Pass: 1}}
		if point == fault.InRecovery || point == fault.AfterVerdict || point == fault.BeforeMark {
			s.Arms, s.Tries[0].Command = []plan.Arm{{Point: string(fault.AfterEffect), Pass: 1}}, 1
		}
	}
	if point == nowhere {
		s.Arms, s.Tries = nil, nil
	}
	return s
}

// points are those that who drives such a run passes, and its runners.
func points() []fault.Point { return slices.Concat(fault.Driving(), fault.Witnessed()) }

// points are those of the script.
func (s *script) points() (out []fault.Point) {
	for _, p := range points() {
		inRunner := strings.HasPrefix(string(p), "runner.")
		if s.detached && (inRunner || p == fault.AnswerRecorded) || s.parts && partsMiss(p) {
			continue
		}
		out = append(out, p)
	}
	if s.parts {
		out = append(out, fault.ChildRecorded, fault.ChildEnded)
	}
	return out
}

// partsMiss says that a run that delegates, and whose parts write by commands alone, does not come
// by a point.
func partsMiss(p fault.Point) bool {
	switch p {
	case fault.BeforeSummary, fault.AfterSummary, fault.AfterFailed, fault.AtQuestion, fault.AfterAnswer, fault.AnswerRecorded, fault.WriteTemp, fault.WriteRenamed:
		return true
	}
	return false
}

func run(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	if c.Only == "" {
		if err := controls(ctx, l, c); err != nil {
			return err
		}
	}
	all := scripts(c)
	if s, ok := parse(c.Only); ok {
		all = []*script{s}
	}
	var cases []lab.Case
	for _, s := range all {
		cases = append(cases, lab.Case{Key: s.key(), Try: func(ctx context.Context, key string) error { return try(ctx, l, s, key) }})
	}
	return l.RunCases(ctx, name, c, cases)
}

// try carries a script out, until its point is met.
func try(ctx context.Context, l *lab.Lab, s *script, key string) error {
	tries := s.Tries
	if len(tries) == 0 {
		tries = []plan.Arm{{}}
	}
	for _, a := range tries {
		x, err := carryOut(ctx, l, s, a, nil)
		if err != nil {
			return err
		}
		if err := x.judge(); err != nil {
			return errors.Join(err, x.World.Close(true))
		}
		met := a.Point == "" || slices.Contains(x.Fired, a)
		found := len(x.Found) > 0
		x.count(l)
		if err := errors.Join(x.keep(found), l.Finish(key, x.Trial, x.kills)); err != nil || found || met {
			return err
		}
	}
	l.Report.AddFigure("witness: points not met", 1)
	return nil
}

// count adds what is counted of an attempt.
func (x *attempt) count(l *lab.Lab) {
	entries := 0
	for _, log := range x.logs() {
		entries += len(log)
	}
	l.Report.AddFigure("witness: entries in logs", entries)
	l.Report.AddFigure("witness: kills", len(x.Fired)+x.kills)
	if x.met {
		l.Report.AddFigure(fmt.Sprintf("witness: %s", x.script.trouble), 1)
	}
}
