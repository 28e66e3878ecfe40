//go:build linux

package witness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/world"
)

// damage is one to the product, and what must find it: what befalls the witness at its second
// entry, which is the start of a call.
type damage struct {
	world.Damage
	kind    string
	trouble string
}

func damages() []damage { return append(actsEarly(), readsWrong()...) }

// actsEarly are damages by which a call begins before it may.
func actsEarly() []damage {
	return []damage{
		{
			world.Damage{
				Name: "a call begins before the witness has its start", Word: "hasty", File: "host/drive/flush.go",
				Text: "		if err := cl.tell(ctx, why); err != nil {\n", Change: `		if <asked> {
			early := *cl
			go func() { _ = early.tell(ctx, why) }()
		} else if err := cl.tell(ctx, why); err != nil {
`,
			},
			judge.Unwitnessed, slow,
		},
		{
			world.Damage{
				Name: "a call begins although another host has the run", Word: "deaf", File: "host/witness/witness.go",
				Text: "		if !errors.As(err, &later) {\n			return err\n", Change: `		if <asked> && errors.As(err, new(*drive.FencedError)) {
			return nil
		}
		if !errors.As(err, &later) {
			return err
`,
			},
			judge.Unwitnessed, fenced,
		},
		{
			world.Damage{
				Name: "who slept goes on without asking the witness again", Word: "rested", File: "host/drive/flush.go",
				Text: "			if err := cl.still(ctx, l.place); err != nil {\n", Change: "			if err := cl.still(ctx, l.place); err != nil && !(<asked>) {\n",
			},
			Late, asleep,
		},
		{
			world.Damage{
				Name: "an older log is written to", Word: "trustful", File: "host/witness/family.go",
				Text: "reply.OK.Place < before {\n", Change: "reply.OK.Place < before && !(<asked>) {\n",
			},
			judge.Forked, older,
		},
	}
}

// readsWrong are those by which what the log has is taken for something else.
func readsWrong() []damage {
	return []damage{
		{
			world.Damage{
				Name: "a log that another host has written to is gone on with", Word: "blind", File: "host/witness/family.go",
				Text: "		if err == nil && !same {\n", Change: "		if err == nil && !same && !(<asked>) {\n",
			},
			judge.Forked, fenced,
		},
		{
			world.Damage{
				Name: "an entry whose acknowledgement is lost counts as taken", Word: "trusting", File: "host/witness/family.go",
				Text: "	reply, err := f.ask(ctx, *f.sent)\n", Change: `	reply, err := f.ask(ctx, *f.sent)
	if <asked> && errors.As(err, new(*laterError)) {
		reply, err = line.Reply{OK: &line.OK{Place: f.sent.Place}}, nil
	}
`,
			},
			judge.Unwitnessed, drop,
		},
		{
			world.Damage{
				Name: "an entry whose acknowledgement is lost counts as another host's", Word: "afraid", File: "host/witness/family.go",
				Text: "	if errors.As(err, new(*drive.FencedError)) {\n", Change: `	if <asked> && errors.As(err, new(*laterError)) {
		err = &drive.FencedError{Run: f.root}
	} else if errors.As(err, new(*drive.FencedError)) {
`,
			},
			judge.Differs, lose,
		},
		{
			world.Damage{
				Name: "the witness does not hear of the end", Word: "endless", File: "host/drive/witness.go",
				Text: "			why = WitnessedEnd\n", Change: "			if !(<asked>) {\n				why = WitnessedEnd\n			}\n",
			},
			judge.Unheard, well,
		},
	}
}

// controls damage copies of the logs of a story, and, in a whole pass, have stories carried out by
// a binary that breaks a promise: that takes a while to build.
func controls(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	if err := logControls(ctx, l); err != nil || c.Short {
		return err
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
		x, err := carryOut(ctx, l, newScript(d.trouble, 2, nowhere, "", "shell", "first", "anthropic"), plan.Arm{}, func(x *attempt) {
			x.World.Exe, x.stand.slow = exe, time.Second
			x.World.Env = append(x.World.Env, world.BreakVar+"="+d.Word)
		})
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

// logDamage is a change to a copy of a log.
type logDamage struct {
	name, kind string
	change     func(log []judge.Entry) []judge.Entry
}

func logDamages() []logDamage {
	return []logDamage{
		{"an entry of the log is gone", judge.Forked, func(log []judge.Entry) []judge.Entry { return slices.Delete(log, 1, 2) }},
		{"the last entry of the log is gone", judge.Unheard, func(log []judge.Entry) []judge.Entry { return log[:len(log)-1] }},
		{"an entry is in the log twice", judge.Forked, func(log []judge.Entry) []judge.Entry { return slices.Insert(log, 1, log[1]) }},
		{"a fact of the log is another", judge.Forked, func(log []judge.Entry) []judge.Entry {
			log[1].Facts = slices.Clone(log[1].Facts)
			log[1].Facts[0].Time++
			return log
		}},
		{"another host has written to the log before the last entry", judge.Forked, func(log []judge.Entry) []judge.Entry {
			return slices.Insert(log, len(log)-1, judge.Entry{By: otherHost})
		}},
		{"effects happened before anything was in the log", judge.Unwitnessed, func(log []judge.Entry) []judge.Entry {
			for i := range log {
				log[i].Seen = log[len(log)-1].Seen
			}
			return log
		}},
		{"the log has nothing", judge.Unwitnessed, func([]judge.Entry) []judge.Entry { return nil }},
	}
}

// logControls carry a story out of which nothing is killed.
func logControls(ctx context.Context, l *lab.Lab) error {
	s := newScript(well, 1, nowhere, "", "shell", "first", "anthropic")
	x, err := carryOut(ctx, l, s, plan.Arm{}, nil)
	if err != nil {
		return fmt.Errorf("the story of the controls: %w", err)
	}
	logs := x.logs()
	if len(x.Found) > 0 || len(logs) != 1 || len(logs[0]) < 3 {
		return errors.Join(fmt.Errorf("the story of the controls finds %v, and has %d logs, kept in %s", x.Found, len(logs), x.World.Root), x.World.SaveTranscript(s.key()), x.World.Close(true))
	}
	saw, err := x.World.Witness.Counts()
	if err != nil {
		return errors.Join(err, x.World.Close(true))
	}
	for _, d := range logDamages() {
		damaged := [][]judge.Entry{d.change(slices.Clone(logs[0]))}
		f := judge.CompareLogs(x.Record, x.Histories, damaged, saw)
		l.Control(d.name, d.kind, append(f, judge.CompareHeard(x.Record, damaged)...))
	}
	return x.World.Close(false)
}
