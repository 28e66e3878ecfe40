//go:build linux

package commits

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"agent/recovery/fault"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/trial"
)

// Every pass has each situation and the point behind the reading of git's logs; the whole one has
// every point that a run passes.
func TestScriptsCoverThePoints(t *testing.T) {
	for _, short := range []bool{true, false} {
		points, met := map[string]bool{}, map[string]bool{}
		for _, s := range scripts(lab.Choice{Short: short, Seed: 1}) {
			met[s.situation] = true
			for _, a := range s.arms {
				points[a.Point] = true
			}
			if p, ok := parse(s.key()); !ok || p.key() != s.key() {
				t.Errorf("the key %s is read as %+v", s.key(), p)
			}
		}
		for _, situation := range []string{call, looked, person} {
			if !met[situation] {
				t.Errorf("short %v: no script of %s", short, situation)
			}
		}
		for _, p := range fault.All() {
			of := slices.Contains(fault.Committing(), p)
			if (of || !short && slices.Contains(fault.Driving(), p) && misses(p) == "") && !points[string(p)] {
				t.Errorf("short %v: nobody is killed at %s", short, p)
			}
		}
	}
	for _, key := range []string{"", "call/host/", "call/host/0:no.point:1", "none/host/0:run.parked:1", "call/moment/0"} {
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

// The judge sees a commit without a link, one with two, a wrong relation, and a link to nothing.
func TestCompare(t *testing.T) {
	commits := []made{{"1", "commit", "one", "0"}, {"2", "commit (amend)", "four", "1"}, {"3", "commit", "seven", "2"}}
	in := []byte(`{"turn":1,"index":0}`)
	good := []link{
		{Checkpoint: "k-a", Commit: "1", Relation: "made", Proof: "window", During: in},
		{Checkpoint: "k-a", Commit: "2", Relation: "amended", Proof: "reflog", During: in},
	}
	kinds := func(links []link) (out []string) {
		x := attempt{Trial: &trial.Trial{}}
		x.compare(commits, links)
		for _, f := range x.Found {
			out = append(out, f.Kind)
		}
		return out
	}
	if got := kinds(good); len(got) > 0 {
		t.Errorf("it finds %v", got)
	}
	other := slices.Clone(good)
	other[0].Proof = "blobs"
	minted := slices.Clone(good)
	minted[1].Checkpoint = "k-b"
	for name, c := range map[string]struct {
		links []link
		kind  string
	}{
		"none":           {good[:1], Unlinked},
		"twice":          {append(slices.Clone(good), good[1]), Doubled},
		"other proof":    {other, Misjudged},
		"id of its own":  {minted, Misjudged},
		"a person's":     {append(slices.Clone(good), link{Checkpoint: "k-c", Commit: "3"}), Misjudged},
		"not in the log": {append(slices.Clone(good), link{Checkpoint: "k-c", Commit: "4"}), Misjudged},
	} {
		if got := kinds(c.links); !slices.Contains(got, c.kind) {
			t.Errorf("%s: it finds %v, and not %q", name, got, c.kind)
		}
	}
}
