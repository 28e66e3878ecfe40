//go:build linux

package rewinds

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"agent/recovery/fault"
	"agent/scripts/crashlab/lab"
)

// Every pass has each family, each situation and each point at which files are looked at or made
// again; the whole one has every point that a run or a rewind passes.
func TestScriptsCoverThePoints(t *testing.T) {
	for _, short := range []bool{true, false} {
		keys, points, met := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, s := range scripts(lab.Choice{Short: short, Seed: 1}) {
			keys[s.key()], met[s.family], met[s.situation] = true, true, true
			for _, a := range s.arms {
				points[a.Point] = true
			}
			if p, ok := parse(s.key()); !ok || p.key() != s.key() {
				t.Errorf("the key %s is read as %+v", s.key(), p)
			}
		}
		for _, f := range append(names(), destroy, rewind, back, written, voided) {
			if !met[f] {
				t.Errorf("short %v: no script of %s", short, f)
			}
		}
		for _, p := range fault.All() {
			of := slices.Contains(fault.Workspaces(), p) || slices.Contains(fault.Restoring(), p)
			if (of || !short && slices.Contains(fault.Driving(), p) && misses(destroy, p) == "") && !points[string(p)] {
				t.Errorf("short %v: nobody is killed at %s", short, p)
			}
		}
	}
	for _, key := range []string{"", "destroy/work/host/", "destroy/work/host/0:no.point:1", "destroy/none/host/0:run.parked:1", "rewind/work/moment/0"} {
		if s, ok := parse(key); ok {
			t.Errorf("the key %q is read as %+v", key, s)
		}
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

// The judge sees each way in which a workspace may differ.
func TestSnapshotsDiffer(t *testing.T) {
	all := func(string) bool { return true }
	was := snapshot{"a": "-rw-r--r-- x", "b": "-rw-r--r-- y", "d": "drwxr-xr-x"}
	for name, now := range map[string]snapshot{
		"content": {"a": "-rw-r--r-- z", "b": "-rw-r--r-- y", "d": "drwxr-xr-x"},
		"mode":    {"a": "-rwxr-xr-x x", "b": "-rw-r--r-- y", "d": "drwxr-xr-x"},
		"missing": {"a": "-rw-r--r-- x", "d": "drwxr-xr-x"},
		"further": {"a": "-rw-r--r-- x", "b": "-rw-r--r-- y", "c": "-rw-r--r-- ", "d": "drwxr-xr-x"},
	} {
		if len(now.differ(was, all, Torn, "now")) != 1 || len(now.torn(was, was)) != 1 {
			t.Errorf("%s: it finds %v and %v", name, now.differ(was, all, Torn, "now"), now.torn(was, was))
		}
	}
	half := snapshot{"a": "-rw-r--r-- x", "d": "drwxr-xr-x"}
	if f := half.torn(was, snapshot{"a": "-rw-r--r-- n", "d": "drwxr-xr-x"}); len(f) > 0 {
		t.Errorf("in the middle it finds %v", f)
	}
}
