//go:build linux

package judge

import (
	"bytes"
	"slices"

	"agent/scripts/crashlab/journal"
)

// The kinds of findings about a log that a witness keeps.
const (
	Unwitnessed = "effect before its start was in the log"
	Forked      = "log forked"
	Unheard     = "log incomplete"
)

// Entry is one of a log in which a witness keeps what it heard of a run and of the runs below it.
type Entry struct {
	By    string // the other host that wrote it; "" for the one whose record is judged
	Facts []Logged
	Seen  map[string]int // effects that had happened before the entry was taken
}

// Logged is a fact as it stands in a log.
type Logged struct {
	Run                       string
	Turn, Kind, Version, Time int64
	Hash                      []byte // of the body
}

// log is one that is read along with the record.
type log struct {
	record  *journal.Record
	has     map[int64]int    // how many facts of each run, by its number
	started map[string]*Call // by the mark, calls whose start it has
	by      string           // the other host that has it now
}

// CompareLogs holds logs against the record of the host that wrote them, and against the effects
// that were seen: each log is the beginning of the journals of its runs, nothing follows in it on
// what another host wrote, and no effect happened before a start of its call was in it.
func CompareLogs(r *journal.Record, all []*History, logs [][]Entry, saw map[string]int) Findings {
	var f Findings
	l := log{record: r, has: map[int64]int{}, started: map[string]*Call{}}
	for _, entries := range logs {
		l.by = ""
		for i, e := range entries {
			f = append(f, l.read(all, i+1, e)...)
		}
	}
	for _, h := range all {
		for _, c := range h.Calls {
			for _, m := range c.Marks {
				if saw[m] > 0 && l.started[m] == nil {
					f.Add(Unwitnessed, "run %s: the effect %s of call %d.%d (%s) happened, and no start of it is in the log", h.Run.ID, m, c.Turn, c.Index, c.Tool)
				}
			}
		}
	}
	return f
}

// read reads an entry. What another host wrote is not on record here.
func (l *log) read(all []*History, place int, e Entry) (f Findings) {
	if e.By != "" {
		l.by = e.By
		return nil
	}
	if l.by != "" {
		f.Add(Forked, "the entry at place %d was taken after host %s had written to the log", place, l.by)
	}
	for _, x := range e.Facts {
		i := slices.IndexFunc(l.record.Runs, func(r journal.Run) bool { return r.ID == x.Run })
		if i < 0 {
			f.Add(Forked, "the entry at place %d is about run %s, of which nothing is recorded", place, x.Run)
			return f
		}
		no := l.record.Runs[i].No
		facts := l.record.Facts[no]
		n := l.has[no]
		if n >= len(facts) || !same(facts[n], x) {
			f.Add(Forked, "the entry at place %d has a fact of run %s as its number %d that is not so in the journal, which has %d", place, x.Run, n+1, len(facts))
			return f
		}
		l.has[no]++
		if facts[n].Kind == journal.Started {
			f = append(f, l.begins(all, facts[n], x.Run, place, e.Seen)...)
		}
	}
	return f
}

// begins notes the start of a call.
func (l *log) begins(all []*History, fact journal.Fact, run string, place int, seen map[string]int) (f Findings) {
	b, err := fact.Decode()
	i := slices.IndexFunc(all, func(h *History) bool { return h.Run.ID == run })
	if err != nil || i < 0 {
		return nil // Check says so
	}
	c := all[i].Call(b.Turn, b.Index)
	if c == nil {
		return nil // likewise
	}
	for _, m := range c.Marks {
		first := l.started[m]
		again := first == c && len(c.Marks) == 1    // of several effects, some may be left to do
		if seen[m] > 0 && (first == nil || again) { // else it may be the other call's
			f.Add(Unwitnessed, "run %s: the effect %s had happened before the start of call %d.%d (%s) was in the log, at place %d", run, m, c.Turn, c.Index, c.Tool, place)
		}
		if l.started[m] == nil {
			l.started[m] = c
		}
	}
	return f
}

func same(f journal.Fact, x Logged) bool {
	return f.Turn == x.Turn && f.Kind == x.Kind && f.Version == x.Version && f.Time == x.Time && bytes.Equal(f.Hash, x.Hash)
}

// CompareHeard finds what a witness should have heard by the end of a command that nobody killed,
// and did not: everything that the runs did until they asked, were interrupted or ended.
func CompareHeard(r *journal.Record, logs [][]Entry) Findings {
	var f Findings
	has := map[string]int{}
	for _, entries := range logs {
		for _, e := range entries {
			for _, x := range e.Facts {
				if e.By == "" {
					has[x.Run]++
				}
			}
		}
	}
	for _, run := range r.Runs {
		for i, x := range r.Facts[run.No] {
			switch x.Kind {
			case journal.Claimed, journal.Started, journal.Settled, journal.Opened, journal.Interrupted, journal.Completed, journal.Failed, journal.Cancelled:
				if i >= has[run.ID] {
					f.Add(Unheard, "run %s is %s, and the log has %d of its facts: number %d (kind %d) is missing", run.ID, run.Status, has[run.ID], x.Seq, x.Kind)
					return f
				}
			}
		}
	}
	return f
}

// The causes of interruptions that a witness is behind.
const (
	NoLog = "log"
	Moved = "moved"
)

// CompareCauses finds runs that were interrupted because another host had them, where none had, or
// because of a witness that was there. moved and silent say what there was.
func CompareCauses(r *journal.Record, moved, silent bool) Findings {
	var f Findings
	for _, run := range r.Runs {
		for _, x := range r.Facts[run.No] {
			if x.Kind != journal.Interrupted {
				continue
			}
			b, err := x.Decode()
			if err != nil {
				continue // Check says so
			}
			if b.Cause == Moved && !moved || b.Cause == NoLog && !silent {
				f.Add(Differs, "run %s was interrupted by fact %d because of %q, and that was not so", run.ID, x.Seq, b.Cause)
			}
		}
	}
	return f
}
