//go:build linux

package clock

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
)

// longest is more than anything in a story takes.
const longest = 5 * time.Minute

// ages looks for times that no clock explains: below nothing, or longer than any story takes where
// it says how long something took.
func ages(outputs []judge.Output) judge.Findings {
	var f judge.Findings
	negative := regexp.MustCompile(`(?m)(^|[\s(])-\d+(\.\d+)?(ns|µs|ms|s|m|h|d)\b`)
	took := regexp.MustCompile(`(?m)(?:driven for |^✓ .*, )([0-9][0-9.a-zµ]*[a-z])\b`)
	millis := regexp.MustCompile(`"duration_ms":(-?\d+)`)
	for _, o := range outputs {
		name := fmt.Sprintf("agent %s (%s)", strings.Join(o.Args, " "), o.Arm)
		if m := negative.FindString(o.Text); m != "" {
			f.Add(judge.Differs, "%s prints the time %q", name, strings.TrimSpace(m))
		}
		for _, m := range took.FindAllStringSubmatch(o.Text, -1) {
			if d, err := time.ParseDuration(m[1]); err == nil && d > longest {
				f.Add(judge.Differs, "%s says that something took %s", name, d)
			}
		}
		for _, m := range millis.FindAllStringSubmatch(o.Text, -1) {
			if n, err := strconv.ParseInt(m[1], 10, 64); err != nil || n < 0 || n > longest.Milliseconds() {
				f.Add(judge.Differs, "%s says that something took %s ms", name, m[1])
			}
		}
		if len(o.Args) > 0 && o.Args[0] == "ls" && !o.Killed {
			f = append(f, ageColumn(name, o.Text)...)
		}
	}
	return f
}

// ageColumn reads the ages of a list of runs.
func ageColumn(name, text string) judge.Findings {
	var f judge.Findings
	age := regexp.MustCompile(`^r-\S+\s+.*?\s\s+(now|\d+[smhd])\s\s`)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "r-") && !age.MatchString(line) {
			f.Add(judge.Differs, "%s prints no age: %s", name, strings.TrimSpace(line))
		}
	}
	return f
}

// controls show that the clock is set, and that the lab sees what must not come of it.
func controls(ctx context.Context, l *lab.Lab) error {
	t, err := l.Begin(plan.Job{Tool: "ask_user", Situation: "first", Shape: "runbook", Victim: "host", Change: func(s *story.Story) {
		s.Flags = []string{"--expire", "10h"}
	}}, nil)
	if err != nil {
		return err
	}
	if err := t.Step(t.Story.RunArgs(t.Prompt, "")); err != nil {
		return errors.Join(err, t.World.Close(true))
	}
	c, err := t.World.Start("process.started:1:clock+11h", "answer", "last", "blue")
	if err != nil {
		return errors.Join(err, t.World.Close(true))
	}
	var f judge.Findings
	if o, ok := c.Wait(); ok && o.Code == 1 && strings.Contains(o.Text, "expired") {
		f.Add(judge.Stuck, "%s", o.Text)
	}
	l.Control("an answer an hour too late by a clock that was set", judge.Stuck, f)
	early, err := damagedExpiry(t)
	if err != nil {
		return errors.Join(err, t.World.Close(true))
	}
	l.Control("a question expires before its time is over", judge.Stuck, early)
	l.Control("an age below nothing", judge.Differs, ages([]judge.Output{{Args: []string{"ls"}, Text: "r-abcdefgh  completed  -3h  ~/work  2 turns  x  y\n"}}))
	l.Control("a command that took a day", judge.Differs, ages([]judge.Output{{Args: []string{"run"}, Text: "✓ 1.0 shell: ok, 26h0m\n"}}))
	return t.World.Close(false)
}

// damagedExpiry lets a copy of the record say that the open question expired at once.
func damagedExpiry(t *trial.Trial) (judge.Findings, error) {
	if _, err := journal.LoadChanged(t.World.State, t.World.Root, `UPDATE pending_requests SET status = 'expired', closed_at = opened_at + 1`); err != nil {
		return nil, err
	}
	_, f, err := expiries(t.World.Root + "/copy.db")
	return f, err
}
