//go:build linux

package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/recovery/fault"
	"agent/scripts/crashlab/story"
)

func everyTool() []string {
	var out []string
	for name := range story.Subjects() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// The short plan holds every fault point, every tool, every situation and every shape; the whole
// one every point with every tool, unless the reason is counted.
func TestPlanCovers(t *testing.T) {
	for _, short := range []bool{true, false} {
		p := Generate(Choice{Short: short, Seed: 1, Tools: everyTool()})
		seen := map[string]int{}
		for _, f := range p.Families {
			for _, word := range []string{"point " + f.Point, "tool " + f.Tool, "situation " + f.Situation, "shape " + f.Shape, "victim " + f.Victim} {
				seen[word]++
			}
			seen[fmt.Sprintf("%d kills", 1+len(f.Arms))]++
			for i, a := range append(slices.Clone(f.Arms), f.Tries...) {
				if a.Pass < 1 || a.Command < 0 || !slices.Contains(fault.Driving(), fault.Point(a.Point)) {
					t.Errorf("%s: arm %d is %v", f.Key(), i, a)
				}
			}
		}
		var want []string
		for _, point := range fault.Driving() {
			want = append(want, "point "+string(point))
		}
		want = append(want, "1 kills", "2 kills", "3 kills")
		for kind, names := range map[string][]string{"tool": everyTool(), "situation": story.Situations(), "shape": story.Shapes(), "victim": victims()} {
			for _, n := range names {
				want = append(want, kind+" "+n)
			}
		}
		for _, w := range want {
			if seen[w] == 0 {
				t.Errorf("short %v: no story for %s", short, w)
			}
		}
		if len(p.Skipped) == 0 || short == (p.LeftOut == 0) {
			t.Errorf("short %v: skipped %v, left out %d", short, p.Skipped, p.LeftOut)
		}
	}
}

// Every combination is either planned or skipped with a reason.
func TestPlanAddsUp(t *testing.T) {
	c := Choice{EveryShape: true, Seed: 1, Tools: everyTool()}
	p := &Plan{Skipped: map[string]int{}}
	for _, tool := range c.Tools {
		for _, situation := range story.Situations() {
			if possible := p.possible(tool, situation); len(possible) > 0 {
				p.addAll(c, tool, situation, possible)
			}
		}
	}
	n := len(p.Families)
	for why, k := range p.Skipped {
		if why == "" {
			t.Error("skipped without a reason")
		}
		n += k
	}
	if want := len(c.Tools) * len(story.Situations()) * len(story.Shapes()) * len(fault.Driving()); n != want {
		t.Errorf("%d combinations planned or skipped, there are %d", n, want)
	}
}

// What is kept of a pass that goes on in parts names each family once.
func TestPiecesAreNamedOnce(t *testing.T) {
	for _, c := range []Choice{{Short: true, Seed: 1, Tools: everyTool()}, {Seed: 1, Tools: everyTool()}} {
		seen := map[string]bool{}
		for _, f := range Generate(c).Families {
			if seen[f.Piece()] {
				t.Errorf("short %v: two are called %s", c.Short, f.Piece())
			}
			seen[f.Piece()] = true
		}
	}
}

// A seed gives one plan, another seed another one.
func TestPlanFollowsSeed(t *testing.T) {
	text := func(seed uint64) string {
		return fmt.Sprint(Generate(Choice{Short: true, Seed: seed, Tools: everyTool()}).Families)
	}
	if first, again := text(1), text(1); first != again || first == text(2) {
		t.Error("the plan does not follow from the seed")
	}
}

// A key names a job, whole.
func TestKeys(t *testing.T) {
	for _, f := range Generate(Choice{Short: true, Seed: 3, Tools: everyTool()}).Families {
		j := f.Job
		j.Arms = append(slices.Clone(f.Arms), f.Tries...)
		got, err := ParseKey(j.Key())
		if err != nil || got.Key() != j.Key() {
			t.Errorf("%s is read as %s, %v", j.Key(), got.Key(), err)
		}
	}
	for _, bad := range []string{
		"", "shell/first/chat/host/run", "shell/nowhere/chat/host/run/", "shell/first/telex/host/run/", "shell/first/chat/nobody/run/",
		"shell/first/chat/host/run/0:nonsense:1", "shell/first/chat/host/run/x:db.after_commit:1", "shell/first/chat/host/run/0:db.after_commit",
	} {
		if j, err := ParseKey(bad); err == nil {
			t.Errorf("%q is read as %s", bad, j.Key())
		}
	}
}

// A sample holds as many kinds as it can, and the same ones for the same seed.
func TestSample(t *testing.T) {
	all := []string{"a1", "a2", "a3", "b1", "b2", "c1"}
	kind := func(s string) string { return s[:1] }
	for seed := range uint64(20) {
		three, five := Sample(all, 3, seed, kind), Sample(all, 5, seed, kind)
		slices.SortFunc(three, strings.Compare)
		if distinct := slices.Compact(slices.Sorted(slices.Values(five))); len(distinct) != len(five) {
			t.Errorf("seed %d: one of %v twice", seed, five)
		}
		if len(three) != 3 || kind(three[0]) != "a" || kind(three[1]) != "b" || kind(three[2]) != "c" || len(five) != 5 {
			t.Errorf("seed %d: %v, %v", seed, three, five)
		}
		if again := Sample(all, 5, seed, kind); !slices.Equal(again, five) {
			t.Errorf("seed %d: %v and %v", seed, five, again)
		}
	}
	if got := Sample(all, 9, 1, kind); len(got) != len(all) {
		t.Errorf("%v", got)
	}
}
