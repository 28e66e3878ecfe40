//go:build linux

// Package judge decides. It holds what the journal says, what commands printed and what witnesses
// outside saw against each other, and names what is not as promised. It is pure: it reads no file,
// starts nothing and kills nobody.
//
// Check reads one record; the functions that begin with Compare hold two things against each other.
// A Finding says which promise is broken.
package judge

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/marks"
)

// The kinds of findings: which promise is broken.
const (
	Twice    = "effect done twice"
	Lost     = "result lost"
	Stuck    = "run stuck"
	Silent   = "silent decision"
	Broken   = "journal broken"
	Differs  = "world differs"
	Refused  = "request refused"
	Needless = "outcome unknown without need"
	Exposed  = "open to others"
	Attacked = "attack succeeded"
	Unlisted = "lab"
)

// Finding is one thing that is not as promised.
type Finding struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

type Findings []Finding

func (f *Findings) Add(kind, format string, args ...any) {
	*f = append(*f, Finding{kind, fmt.Sprintf(format, args...)})
}

// Call is one call, put together from the facts of its run.
type Call struct {
	run                     int64
	RunID                   string
	Turn, Index             int64
	id, Tool, Args          string
	Marks                   []string
	Starts                  int
	Results                 []journal.Body
	proposed, last, settled int64 // sequence numbers
	decision                string
	Judged                  []journal.Body
	startedBy               int  // the process that started it last
	putBack                 bool // a verdict has undone its start
	doubted                 bool // until the next claim alone: what began may have happened
}

// verdict is a decision of recovery, and the process that made it.
type verdict struct {
	journal.Body
	pid int
}

// History is what one run's journal says, read from its first fact to its last.
type History struct {
	Run       journal.Run
	Calls     []*Call
	Asked     map[string]journal.Body // open questions, by id
	leadsTo   string                  // status that the facts lead to
	Verdicts  []verdict
	PID       int // of who claimed it last
	Prompt    string
	Answer    string // of the end
	ended     int
	parked    bool // it waits for who is asked in runs below it
	Takeovers []Takeover

	Parent, Role string            // of a run below another: that one, and what it is there for
	Children     map[string]string // the runs that carry its calls out, by the calls' ids
	vars         []string          // what its commands get beside what all get
}

// Takeover is a claim of a run that, by the facts, another process was driving.
type Takeover struct {
	from, by int // process ids
	seq      int64
	at       time.Time
}

func (h *History) Call(turn, index int64) *Call {
	for _, c := range h.Calls {
		if c.Turn == turn && c.Index == index {
			return c
		}
	}
	return nil
}

// Check follows every run of a record and reports what is not as promised. held says whether a
// process drives a run now.
func Check(r *journal.Record, held func(run string) bool) ([]*History, Findings) {
	var f Findings
	var all []*History
	for _, run := range r.Runs {
		f.sequence(run, r.Facts[run.No])
		h := f.follow(run, r.Facts[run.No])
		f.compareCalls(r, h)
		f.compareRequests(r, h)
		f.compareStatus(r, h, held)
		all = append(all, h)
	}
	for _, what := range r.Missing {
		f.Add(Lost, "%s", what)
	}
	for no := range r.Facts {
		if !slices.ContainsFunc(r.Runs, func(x journal.Run) bool { return x.No == no }) {
			f.Add(Broken, "there are facts of run number %d, and no such run", no)
		}
	}
	return all, f
}

// sequence finds gaps in the numbers, and rows whose digest does not follow from the row before.
func (f *Findings) sequence(run journal.Run, facts []journal.Fact) {
	var prev []byte
	for i, x := range facts {
		if x.Seq != int64(i)+1 {
			f.Add(Broken, "run %s: fact %d stands where fact %d should", run.ID, x.Seq, i+1)
			return
		}
		if x.Kind < 1 || x.Kind > journal.LastKind {
			f.Add(Unlisted, "run %s: fact %d is of kind %d, which the checker does not know", run.ID, x.Seq, x.Kind)
		}
		if want := journal.Digest(prev, x); !bytes.Equal(want, x.Digest) {
			f.Add(Broken, "run %s: the digest of fact %d does not follow from the rows before it", run.ID, x.Seq)
			return
		}
		prev = x.Digest
	}
	if n := int64(len(facts)); n != run.LastSeq {
		f.Add(Broken, "run %s: its row says %d facts, the journal holds %d", run.ID, run.LastSeq, n)
	}
}

