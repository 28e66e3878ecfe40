//go:build linux

package flows

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/recovery/fault"
	"agent/scripts/crashlab/lab"
)

// Every pass has each family and each point that only a flow passes; the whole one has every point
// that any of its families passes, and every harm that an artifact may come to.
func TestScriptsCoverThePoints(t *testing.T) {
	for _, short := range []bool{true, false} {
		points, met, harm := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, s := range scripts(lab.Choice{Short: short, Seed: 1}) {
			met[s.family] = true
			harm[s.harm] = true
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
			own := slices.Contains(slices.Concat(fault.Flows(), fault.Phases(), fault.Delegating()), p)
			if (own || !short && passes && slices.Contains(fault.Driving(), p)) && !points[string(p)] {
				t.Errorf("short %v: nobody is killed at %s", short, p)
			}
		}
		for h := range harms() {
			if !short && !harm[h] {
				t.Errorf("no artifact comes to the harm %q", h)
			}
		}
	}
	for _, key := range []string{"", "side", "side/host/", "side/host/0:no.point:1/none", "other/host/0:run.parked:1/none", "side/moment/0/none", "side/host/0:run.parked:1/lost"} {
		if s, ok := parse(key); ok {
			t.Errorf("the key %q is read as %+v", key, s)
		}
	}
}

// What the witness can read off an artifact follows from the artifacts that it is made from, also
// from one that a person wrote.
func TestContents(t *testing.T) {
	f := families()["sequence"]
	files := map[string]string{"made/one": byHand, "made/two": "two\n" + byHand}
	if got, want := f.content(f.phases[2], "made/three", files), "three\n"+byHand+"two\n"+byHand; got != want {
		t.Errorf("three is to hold %q, want %q", got, want)
	}
	f = families()["each"]
	for _, out := range f.phases[0].outs() {
		files[out] = f.content(f.phases[0], out, nil)
	}
	if got := f.content(f.phases[1], "made/merge", files); !strings.HasPrefix(got, "merge\nread\na\nread\nb\n") || len(got) != 6+8*7 {
		t.Errorf("merge is to hold %q", got)
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
