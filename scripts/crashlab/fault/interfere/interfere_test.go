//go:build linux

package interfere

import (
	"strings"
	"testing"

	"agent/recovery/fault"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
)

// Every fault point is met by each way of each interference, and the process that interferes is
// killed at each; a key names one story.
func TestInterferencesCoverThePoints(t *testing.T) {
	for name, x := range map[string]struct {
		all      []*interference
		ways     []string
		killedIn []string // ways in which the process that interferes is killed
	}{
		"signal":   {signals(), []string{"TERM", "HUP"}, nil},
		"cancel":   {cancels(), []string{"live", "dead"}, []string{"live", "dead", "waiting"}},
		"tell":     {tells(), []string{"live", "dead"}, nil},
		"panic":    {panics(), []string{"panic"}, nil},
		"takeover": {takeovers(), []string{"alive", "stopped", "killed"}, []string{"alive", "stopped"}},
		"older":    {olders(), []string{"newer", "decided"}, nil},
		"gone":     {removals(), []string{"folder", "database", "copied"}, nil},
	} {
		keys := map[string]bool{}
		met := map[string]bool{}
		for _, i := range x.all {
			if keys[i.key()] {
				t.Errorf("%s: %s names two stories", name, i.key())
			}
			keys[i.key()] = true
			met[i.way+" at "+i.tries[0].Point] = true
			met[i.way+" killed at "+i.own] = true
		}
		for _, p := range fault.Driving() {
			for _, way := range x.ways {
				if !met[way+" at "+string(p)] {
					t.Errorf("%s: no story %s at %s", name, way, p)
				}
			}
			for _, way := range x.killedIn {
				if !(plan.Arm{Point: string(p)}).InRunner() && !met[way+" killed at "+string(p)] {
					t.Errorf("%s: no story %s in which the other process is killed at %s", name, way, p)
				}
			}
		}
	}
}

// Every fault point is met by a call that is asked for again in another spelling, and every
// spelling at each point at which the outcome of the call may become unknown; a key names one
// story.
func TestTwinsCoverTheSpellings(t *testing.T) {
	keys, points, met := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, i := range twins() {
		if keys[i.key()] {
			t.Errorf("%s names two stories", i.key())
		}
		keys[i.key()], points[i.tries[0].Point] = true, true
		met[strings.TrimSuffix(i.way, inAnotherRun)+" at "+i.tries[0].Point] = true
	}
	for _, p := range fault.Driving() {
		s, _ := story.New("shell", "first", "chat", 0, "")
		if !points[string(p)] && s.Misses(string(p)) == "" {
			t.Errorf("no story at %s", p)
		}
	}
	for _, r := range respellings() {
		for name := range r.spellings {
			for _, p := range r.points {
				if way := r.name + ":" + name + " at " + string(p); !met[way] {
					t.Errorf("no story %s", way)
				}
			}
		}
	}
}

// Who takes a person's decision is killed at every point that it reaches, in each way of deciding;
// a key names one story.
func TestDecisionsCoverThePoints(t *testing.T) {
	keys, met := map[string]bool{}, map[string]bool{}
	for _, i := range decisions() {
		if keys[i.key()] {
			t.Errorf("%s names two stories", i.key())
		}
		keys[i.key()], met[i.way+" "+i.own] = true, true
	}
	for _, way := range decisionWays() {
		for _, own := range append([]fault.Point{""}, fault.Driving()...) {
			if (own == "" || answersPass("shell", "chat", own)) && !met[way+" "+string(own)] {
				t.Errorf("no story %s in which the other process is killed at %q", way, own)
			}
		}
	}
}