// follow puts the calls and the status of a run together from its facts.
func (f *Findings) follow(run journal.Run, facts []journal.Fact) *History {
	h := &History{Run: run, Asked: map[string]journal.Body{}, Children: map[string]string{}, leadsTo: "queued"}
	for _, x := range facts {
		b, err := x.Decode()
		if err != nil {
			f.Add(Broken, "run %s: %v", run.ID, err)
			continue
		}
		if h.ended > 0 && x.Kind != journal.Resolved && x.Kind != journal.CommitSeen && x.Kind != 4 {
			f.Add(Broken, "run %s: fact %d of kind %d comes after its end", run.ID, x.Seq, x.Kind)
		}
		if h.status(x, b) {
			continue
		}
		if x.Kind == journal.Created {
			h.Prompt, h.Parent, h.Role, h.vars = b.Prompt, b.Parent, b.Role, b.Vars
		}
		if x.Kind == journal.Answered {
			for i, c := range b.Calls {
				h.Calls = append(h.Calls, &Call{
					run: run.No, RunID: run.ID, Turn: x.Turn, Index: int64(i), id: c.ID, Tool: c.Tool, Args: string(c.Args),
					Marks: marks.Find(h.expand(string(c.Args))), proposed: x.Seq,
				})
			}
			continue
		}
		if x.Kind >= journal.Judged && x.Kind <= journal.Resolved {
			f.onCall(h, x, b)
		}
	}
	return h
}

// expand is a call's text with the values that its shell puts in.
func (h *History) expand(text string) string {
	for _, v := range h.vars {
		name, value, _ := strings.Cut(v, "=")
		text = strings.ReplaceAll(text, "$"+name, value)
	}
	return text
}

// status follows the facts that say how a run stands.
func (h *History) status(x journal.Fact, b journal.Body) bool {
	switch x.Kind {
	case journal.Claimed:
		if h.leadsTo == "running" && h.PID != b.PID {
			h.Takeovers = append(h.Takeovers, Takeover{h.PID, b.PID, x.Seq, time.UnixMicro(x.Time)})
		}
		h.leadsTo, h.PID, h.parked = "running", b.PID, false
		for _, c := range h.Calls {
			c.putBack = c.putBack && !c.doubted
		}
	case journal.Interrupted, journal.Exported:
		h.leadsTo = "interrupted"
	case journal.Opened:
		h.Asked[b.Request.ID] = b
		h.leadsTo = "waiting"
	case journal.Parked:
		h.leadsTo, h.parked = "waiting", true
	case journal.Replied, journal.Closed:
		delete(h.Asked, b.ID)
		if x.Kind == journal.Replied || h.leadsTo != "interrupted" { // one is closed there that went elsewhere
			h.leadsTo = "running"
		}
	case journal.Completed, journal.Failed, journal.Cancelled:
		h.leadsTo = map[int64]string{journal.Completed: "completed", journal.Failed: "failed", journal.Cancelled: "cancelled"}[x.Kind]
		h.Answer = b.Text
		h.ended++
	default:
		return false
	}
	return true
}

func (f *Findings) onCall(h *History, x journal.Fact, b journal.Body) {
	c := h.Call(b.Turn, b.Index)
	if c == nil {
		if x.Kind != journal.Resolved { // a decision may be about another run's call
			f.Add(Broken, "run %s: fact %d is about call %d.%d, which nobody asked for", h.Run.ID, x.Seq, b.Turn, b.Index)
		}
		return
	}
	switch x.Kind {
	case journal.Started:
		c.Starts++
		if b.Child != "" {
			h.Children[c.id] = b.Child
		}
		c.last, c.startedBy, c.putBack = x.Seq, h.PID, false
		if len(c.Results) > 0 {
			f.Add(Twice, "run %s: call %d.%d (%s) is started again by fact %d although it has a result", h.Run.ID, c.Turn, c.Index, c.Tool, x.Seq)
		}
	case journal.Settled:
		c.Results = append(c.Results, b)
		c.settled = x.Seq
		if len(c.Results) > 1 {
			f.Add(Broken, "run %s: call %d.%d (%s) has %d results", h.Run.ID, c.Turn, c.Index, c.Tool, len(c.Results))
		}
		how, own := b.Result.How, c.startedBy == h.PID // whoever has begun a call may lose it from sight by a panic, and wait for it again
		if (how == "adopted" || how == "attached" && !own || how == "verified") && len(c.Judged) == 0 {
			f.Add(Silent, "run %s: call %d.%d (%s) was %s without a verdict", h.Run.ID, c.Turn, c.Index, c.Tool, how)
		} else if how == "told" && b.Result.Outcome == "unknown" && len(c.Judged) == 0 {
			f.Add(Silent, "run %s: the outcome of call %d.%d (%s) was called unknown without a verdict", h.Run.ID, c.Turn, c.Index, c.Tool)
		}
	case journal.Judged:
		c.Judged = append(c.Judged, b)
		c.putBack = c.Starts > 0 && (b.Verdict == "run" || b.Verdict == "again")
		c.doubted = b.Verdict == "again"
		h.Verdicts = append(h.Verdicts, verdict{b, h.PID})
	case journal.Resolved:
		c.decision = b.Word
	}
}

