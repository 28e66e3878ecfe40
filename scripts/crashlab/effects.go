//go:build linux

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// compareEffects holds what the witness saw against what the calls' results claim. No effect may happen twice.
func compareEffects(all []*history, saw map[string]int) findings { return compareRepeated(all, saw, 1) }

// compareRepeated is compareEffects where a person has an effect repeated.
func compareRepeated(all []*history, saw map[string]int, most int) findings {
	type claims struct{ done, maybe int }
	by := map[string]*claims{}
	for _, h := range all {
		for _, c := range h.calls {
			for _, m := range c.marks {
				if by[m] == nil {
					by[m] = &claims{}
				}
				switch {
				case len(c.results) == 0 && c.starts == 0:
				case len(c.results) == 0:
					by[m].maybe++
				default:
					done, maybe := c.claim()
					by[m].done += done
					by[m].maybe += maybe
				}
			}
		}
	}
	f := overdone(saw, most)
	for m, n := range saw {
		c := by[m]
		switch {
		case n > most:
		case c == nil:
			f.add(twice, "the effect %s happened, and no call of the journal asked for it", m)
		case n > c.done+c.maybe:
			f.add(twice, "the effect %s happened, and no call claims that it did", m)
		}
	}
	for m, c := range by {
		if saw[m] < c.done {
			f.add(lost, "%d results say that the effect %s happened, the witness saw it %d times", c.done, m, saw[m])
		}
	}
	slices.SortFunc(f, func(a, b finding) int { return strings.Compare(a.Text, b.Text) })
	return f
}

// claim is what a call's result says about its effect.
func (c *call) claim() (done, maybe int) {
	r := c.results[len(c.results)-1].Result
	switch {
	case r.How == "told":
		if r.Outcome == "unknown" {
			return 0, 1
		}
		return 0, 0 // nothing ran for it; where a person says that it happened, the call before it claims that
	case r.Applied == "yes" && r.Outcome == "ok":
		return 1, 0
	case r.Applied == "no":
		return 0, 0
	}
	return 0, 1
}

// compareWords looks for decisions of recovery that were not printed: by the process that decided, unless it was killed, and by
// agent show.
func compareWords(all []*history, outputs []output) findings {
	var f findings
	for _, h := range all {
		for _, v := range h.said {
			for _, o := range outputs {
				shows := len(o.args) == 2 && o.args[0] == "show" && o.args[1] == h.run.id
				decides := o.pid == v.pid && !o.killed
				if (shows || decides) && !printed(o.text, v.body) {
					f.add(silent, "run %s: agent %s does not print the verdict %s about call %d.%d (%s)", h.run.id, strings.Join(o.args, " "), v.Verdict, v.Turn, v.Index, v.Reason)
				}
			}
		}
	}
	return f
}

// printed says whether a line tells the verdict with its reason.
func printed(text string, b body) bool {
	reason := strings.Join(strings.Fields(strings.TrimPrefix(b.Reason, "outcome unknown: ")), " ")
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(line), " ")
		if strings.HasPrefix(line, fmt.Sprintf("~ %d.%d ", b.Turn, b.Index)) && strings.Contains(line, reason) {
			return true
		}
	}
	return false
}

// compareShown looks for facts that a command had shown and that the record no longer holds.
func compareShown(h *history, r *record, outputs []output) findings {
	var f findings
	settledLine := regexp.MustCompile(`(?m)^✓ (\d+)\.(\d+) `)
	answerLine := regexp.MustCompile(`(?m)^\? (p-[0-9a-z]+) answered`)
	for _, o := range outputs {
		for _, m := range settledLine.FindAllStringSubmatch(o.text, -1) {
			var turn, index int64
			if _, err := fmt.Sscan(m[1], &turn); err != nil {
				continue
			}
			if _, err := fmt.Sscan(m[2], &index); err != nil {
				continue
			}
			if c := h.call(turn, index); c == nil || len(c.results) == 0 {
				f.add(lost, "agent %s showed the result of call %s.%s, and it is gone", strings.Join(o.args, " "), m[1], m[2])
			}
		}
		for _, m := range answerLine.FindAllStringSubmatch(o.text, -1) {
			if !slices.ContainsFunc(r.requests, func(q requestRow) bool { return q.id == m[1] && q.status == "resolved" }) {
				f.add(lost, "agent %s showed an answer to %s, and it is gone", strings.Join(o.args, " "), m[1])
			}
		}
	}
	return f
}

// compareOwners looks for a run that was claimed while the process that drove it was alive. It is for a world in which nobody but
// the lab kills, and in which no commit fails: a process that is not killed says when it lets go.
func compareOwners(all []*history, outputs []output) findings {
	var f findings
	for _, h := range all {
		for _, x := range h.taken {
			for _, o := range outputs {
				if o.pid == x.from && (!o.killed || !o.struck.IsZero() && x.at.Before(o.struck)) {
					f.add(broken, "run %s: process %d claims it by fact %d while process %d drives it", h.run.id, x.by, x.seq, x.from)
				}
			}
		}
	}
	return f
}

// compareKept looks for results that changed or went from one look to the next.
func compareKept(before, after []*history) findings {
	var f findings
	for _, old := range before {
		i := slices.IndexFunc(after, func(h *history) bool { return h.run.id == old.run.id })
		if i < 0 {
			f.add(lost, "run %s is gone", old.run.id)
			continue
		}
		for _, c := range old.calls {
			now := after[i].call(c.turn, c.index)
			if len(c.results) > 0 && (now == nil || len(now.results) == 0 || now.results[0].Result != c.results[0].Result) {
				f.add(lost, "run %s: the result of call %d.%d (%s) is not what it was", old.run.id, c.turn, c.index, c.tool)
			}
		}
	}
	return f
}

// overdone finds effects that happened more often than they may.
func overdone(saw map[string]int, most int) findings {
	var f findings
	for m, n := range saw {
		if n > most {
			f.add(twice, "the effect %s happened %d times", m, n)
		}
	}
	return f
}
