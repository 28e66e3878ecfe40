//go:build linux

package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CompareEnds says where the end of a story that was killed differs from the end of the same story
// without a kill. unsure is set where the runner was among what was killed: only then may something
// stay undone.
func CompareEnds(was, is End, unsure, left bool) Findings {
	var f Findings
	for _, name := range slices.Sorted(maps.Keys(was.Files)) {
		text, ok := is.Files[name]
		switch {
		case name == "effects" && left:
		case !ok:
			f.Add(Differs, "the file %s is missing", name)
		case text != was.Files[name] && sorted(text) != sorted(was.Files[name]):
			f.Add(Differs, "the file %s holds %q, and without a kill %q", name, Clip(text), Clip(was.Files[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is.Files)) {
		if _, ok := was.Files[name]; !ok {
			f.Add(Differs, "the file %s is left behind", name)
		}
	}
	for m, n := range was.Saw {
		if is.Saw[m] != n && !left {
			f.Add(Lost, "the effect %s happened %d times, and without a kill %d times", m, is.Saw[m], n)
		}
	}
	if unsure {
		return f
	}
	if is.Status != was.Status || is.Answer != was.Answer {
		f.Add(Differs, "it ended %s with %q, and without a kill %s with %q", is.Status, is.Answer, was.Status, was.Answer)
	}
	if is.Limits != was.Limits {
		f.Add(Differs, "its limit asked %d times, and without a kill %d times", is.Limits, was.Limits)
	}
	if !slices.Equal(is.Reads, was.Reads) {
		f.Add(Lost, "its reads brought %q, and without a kill %q", Clip(fmt.Sprint(is.Reads)), Clip(fmt.Sprint(was.Reads)))
	}
	return f
}

func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func Clip(text string) string {
	if len(text) > 600 {
		return text[:600] + "…"
	}
	return text
}

// End is what a story leaves behind, with its world's number taken out.
type End struct {
	Files    map[string]string
	Saw      map[string]int
	Answer   string
	Status   string
	Reads    []string // what calls that change nothing brought
	Commands int
	Results  int
	Limits   int // questions that a limit asked
}
