//go:build linux

package delegate

import (
	"context"
	"errors"
	"fmt"
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

// onRecord wants each run below another to be named by one call of that one, and each call to have
// one such run at most: also while the family is interrupted.
func (x *attempt) onRecord() judge.Findings {
	var f judge.Findings
	owners := map[string]string{}
	for _, h := range x.Histories {
		for call, child := range h.Children {
			owners[child] = h.Run.ID + " " + call
		}
	}
	had := map[string]string{}
	for _, h := range x.Histories {
		if h.Parent == "" {
			continue
		}
		call := h.Parent + " " + strings.TrimPrefix(h.Role, story.Delegates+" ")
		if owners[h.Run.ID] != call {
			f.Add(judge.Twice, "run %s carries out call %s, which does not name it", h.Run.ID, call)
		}
		if had[call] != "" {
			f.Add(judge.Twice, "runs %s and %s both carry out call %s", had[call], h.Run.ID, call)
		}
		had[call] = h.Run.ID
	}
	return f
}

// claimed wants runs below another to be claimed only by who has claimed the run at the top.
func (x *attempt) claimed() (f judge.Findings, err error) {
	owners := map[int]bool{}
	for _, h := range x.Histories { // the run at the top is the first that was recorded
		for _, fact := range x.Record.Facts[h.Run.No] {
			if fact.Kind != journal.Claimed {
				continue
			}
			b, err := fact.Decode()
			if err != nil {
				return nil, err
			}
			if h.Parent == "" {
				owners[b.PID] = true
			} else if !owners[b.PID] {
				f.Add(judge.Broken, "run %s is claimed by process %d, which has not claimed the run at the top", h.Run.ID, b.PID)
			}
		}
	}
	return f, nil
}

// exitUnknown is the exit code of a command that leaves a question about an unknown outcome.
const exitUnknown = 5

// saysUnknown wants the command that asks about an unknown outcome to end with a code of its own.
func (x *attempt) saysUnknown() judge.Findings {
	var f judge.Findings
	outputs := x.World.Outputs
	asks := slices.ContainsFunc(x.Record.Requests, func(q journal.Request) bool { return q.Kind == "twin" && q.Status == "open" })
	if o := outputs[len(outputs)-1]; asks && !o.Killed && o.Code != exitUnknown {
		f.Add(judge.Silent, "a person is asked about an unknown outcome, and agent %s ends with %d", strings.Join(o.Args, " "), o.Code)
	}
	return f
}

// endings are the ends of families in which nobody was killed.
type endings struct {
	lab *lab.Lab
	mu  sync.Mutex
	all map[string]ending
}

// ending is how a family ended: its world, and what each run saw.
type ending struct {
	world judge.End
	runs  map[string]string // by the prompt
}

// of is the end of a family in which nobody was killed.
func (e *endings) of(ctx context.Context, family string) (ending, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if end, ok := e.all[family]; ok {
		return end, nil
	}
	x, err := carryOut(ctx, e.lab, script{family: family}, nil)
	if err != nil {
		return ending{}, err
	}
	if f := append(x.Found, x.ended()...); len(f) > 0 {
		return ending{}, errors.Join(fmt.Errorf("the family %s finds without a kill %v, kept in %s", family, f, x.World.Root), x.World.SaveTranscript(family), x.World.Close(true))
	}
	if e.all == nil {
		e.all = map[string]ending{}
	}
	e.all[family] = ending{x.is, x.transcripts()}
	return e.all[family], x.World.Close(false)
}

// ended wants every run of the family to be complete, and each call that has begun to have had its
// run.
func (x *attempt) ended() judge.Findings {
	var f judge.Findings
	if len(x.Histories) != 1+len(families()[x.script.family].parts) {
		f.Add(judge.Differs, "%d runs are on record, and the family has %d", len(x.Histories), 1+len(families()[x.script.family].parts))
	}
	for _, h := range x.Histories {
		if h.Run.Status != "completed" {
			f.Add(judge.Stuck, "run %s (%s) is left %s", h.Run.ID, h.Prompt, h.Run.Status)
		}
	}
	return f
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
		prompt := h.Prompt
		if h.Parent == "" {
			prompt = "root"
		}
		out[prompt] = b.String() + h.Run.Status + ": " + plain(h.Answer)
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
	x.Found = append(x.Found, x.ended()...)
	for _, c := range x.Needless {
		if x.script.victim != "both" {
			x.Found.Add(judge.Needless, "no runner was killed, and the outcome of call %s is recorded as unknown", c)
		}
	}
	x.Found = append(x.Found, judge.CompareEnds(end.world, x.is, x.Unknown > 0, false)...)
	if x.Unknown > 0 {
		return nil // its model has seen that, and asked again
	}
	is := x.transcripts()
	for prompt, text := range end.runs {
		if is[prompt] != text {
			x.Found.Add(judge.Differs, "the run of %q has seen\n%s\nand without a kill\n%s", prompt, is[prompt], text)
		}
	}
	return nil
}
