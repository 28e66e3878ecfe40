//go:build linux

package witness

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"agent/recovery/fault"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
)

// tools are those whose calls the stories are about.
func tools() []string {
	return []string{"shell", "write_file", "fetch", "ask_user", "shell:write", "apply_patch", "confirm_action", "edit_file"}
}

// atEntry is the entry at which a trouble comes, within the first so many.
const atEntry = 6

// scripts are those of a pass. A short one has each point once, with the troubles in turn, and each
// trouble without a kill.
func scripts(c lab.Choice) (out []*script) {
	if c.Short && c.Only == "" {
		for n, p := range points() {
			out = append(out, passing(troubles()[n%(len(troubles())-1)], p, "", n, n%4 == 0)...)
		}
		for n, trouble := range troubles()[1:] {
			out = append(out, newScript(trouble, 2, nowhere, "", tools()[n%3], "first", "anthropic"))
		}
		return append(out,
			family(slow, 4, fault.ChildEnded), family(lose, 4, fault.ChildRecorded), family(killed, 5, fault.AfterWitness), family(fenced, 4, nowhere))
	}
	rng := rand.New(rand.NewPCG(c.Seed, 19))
	for n, trouble := range troubles() {
		if trouble == asleep {
			out = append(out, sleepers()...)
			continue
		}
		for m, p := range points() {
			out = append(out, passing(trouble, p, "", n+m*3, false)...)
			if m%2 == n%2 {
				then := points()[(n*5+m*7+3)%len(points())]
				out = append(out, passing(trouble, p, then, n+m, false)...)
			} else {
				out = append(out, passing(trouble, p, "", n+m*5, true)...)
			}
		}
		for m, p := range fault.Witnessed() {
			for k := range tools() {
				out = append(out, passing(trouble, p, "", n+m+k, false)...)
			}
		}
		for m, p := range family(trouble, 1, nowhere).points() {
			if m%2 == n%2 {
				out = append(out, family(trouble, 1+(n+m)%8, p))
			}
		}
		out = append(out, byTool(trouble, rng)...)
	}
	return once(out)
}

// sleepers list the stories in which who drives sleeps: nobody is killed in them.
func sleepers() (out []*script) {
	for k, tool := range tools() {
		for entry := 1; entry <= atEntry; entry++ {
			out = append(out, newScript(asleep, entry, nowhere, "", tool, []string{"first", "limit"}[(k+entry)%2], "anthropic"))
		}
	}
	return out
}

// byTool lists the stories of a trouble at each entry, and those with kills at any moment.
func byTool(trouble string, rng *rand.Rand) (out []*script) {
	for k, tool := range tools() {
		for entry := 1 + k%2; entry <= atEntry && (entry == 1 || trouble != well && trouble != slow); entry += 2 {
			out = append(out, newScript(trouble, entry, nowhere, "", tool, []string{"first", "limit"}[(k/2+entry/2)%2], "anthropic"))
		}
		for range 2 {
			s := newScript(trouble, 1+rng.IntN(atEntry), nowhere, "", tool, "first", "anthropic")
			s.moment = 1 + rng.Uint64N(1<<32)
			out = append(out, s)
		}
	}
	return out
}

// family is a script of a run that delegates.
func family(trouble string, entry int, p fault.Point) *script {
	return newScript(trouble, entry, p, "", story.Delegates, "first", "anthropic")
}

// once leaves out what is there already.
func once(all []*script) []*script {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(s *script) bool {
		was := seen[s.key()]
		seen[s.key()] = true
		return was
	})
}

// passing is a script of the n-th tool that has a story which comes by the point; none where no
// tool has, or where no process in the background that drives comes by it.
func passing(trouble string, p, then fault.Point, n int, detached bool) []*script {
	for k := range tools() {
		tool := tools()[(n+k)%len(tools())]
		situation, shape, ok := plan.StoryPassing(tool, string(p), n)
		if !ok {
			continue
		}
		entry := 1 + plan.Pick(atEntry, trouble, string(p), string(then), fmt.Sprint(n))
		s := newScript(trouble, entry, p, then, tool, situation, shape)
		if s.detached = detached; slices.Contains(s.points(), p) {
			return []*script{s}
		}
		if s.detached = false; then == "" {
			return []*script{s}
		}
	}
	return nil
}
