//go:build linux

package witness

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"agent/recovery/fault"
	"agent/scripts/crashlab/lab"
)

// Every pass has each point of a drive, those of a witness among them, each trouble and each
// victim; the whole one has each point with each trouble. A key names one script, and is read as
// it.
func TestScriptsCoverThePoints(t *testing.T) {
	for _, short := range []bool{true, false} {
		met := map[string]bool{}
		keys := map[string]bool{}
		for _, s := range scripts(lab.Choice{Short: short, Seed: 1}) {
			if keys[s.key()] {
				t.Errorf("%s names two scripts", s.key())
			}
			keys[s.key()] = true
			for _, word := range []string{string(s.point), s.trouble, s.trouble + " " + string(s.point), "victim " + s.Victim} {
				met[word] = true
			}
			if p, ok := parse(s.key()); !ok || p.key() != s.key() || p.Victim != s.Victim || !slices.Equal(p.Tries, s.Tries) || p.moment != s.moment {
				t.Errorf("the key %s is read as %+v", s.key(), p)
			}
		}
		want := append(slices.Clone(troubles()), "victim host", "victim runner", "victim both", string(nowhere))
		for _, p := range points() {
			want = append(want, string(p))
			for _, trouble := range troubles() {
				if !short && trouble != asleep {
					want = append(want, trouble+" "+string(p))
				}
			}
		}
		for _, w := range want {
			if !met[w] {
				t.Errorf("short %v: no script for %s", short, w)
			}
		}
	}
	for _, p := range fault.Witnessed() {
		if !slices.Contains(points(), p) {
			t.Errorf("nobody is killed at %s", p)
		}
	}
}

// What names no script is refused.
func TestKeysThatNameNothing(t *testing.T) {
	for _, key := range []string{
		"", "well", "ill/1/-/shell/first/chat", "well/0/-/shell/first/chat", "well/x/-/shell/first/chat", "well/1/no.point/shell/first/chat",
		"well/1/witness.after+no.point/shell/first/chat", "well/1//shell/first/chat", "well/1/-/nothing/first/chat", "well/1/-/shell/never/chat",
		"well/1/-/shell/first/round", "well/1/moment-0/shell/first/chat", "well/1/moment-x/shell/first/chat", "well/1/-/shell/first/chat/more",
	} {
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
