//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// longest is more than anything in a story takes.
const longest = 5 * time.Minute

// ages looks for times that no clock explains: below nothing, or longer than any story takes where it says how long something
// took.
func ages(outputs []output) findings {
	var f findings
	negative := regexp.MustCompile(`(?m)(^|[\s(])-\d+(\.\d+)?(ns|µs|ms|s|m|h|d)\b`)
	took := regexp.MustCompile(`(?m)(?:driven for |^✓ .*, )([0-9][0-9.a-zµ]*[a-z])\b`)
	millis := regexp.MustCompile(`"duration_ms":(-?\d+)`)
	for _, o := range outputs {
		name := fmt.Sprintf("agent %s (%s)", strings.Join(o.args, " "), o.arm)
		if m := negative.FindString(o.text); m != "" {
			f.add(differs, "%s prints the time %q", name, strings.TrimSpace(m))
		}
		for _, m := range took.FindAllStringSubmatch(o.text, -1) {
			if d, err := time.ParseDuration(m[1]); err == nil && d > longest {
				f.add(differs, "%s says that something took %s", name, d)
			}
		}
		for _, m := range millis.FindAllStringSubmatch(o.text, -1) {
			if n, err := strconv.ParseInt(m[1], 10, 64); err != nil || n < 0 || n > longest.Milliseconds() {
				f.add(differs, "%s says that something took %s ms", name, m[1])
			}
		}
		if len(o.args) > 0 && o.args[0] == "ls" && !o.killed {
			f = append(f, ageColumn(name, o.text)...)
		}
	}
	return f
}

// ageColumn reads the ages of a list of runs.
func ageColumn(name, text string) findings {
	var f findings
	age := regexp.MustCompile(`^r-\S+\s+.*?\s\s+(now|\d+[smhd])\s\s`)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "r-") && !age.MatchString(line) {
			f.add(differs, "%s prints no age: %s", name, strings.TrimSpace(line))
		}
	}
	return f
}

// clockControls show that the clock is set, and that the lab sees what must not come of it.
func clockControls(ctx context.Context, l *lab) error {
	t, err := l.begin(job{tool: "ask_user", situation: "first", shape: "runbook", victim: "host", change: func(s *story) {
		s.flags = []string{"--expire", "10h"}
	}}, nil)
	if err != nil {
		return err
	}
	if err := t.step(t.story.runArgs(t.prompt, "")); err != nil {
		return errors.Join(err, t.world.close(true))
	}
	c, err := t.world.start("process.started:1:clock+11h", "answer", "last", "blue")
	if err != nil {
		return errors.Join(err, t.world.close(true))
	}
	var f findings
	if o, ok := c.wait(); ok && o.code == 1 && strings.Contains(o.text, "expired") {
		f.add(stuck, "%s", o.text)
	}
	l.control("an answer an hour too late by a clock that was set", stuck, f)
	early, err := damagedExpiry(t)
	if err != nil {
		return errors.Join(err, t.world.close(true))
	}
	l.control("a question expires before its time is over", stuck, early)
	l.control("an age below nothing", differs, ages([]output{{args: []string{"ls"}, text: "r-abcdefgh  completed  -3h  ~/work  2 turns  x  y\n"}}))
	l.control("a command that took a day", differs, ages([]output{{args: []string{"run"}, text: "✓ 1.0 shell: ok, 26h0m\n"}}))
	return t.world.close(false)
}

// damagedExpiry lets a copy of the record say that the open question expired at once.
func damagedExpiry(t *tale) (findings, error) {
	if _, err := loadChanged(t.world.state, t.world.root, `UPDATE pending_requests SET status = 'expired', closed_at = opened_at + 1`); err != nil {
		return nil, err
	}
	_, f, err := expiries(t.world.root + "/copy.db")
	return f, err
}
