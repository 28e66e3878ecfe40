//go:build linux

package flows

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/story"
)

// onRecord wants each run of a phase to be named by one fact that was on record before it, and each
// attempt of a part to have had one run: also while the flow is interrupted.
func (x *attempt) onRecord() (judge.Findings, error) {
	var f judge.Findings
	root := x.root()
	if root == nil {
		return nil, nil
	}
	all, err := x.parts(journal.PhaseBegan)
	named, had := map[string]bool{}, map[string]string{}
	for _, p := range all {
		of := fmt.Sprintf("%s#%d %s", p.Phase, p.Attempt, p.Part)
		if p.Item != nil {
			of += " " + p.Item.Name
		}
		if had[of] != "" && had[of] != p.Run {
			f.Add(judge.Twice, "runs %s and %s both carry out %s", had[of], p.Run, of)
		}
		had[of], named[p.Run] = p.Run, true
	}
	for _, h := range x.Histories {
		if h.Parent == root.Run.ID && !named[h.Run.ID] {
			f.Add(judge.Twice, "run %s carries out %s, and no fact of the flow names it", h.Run.ID, h.Role)
		}
	}
	return f, err
}

// endings are the ends of families in which nobody was killed.
type endings struct {
	lab *lab.Lab
	mu  sync.Mutex
	all map[string]ending
}

// ending is how a family ended: its world, what each run saw, and what a person was asked.
type ending struct {
	world judge.End
	runs  map[string]string // by what they carry out
	asked map[string]int
}

// of is the end of a family in which nobody was killed.
func (e *endings) of(ctx context.Context, family string) (ending, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if end, ok := e.all[family]; ok {
		return end, nil
	}
	x, err := carryOut(ctx, e.lab, script{family: family, harm: none}, nil)
	if err != nil {
		return ending{}, err
	}
	found, err := x.atEnd()
	if err != nil {
		return ending{}, err
	}
	if f := append(x.Found, found...); len(f) > 0 {
		return ending{}, errors.Join(fmt.Errorf("the family %s finds without a kill %v, kept in %s", family, f, x.World.Root), x.World.SaveTranscript(family), x.World.Close(true))
	}
	if e.all == nil {
		e.all = map[string]ending{}
	}
	e.all[family] = ending{x.is, x.transcripts(), x.asked()}
	return e.all[family], x.World.Close(false)
}

// atEnd wants every run to be complete, each effect to have happened as often as it is to, and each
// artifact to hold what it is to be made from, but for what a person decided.
func (x *attempt) atEnd() (judge.Findings, error) {
	var f judge.Findings
	fam, answered := families()[x.script.family], x.answered()
	if x.failedUnknown() {
		return x.onlyTwice(fam)
	}
	for _, h := range x.Histories {
		if fam.again && h == x.roots()[0] && h != x.root() && h.Run.Status == "failed" {
			continue
		}
		if h.Run.Status != "completed" && len(x.answers) == 0 || h.Parent == "" && h.Run.Status != "completed" {
			f.Add(judge.Stuck, "run %s (%s) is left %s", h.Run.ID, h.Role, h.Run.Status)
		}
	}
	saw, err := x.World.Witness.Counts()
	if err != nil {
		return nil, err
	}
	for _, p := range fam.phases {
		for _, letters := range p.effects() {
			least := max(fam.times[p.name], 1)
			most := least
			for _, again := range answered["redo"] { // it may have been at work, and without an effect yet
				if again == p.name || again == letters {
					most++
				}
			}
			if n := saw[marks.In(x.World.Number, letters)]; n > most {
				f.Add(judge.Twice, "the effect %s happened %d times, and is to happen %d times", letters, n, most)
			} else if n < least {
				f.Add(judge.Lost, "the effect %s happened %d times, and is to happen %d times", letters, n, least)
			}
		}
		for _, out := range p.outs() {
			got, want := x.is.Files[out], fam.content(p, out, x.is.Files)
			if got != want && out != x.harmed.path && !slices.Contains(answered["keep"], p.name) {
				f.Add(judge.Differs, "%s holds %q, and is to hold %q", out, got, want)
			}
		}
	}
	if x.harmed.path == "" {
		return f, nil
	}
	more, err := x.regular(answered)
	return append(f, more...), err
}

