package workspace

import (
	"agent/recovery/journal"
	"time"
)

// Step is one change that a look saw, oldest first over all runs concerned.
type Step struct {
	Run    string         // whose journal has it
	Turn   int            // of the call, else of the fact
	During *journal.Place // the call that was under way in that run; nil: none
	Shared bool           // another run's call was under way too
	Time   time.Time
	Take   bool // a call's (or the host's) change after the position that is rewound to: it is to be taken back
	Change journal.FileChange
}

// Paths lists the paths of which [NewPlan] must be given what is on disk: those that a step to be
// taken back changed, each once, in the order of the steps.
func Paths(steps []Step) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range steps {
		if name := s.Change.Name(); s.Take && !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// Versions is what the last look left at each path; nil where nothing is there any more.
func Versions(steps []Step) map[string]*journal.FileVersion {
	out := make(map[string]*journal.FileVersion, len(steps))
	for _, s := range steps {
		out[s.Change.Name()] = s.Change.After
	}
	return out
}

// Summary counts paths by what became of them.
type Summary struct{ Added, Changed, Removed int }

// Summarize counts what the calls of the steps did in the end: per path, what was there before the
// first change against what the last one left. A path that came back to what it was counts nowhere.
func Summarize(steps []Step) Summary {
	before, after := map[string]*journal.FileVersion{}, map[string]*journal.FileVersion{}
	for _, s := range steps {
		if !s.Take && s.During == nil {
			continue
		}
		name := s.Change.Name()
		if _, seen := before[name]; !seen {
			before[name] = s.Change.Before
		}
		after[name] = s.Change.After
	}
	var sum Summary
	for name, was := range before {
		switch now := after[name]; {
		case same(was, now):
		case was == nil:
			sum.Added++
		case now == nil:
			sum.Removed++
		default:
			sum.Changed++
		}
	}
	return sum
}

// Same says whether two versions are known to be the same, with their modes. The names of a content
// in the store and in git cannot be compared; equal stamps say that nobody touched the file.
func Same(v, w *journal.FileVersion) bool { return same(v, w) }

// same is Same.
func same(v, w *journal.FileVersion) bool {
	if v.Same(w) {
		return true
	}
	if v == nil || w == nil || v.Kind != journal.FileRegular || w.Kind != journal.FileRegular || v.Mode != w.Mode || v.Size != w.Size {
		return false
	}
	crossed := v.Kept != "" && w.Kept == "" && v.Git == "" || w.Kept != "" && v.Kept == "" && w.Git == ""
	return crossed && v.Stamp != "" && v.Stamp == w.Stamp
}

// folder says whether a version is a folder.
func folder(v *journal.FileVersion) bool { return v != nil && v.Kind == journal.FileFolder }
