//go:build linux

package delegate

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"agent/recovery/fault"
	"agent/scripts/crashlab/lab"
)

// Every pass has each family and each point that only a run passes which has runs below it; the
// whole one has every point that any of its families passes.
func TestScriptsCoverThePoints(t *testing.T) {
	for _, short := range []bool{true, false} {
		keys, points, met := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, s := range scripts(lab.Choice{Short: short, Seed: 1}) {
			keys[s.key()], met[s.family] = true, true
			for _, a := range s.arms {
				points[a.Point] = true
			}
			if p, ok := parse(s.key()); !ok || p.key() != s.key() {
				t.Errorf("the key %s is read as %+v", s.key(), p)
			}
		}
		for _, f := range names() {
			if !met[f] {
				t.Errorf("short %v: no script of the family %s", short, f)
			}
		}
		for _, p := range fault.All() {
			passes := slices.ContainsFunc(names(), func(f string) bool { return misses(f, p) == "" })
			needs := slices.Contains(fault.Delegating(), p) || p == fault.AnswerRecorded || !short && passes && slices.Contains(fault.Driving(), p)
			if needs && !points[string(p)] {
				t.Errorf("short %v: nobody is killed at %s", short, p)
			}
		}
	}
	for _, key := range []string{"", "task", "task/host/", "task/host/0:no.point:1", "none/host/0:run.parked:1", "task/moment/0"} {
		if s, ok := parse(key); ok {
			t.Errorf("the key %q is read as %+v", key, s)
		}
	}
}

// What the controls break is still there to be broken.
func TestDamagesFit(t *testing.T) {
	for _, d := range damages() {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", d.File))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Apply(string(text)); err != nil {
			t.Error(err)
		}
	}
}
