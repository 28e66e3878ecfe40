//go:build linux

package server

import (
	"slices"
	"strings"
	"testing"

	"agent/recovery/fault"
	"agent/scripts/crashlab/plan"
)

// Every point that only a launch passes is met by a server, every other one by who drives for it; a
// key names one story, and a short pass has each way.
func TestScriptsCoverThePoints(t *testing.T) {
	keys, server, drives := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, s := range scripts() {
		if keys[s.key()] {
			t.Errorf("%s names two stories", s.key())
		}
		keys[s.key()] = true
		for _, x := range s.servers {
			for arm := range strings.SplitSeq(x.arm, ",") {
				point, driver := strings.CutPrefix(arm, "drive:")
				point, _, _ = strings.Cut(point, ":")
				if driver {
					drives[point] = true
				} else {
					server[point] = true
				}
			}
		}
	}
	for _, p := range fault.All() {
		if slices.Contains(slices.Concat(fault.Delegating(), fault.Flows(), fault.Phases(), fault.Workspaces(), fault.Restoring(), fault.Committing(), fault.Copying(), fault.Witnessed()), p) {
			// fault/delegate has the stories of the first and fault/witness those of the last,
			// TestFlowsKilled of host/command has those of flows, the tests of tools/scan those of
			// restoring, and the scripts of host/command those of copies.
			continue
		}
		launches := !slices.Contains(fault.Driving(), p) || p == fault.AnswerRecorded || p == fault.BeforeMark
		switch {
		case launches && !server[string(p)]:
			t.Errorf("no server is killed at %s", p)
		case !launches && !strings.HasPrefix(string(p), "runner.") && !drives[string(p)]:
			t.Errorf("nobody who drives for a server is killed at %s", p)
		}
	}
	few := map[string]bool{}
	for _, s := range plan.Sample(scripts(), short, 1, (*script).kind) {
		few[s.kind()] = true
	}
	for _, way := range []string{wayStart, wayResume, wayAnswer, wayCancel, wayRecover, wayUp, wayDriver, wayStopped, wayMoment} {
		if !few[way] {
			t.Errorf("a short pass has no story of the way %s", way)
		}
	}
}