// compareCalls compares the rows of calls with the facts.
func (f *Findings) compareCalls(r *journal.Record, h *History) {
	seen := 0
	for _, row := range r.Calls {
		if row.Run != h.Run.No {
			continue
		}
		seen++
		c := h.Call(row.Turn, row.Index)
		if c == nil {
			f.Add(Broken, "run %s: there is a row for call %d.%d, and no fact", h.Run.ID, row.Turn, row.Index)
			continue
		}
		phase, outcome, applied := "proposed", "", ""
		if c.Starts > 0 && !c.putBack {
			phase = "started"
		}
		if n := len(c.Results); n > 0 {
			phase, outcome, applied = "settled", c.Results[n-1].Result.Outcome, c.Results[n-1].Result.Applied
		}
		got := fmt.Sprint(row.ID, row.Tool, row.Phase, row.Outcome, row.Applied, row.Proposed, row.Started, row.Settled)
		want := fmt.Sprint(c.id, c.Tool, phase, outcome, applied, c.proposed, c.last, c.settled)
		if got != want {
			f.Add(Broken, "run %s: the row of call %d.%d says %s, the facts say %s", h.Run.ID, row.Turn, row.Index, got, want)
		}
	}
	if seen != len(h.Calls) {
		f.Add(Broken, "run %s: %d rows of calls, the facts name %d", h.Run.ID, seen, len(h.Calls))
	}
}

// compareRequests compares the rows of questions with the facts.
func (f *Findings) compareRequests(r *journal.Record, h *History) {
	open := 0
	for _, q := range r.Requests {
		if q.Run != h.Run.No {
			continue
		}
		if q.Status == "open" {
			open++
			if _, ok := h.Asked[q.ID]; !ok {
				f.Add(Broken, "run %s: request %s is open, and no fact leaves it open", h.Run.ID, q.ID)
			}
		}
		if i := slices.IndexFunc(r.Facts[q.Run], func(x journal.Fact) bool { return x.Seq == q.Opened && x.Kind == journal.Opened }); i < 0 {
			f.Add(Broken, "run %s: request %s names fact %d, which does not open a question", h.Run.ID, q.ID, q.Opened)
		}
		if q.Consumed == 0 {
			continue
		}
		if i := slices.IndexFunc(r.Facts[q.Run], func(x journal.Fact) bool {
			return x.Seq == q.Consumed && (x.Kind == journal.Replied || x.Kind == journal.Closed)
		}); i < 0 {
			f.Add(Lost, "run %s: the answer to request %s was taken by fact %d, which does not hold it", h.Run.ID, q.ID, q.Consumed)
		}
	}
	if open > 1 {
		f.Add(Broken, "run %s: %d requests are open", h.Run.ID, open)
	}
}

// compareStatus says whether the run is where the facts lead, and whether it can ever go on.
func (f *Findings) compareStatus(r *journal.Record, h *History, held func(string) bool) {
	open := slices.ContainsFunc(r.Requests, func(q journal.Request) bool { return q.Run == h.Run.No && q.Status == "open" })
	allowed := []string{h.leadsTo}
	if len(h.Asked) > 0 && h.ended == 0 {
		allowed = append(allowed, "waiting")
	}
	if !slices.Contains(allowed, h.Run.Status) {
		f.Add(Broken, "run %s: its row says %s, the facts lead to %s", h.Run.ID, h.Run.Status, h.leadsTo)
	}
	switch h.Run.Status {
	case "completed", "failed", "cancelled":
		for _, c := range h.Calls {
			if len(c.Results) == 0 {
				f.Add(Lost, "run %s is %s, and call %d.%d (%s) has no result", h.Run.ID, h.Run.Status, c.Turn, c.Index, c.Tool)
			}
		}
	case "interrupted":
	case "waiting":
		if !open && !h.parked && !held(h.Run.ID) {
			f.Add(Stuck, "run %s waits, nothing is asked, and nobody drives it", h.Run.ID)
		}
	default:
		if !held(h.Run.ID) {
			f.Add(Stuck, "run %s is %s, and nobody drives it", h.Run.ID, h.Run.Status)
		}
	}
}