// failedUnknown says that the flow failed because a command was killed with its runner: nobody
// knows what it did, it is not run again, and its phase has not made what it was to make.
func (x *attempt) failedUnknown() bool {
	root := x.root()
	return x.script.victim == "both" && x.Unknown > 0 && root != nil && root.Run.Status == "failed"
}

// onlyTwice wants no effect to have happened more often than it is to.
func (x *attempt) onlyTwice(fam *family) (judge.Findings, error) {
	var f judge.Findings
	saw, err := x.World.Witness.Counts()
	for _, p := range fam.phases {
		for _, letters := range p.effects() {
			if n := saw[marks.In(x.World.Number, letters)]; n > max(fam.times[p.name], 1) {
				f.Add(judge.Twice, "the effect %s happened %d times", letters, n)
			}
		}
	}
	return f, err
}

// asked counts what a person was asked, by what it was about.
func (x *attempt) asked() map[string]int {
	out := map[string]int{}
	for _, h := range x.Histories {
		for _, fact := range x.Record.Facts[h.Run.No] {
			if fact.Kind != journal.Opened {
				continue
			}
			b, err := fact.Decode()
			if err != nil {
				continue // judge.Check has found it
			}
			what := b.Request.Kind
			if p := b.Request.Phase; p != nil {
				what += " " + p.About + " " + p.Phase
			}
			out[what]++
		}
	}
	return out
}

// transcripts are what each run's model was shown, without what is another in every world, and
// without the remark that a file was seen to be written by who came after.
func (x *attempt) transcripts() map[string]string {
	ids := regexp.MustCompile(`\b[a-z]-[0-9a-z]{4,16}\b`)
	plain := func(text string) string {
		text = strings.ReplaceAll(strings.ReplaceAll(text, x.World.Root, ""), marks.In(x.World.Number, ""), "MARK ")
		return ids.ReplaceAllString(strings.ReplaceAll(text, " (seen after an interruption)", ""), "ID")
	}
	out := map[string]string{}
	for _, h := range x.Histories {
		var b strings.Builder
		for _, c := range h.Calls {
			for _, r := range c.Results {
				fmt.Fprintf(&b, "%d.%d %s %s %s: %s\n", c.Turn, c.Index, c.Tool, plain(c.Args), r.Result.Outcome, plain(r.Result.Content))
			}
		}
		of := h.Role
		if strings.HasPrefix(of, story.Delegates+" ") {
			of = h.Prompt
		}
		out[of] += b.String() + h.Run.Status + ": " + plain(h.Answer)
	}
	return out
}

// judge judges the end of a script.
func (x *attempt) judge(ctx context.Context, was *endings) error {
	if len(x.Found) > 0 {
		return nil
	}
	end, err := was.of(ctx, x.script.family)
	if err != nil {
		return err
	}
	found, err := x.atEnd()
	if err != nil {
		return err
	}
	x.Found = append(x.Found, found...)
	for _, c := range x.Needless {
		if x.script.victim != "both" {
			x.Found.Add(judge.Needless, "no runner was killed, and the outcome of call %s is recorded as unknown", c)
		}
	}
	if x.failedUnknown() {
		return nil
	}
	was1, now := slices.Sorted(maps.Keys(end.world.Files)), slices.Sorted(maps.Keys(x.is.Files))
	if !slices.Equal(was1, now) {
		x.Found.Add(judge.Differs, "there are the files %v, and without a kill %v", now, was1)
	}
	if !harms()[x.script.harm].repaired() && x.harmed.path != "" {
		return nil // what it made follows from what a person decided
	}
	x.Found = append(x.Found, judge.CompareEnds(end.world, x.is, x.Unknown > 0, false)...)
	if x.Unknown > 0 {
		return nil // its model has seen that, and asked again
	}
	if asked := x.asked(); !maps.Equal(asked, end.asked) {
		x.Found.Add(judge.Differs, "a person was asked %v, and without a kill %v", asked, end.asked)
	}
	is := x.transcripts()
	for _, of := range slices.Sorted(maps.Keys(is)) {
		if is[of] != end.runs[of] {
			x.Found.Add(judge.Differs, "the run of %q has seen\n%s\nand without a kill\n%s", of, is[of], end.runs[of])
		}
	}
	if len(is) != len(end.runs) {
		x.Found.Add(judge.Differs, "%d parts were carried out, and without a kill %d", len(is), len(end.runs))
	}
	return nil
}
