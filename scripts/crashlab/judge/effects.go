//go:build linux

package judge

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"agent/scripts/crashlab/journal"
)

// CompareEffects compares what the witness saw with what the calls' results claim. No effect may
// happen twice.
func CompareEffects(all []*History, saw map[string]int) Findings { return CompareRepeated(all, saw, 1) }

// CompareRepeated is CompareEffects where a person may have an effect repeated, so that it happens
// at most so many times.
func CompareRepeated(all []*History, saw map[string]int, most int) Findings {
	type claims struct{ done, maybe int }
	by := map[string]*claims{}
	for _, h := range all {
		for _, c := range h.Calls {
			for _, m := range c.Marks {
				if by[m] == nil {
					by[m] = &claims{}
				}
				switch {
				case len(c.Results) == 0 && c.Starts == 0:
				case len(c.Results) == 0:
					by[m].maybe++
				default:
					done, maybe := c.claim()
					by[m].done += done
					by[m].maybe += maybe
				}
			}
		}
	}
	f := Overdone(saw, most)
	for m, n := range saw {
		c := by[m]
		switch {
		case n > most:
		case c == nil:
			f.Add(Twice, "the effect %s happened, and no call of the journal asked for it", m)
		case n > c.done+c.maybe:
			f.Add(Twice, "the effect %s happened, and no call claims that it did", m)
		}
	}
	for m, c := range by {
		if saw[m] < c.done {
			f.Add(Lost, "%d results say that the effect %s happened, the witness saw it %d times", c.done, m, saw[m])
		}
	}
	slices.SortFunc(f, func(a, b Finding) int { return strings.Compare(a.Text, b.Text) })
	return f
}

// claim is what a call's result says about its effect.
func (c *Call) claim() (done, maybe int) {
	r := c.Results[len(c.Results)-1].Result
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

// CompareVerdicts finds decisions of recovery that were not printed: by the process that decided,
// unless it was killed, and by agent show.
func CompareVerdicts(all []*History, outputs []Output) Findings {
	var f Findings
	for _, h := range all {
		for _, v := range h.Verdicts {
			for _, o := range outputs {
				shows := len(o.Args) == 2 && o.Args[0] == "show" && o.Args[1] == h.Run.ID
				decides := o.PID == v.pid && !o.Killed
				who := "" // whose line it is, among those of the run at the top
				if h.Parent != "" && !shows {
					who = h.Run.ID + " "
				}
				if (shows || decides) && !printed(o.Text, who, v.Body) {
					f.Add(Silent, "run %s: agent %s does not print the verdict %s about call %d.%d (%s)", h.Run.ID, strings.Join(o.Args, " "), v.Verdict, v.Turn, v.Index, v.Reason)
				}
			}
		}
	}
	return f
}

// printed says whether a line gives the verdict with its reason.
func printed(text, who string, b journal.Body) bool {
	reason := b.Reason
	for _, said := range []string{"outcome unknown: ", "waits for people: "} { // the line has these in words of its own
		reason = strings.TrimPrefix(reason, said)
	}
	reason = strings.Join(strings.Fields(reason), " ")
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(line), " ")
		if strings.HasPrefix(line, fmt.Sprintf("%s~ %d.%d ", who, b.Turn, b.Index)) && strings.Contains(line, reason) {
			return true
		}
	}
	return false
}

// CompareShown finds facts that a command had shown and that the record no longer holds.
func CompareShown(h *History, r *journal.Record, outputs []Output) Findings {
	var f Findings
	settledLine := regexp.MustCompile(`(?m)^✓ (\d+)\.(\d+) `)
	answerLine := regexp.MustCompile(`(?m)^\? (p-[0-9a-z]+) answered`)
	for _, o := range outputs {
		for _, m := range settledLine.FindAllStringSubmatch(o.Text, -1) {
			var turn, index int64
			if _, err := fmt.Sscan(m[1], &turn); err != nil {
				continue
			}
			if _, err := fmt.Sscan(m[2], &index); err != nil {
				continue
			}
			if c := h.Call(turn, index); c == nil || len(c.Results) == 0 {
				f.Add(Lost, "agent %s showed the result of call %s.%s, and it is gone", strings.Join(o.Args, " "), m[1], m[2])
			}
		}
		for _, m := range answerLine.FindAllStringSubmatch(o.Text, -1) {
			if !slices.ContainsFunc(r.Requests, func(q journal.Request) bool { return q.ID == m[1] && q.Status == "resolved" }) {
				f.Add(Lost, "agent %s showed an answer to %s, and it is gone", strings.Join(o.Args, " "), m[1])
			}
		}
	}
	return f
}

// CompareOwners finds a run that was claimed while the process that drove it was alive. It is for a
// world in which nobody but the lab kills, and in which no commit fails: a process that is not
// killed says when it lets go.
func CompareOwners(all []*History, outputs []Output) Findings {
	var f Findings
	for _, h := range all {
		for _, x := range h.Takeovers {
			for _, o := range outputs {
				if o.PID == x.from && (!o.Killed || !o.KilledAt.IsZero() && x.at.Before(o.KilledAt)) {
					f.Add(Broken, "run %s: process %d claims it by fact %d while process %d drives it", h.Run.ID, x.by, x.seq, x.from)
				}
			}
		}
	}
	return f
}

// CompareKept finds results that changed or disappeared from one look to the next.
func CompareKept(before, after []*History) Findings {
	var f Findings
	for _, old := range before {
		i := slices.IndexFunc(after, func(h *History) bool { return h.Run.ID == old.Run.ID })
		if i < 0 {
			f.Add(Lost, "run %s is gone", old.Run.ID)
			continue
		}
		for _, c := range old.Calls {
			now := after[i].Call(c.Turn, c.Index)
			if len(c.Results) > 0 && (now == nil || len(now.Results) == 0 || now.Results[0].Result != c.Results[0].Result) {
				f.Add(Lost, "run %s: the result of call %d.%d (%s) is not what it was", old.Run.ID, c.Turn, c.Index, c.Tool)
			}
		}
	}
	return f
}

// Overdone finds effects that happened more often than they may.
func Overdone(saw map[string]int, most int) Findings {
	var f Findings
	for m, n := range saw {
		if n > most {
			f.Add(Twice, "the effect %s happened %d times", m, n)
		}
	}
	return f
}
