//go:build linux

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"agent/recovery/fault"
	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
)

// judge judges the end of a story: what was acknowledged is recorded, a key is one run, and but for
// a cancel the world is as if nobody had been killed.
func (s *attempt) judge(is judge.End) judge.Findings {
	f := judgeRecord(s.Record, s.acks, s.started)
	if s.cancelled && (is.Status == "cancelled" || strings.HasPrefix(s.point, string(fault.AfterCommit)+":2")) {
		return append(f, s.judgeCancelled(is)...)
	}
	for _, c := range s.Needless {
		f.Add(judge.Needless, "no runner was killed, and the outcome of call %s is recorded as unknown", c)
	}
	left := s.Unknown > 0 && (s.Leave || s.Shape == "runbook")
	return append(f, judge.CompareEnds(s.was, is, s.Unknown > 0, left)...)
}

// judgeRecord holds what servers acknowledged against the record.
func judgeRecord(r *journal.Record, acks []ack, started int) judge.Findings {
	var f judge.Findings
	if len(r.Runs) != started {
		f.Add(judge.Twice, "%d runs are recorded, and %d were asked for, each with one key", len(r.Runs), started)
	}
	for _, a := range acks {
		i := slices.IndexFunc(r.Runs, func(x journal.Run) bool { return x.ID == a.run })
		switch {
		case i < 0:
			f.Add(judge.Lost, "run %s was acknowledged, and is not recorded", a.run)
		case a.cancel && !slices.Contains([]string{"cancelled", "completed", "failed"}, r.Runs[i].Status):
			f.Add(judge.Stuck, "the cancel of run %s was acknowledged, and it is %s", a.run, r.Runs[i].Status)
		case a.request != "" && !slices.ContainsFunc(r.Requests, func(q journal.Request) bool {
			return q.ID == a.request && q.Status == "resolved" && same(q.Answer, a.answer)
		}):
			f.Add(judge.Lost, "the answer %s to %s was acknowledged, and is not recorded", a.answer, a.request)
		}
	}
	return f
}

func same(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// judgeCancelled judges a run whose cancel was recorded: nothing of it happens after that.
func (s *attempt) judgeCancelled(is judge.End) judge.Findings {
	var f judge.Findings
	if is.Status != "cancelled" {
		f.Add(judge.Differs, "the cancel of run %s was recorded, and it ends %s", s.run, is.Status)
	}
	saw, err := s.World.Witness.Counts()
	if err != nil {
		f.Add(judge.Unlisted, "%v", err)
	}
	for _, m := range slices.Sorted(maps.Keys(saw)) {
		if saw[m] > s.saw[m] {
			f.Add(judge.Twice, "the effect %s happened after the run was cancelled", m)
		}
	}
	return f
}

// controls are a client that forgets its key, a server that has a run go on which a person stopped,
// and a record without what was acknowledged.
func controls(ctx context.Context, l *lab.Lab) error {
	forgetful := newScript(wayStart, string(fault.DriverAccepted), "shell", "first", "runbook", setting{arm: at(string(fault.DriverAccepted), 1)})
	t, is, err := carryOut(ctx, l, forgetful, 0, func(t *attempt) { t.forgets = true })
	if err != nil {
		return fmt.Errorf("the control of the keys: %w", err)
	}
	l.Control("a start whose key is forgotten is started twice", judge.Twice, append(t.Found, t.judge(is)...))
	if err := t.World.Close(false); err != nil {
		return err
	}
	heedless := newScript(wayStopped+":INT", string(fault.BeforeModel), "shell", "first", "runbook", setting{arm: drive(string(fault.BeforeModel), 1) + ":stop"})
	heedless.revives = func(t *attempt) error {
		_, err := t.World.Run(ctx, "resume", "--detach", t.run)
		return err
	}
	if t, _, err = carryOut(ctx, l, heedless, 0, nil); err != nil {
		return fmt.Errorf("the control of who was stopped: %w", err)
	}
	l.Control("a run goes on that a person stopped", judge.Differs, t.Found)
	if err := t.World.Close(false); err != nil {
		return err
	}
	plain := newScript(wayAnswer, string(fault.AnswerRecorded), "ask_user", "first", "runbook", setting{}, setting{arm: at(string(fault.AnswerRecorded), 1)})
	if t, is, err = carryOut(ctx, l, plain, 0, nil); err != nil {
		return fmt.Errorf("the control of what was acknowledged: %w", err)
	}
	if f := append(t.Found, t.judge(is)...); len(f) > 0 {
		return errors.Join(fmt.Errorf("the story of the control of what was acknowledged finds %v, kept in %s", f, t.World.Root), t.World.SaveTranscript(plain.key()), t.World.Close(true))
	}
	gone := *t.Record
	gone.Requests = nil
	l.Control("an answer that was acknowledged is gone", judge.Lost, judgeRecord(&gone, t.acks, t.started))
	gone.Runs = nil
	l.Control("a run that was acknowledged is gone", judge.Lost, judgeRecord(&gone, t.acks, t.started))
	return t.World.Close(false)
}
