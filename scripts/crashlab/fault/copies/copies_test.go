//go:build linux

package copies

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/recovery/fault"
	"agent/scripts/crashlab/lab"
)

// Every pass has each situation; the whole one has every point at which a copy is made or taken in.
func TestScriptsCoverThePoints(t *testing.T) {
	for _, short := range []bool{true, false} {
		met := map[string]bool{}
		for _, s := range scripts(lab.Choice{Short: short}) {
			met[s.situation], met[string(s.copy)] = true, true
			if p, ok := parse(s.key()); !ok || p.key() != s.key() {
				t.Errorf("the key %s is read as %+v", s.key(), p)
			}
		}
		for _, situation := range situations() {
			if !met[situation] {
				t.Errorf("short %v: no script of %s", short, situation)
			}
		}
		for _, p := range fault.Copying() {
			if !short && !met[string(p)] && !strings.HasPrefix(string(p), "prune.") {
				t.Errorf("nobody is killed at %s", p)
			}
		}
	}
	for _, key := range []string{"", "moved/turn.settled", "moved/no.point/1/", "none/run.claimed/1/", "moved/run.claimed/0/", "moved/run.claimed/1/backup.begun"} {
		if s, ok := parse(key); ok {
			t.Errorf("the key %q is read as %+v", key, s)
		}
	}
	if slices.Contains(points(moved), fault.BackupBegun) {
		t.Error("a run that moves passes a point of a backup")
	}
}

// What the controls break is still there to be broken.
func TestDamagesFit(t *testing.T) {
	for _, d := range changes() {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", d.File))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Apply(string(text)); err != nil {
			t.Error(err)
		}
	}
}
