//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// verdicts of the lab on what it found.
const (
	twice    = "effect done twice"
	lost     = "result lost"
	stuck    = "run stuck"
	silent   = "silent decision"
	broken   = "journal broken"
	differs  = "world differs"
	refused  = "request refused"
	needless = "outcome unknown without need"
	exposed  = "open to others"
	attacked = "attack succeeded"
	unlisted = "lab"
)

// finding is one thing that is not as promised.
type finding struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

type findings []finding

func (f *findings) add(kind, format string, args ...any) {
	*f = append(*f, finding{kind, fmt.Sprintf(format, args...)})
}

// call is one call put together from facts alone.
type call struct {
	run                     int64
	runID                   string
	turn, index             int64
	id, tool, args          string
	marks                   []string
	starts                  int
	results                 []body
	proposed, last, settled int64 // sequence numbers
	word                    string
	judged                  []body
	by                      int  // the process that started it last
	back                    bool // a verdict has put it back before its start, and nobody has claimed the run since
}

// verdict is a decision of recovery, and the process that made it.
type verdict struct {
	body
	pid int
}

// history is what one run's journal says, read from its first fact to its last.
type history struct {
	run    runRow
	calls  []*call
	asked  map[string]body // open questions, by id
	last   string          // status that the facts lead to
	said   []verdict
	pid    int // of who claimed it last
	prompt string
	text   string // of the end
	ended  int
	taken  []taken
}

// taken is a claim of a run while another process was driving it, as far as the facts say.
type taken struct {
	from, by int // process ids
	seq      int64
	at       time.Time
}

func (h *history) call(turn, index int64) *call {
	for _, c := range h.calls {
		if c.turn == turn && c.index == index {
			return c
		}
	}
	return nil
}

// check reads a whole record and says what is not as it must be. held says whether somebody drives a run now.
func check(r *record, held func(run string) bool) ([]*history, findings) {
	var f findings
	var all []*history
	for _, run := range r.runs {
		f.sequence(run, r.facts[run.no])
		h := f.follow(run, r.facts[run.no])
		f.compareCalls(r, h)
		f.compareRequests(r, h)
		f.compareStatus(r, h, held)
		all = append(all, h)
	}
	for _, what := range r.gone {
		f.add(lost, "%s", what)
	}
	for no := range r.facts {
		if !slices.ContainsFunc(r.runs, func(x runRow) bool { return x.no == no }) {
			f.add(broken, "there are facts of run number %d, and no such run", no)
		}
	}
	return all, f
}

// sequence looks for gaps and for rows that do not follow from the one before.
func (f *findings) sequence(run runRow, facts []fact) {
	var prev []byte
	for i, x := range facts {
		if x.seq != int64(i)+1 {
			f.add(broken, "run %s: fact %d stands where fact %d should", run.id, x.seq, i+1)
			return
		}
		if (x.kind < 1 || x.kind > lastKind) && x.kind != restored {
			f.add(unlisted, "run %s: fact %d is of kind %d, which the checker does not know", run.id, x.seq, x.kind)
		}
		if want := digestOf(prev, x); !bytes.Equal(want, x.digest) {
			f.add(broken, "run %s: the digest of fact %d does not follow from the rows before it", run.id, x.seq)
			return
		}
		prev = x.digest
	}
	if n := int64(len(facts)); n != run.lastSeq {
		f.add(broken, "run %s: its row says %d facts, the journal holds %d", run.id, run.lastSeq, n)
	}
}

// follow puts the calls and the status together.
func (f *findings) follow(run runRow, facts []fact) *history {
	h := &history{run: run, asked: map[string]body{}, last: "queued"}
	for _, x := range facts {
		b, err := x.read()
		if err != nil {
			f.add(broken, "run %s: %v", run.id, err)
			continue
		}
		if h.ended > 0 && x.kind != resolved && x.kind != 4 {
			f.add(broken, "run %s: fact %d of kind %d comes after its end", run.id, x.seq, x.kind)
		}
		if h.status(x, b) {
			continue
		}
		if x.kind == created {
			h.prompt = b.Prompt
		}
		if x.kind == answered {
			for i, c := range b.Calls {
				h.calls = append(h.calls, &call{
					run: run.no, runID: run.id, turn: x.turn, index: int64(i), id: c.ID, tool: c.Tool, args: string(c.Args),
					marks: marksIn(string(c.Args)), proposed: x.seq,
				})
			}
			continue
		}
		if x.kind >= judged && x.kind <= resolved {
			f.onCall(h, x, b)
		}
	}
	return h
}

// status follows the facts that say how a run stands.
func (h *history) status(x fact, b body) bool {
	switch x.kind {
	case claimed:
		if h.last == "running" && h.pid != b.PID {
			h.taken = append(h.taken, taken{h.pid, b.PID, x.seq, time.UnixMicro(x.time)})
		}
		h.last, h.pid = "running", b.PID
		for _, c := range h.calls {
			c.back = false
		}
	case interrupted:
		h.last = "interrupted"
	case opened:
		h.asked[b.Request.ID] = b
		h.last = "waiting"
	case replied, closed:
		delete(h.asked, b.ID)
		h.last = "running"
	case completed, failed, cancelled:
		h.last = map[int64]string{completed: "completed", failed: "failed", cancelled: "cancelled"}[x.kind]
		h.text = b.Text
		h.ended++
	default:
		return false
	}
	return true
}

func (f *findings) onCall(h *history, x fact, b body) {
	c := h.call(b.Turn, b.Index)
	if c == nil {
		if x.kind != resolved { // a decision may be about another run's call
			f.add(broken, "run %s: fact %d is about call %d.%d, which nobody asked for", h.run.id, x.seq, b.Turn, b.Index)
		}
		return
	}
	switch x.kind {
	case started:
		c.starts++
		c.last, c.by, c.back = x.seq, h.pid, false
		if len(c.results) > 0 {
			f.add(twice, "run %s: call %d.%d (%s) is started again by fact %d although it has a result", h.run.id, c.turn, c.index, c.tool, x.seq)
		}
	case settled:
		c.results = append(c.results, b)
		c.settled = x.seq
		if len(c.results) > 1 {
			f.add(broken, "run %s: call %d.%d (%s) has %d results", h.run.id, c.turn, c.index, c.tool, len(c.results))
		}
		how, own := b.Result.How, c.by == h.pid // whoever has begun a call may lose it from sight by a panic, and wait for it again
		if (how == "adopted" || how == "attached" && !own || how == "verified") && len(c.judged) == 0 {
			f.add(silent, "run %s: call %d.%d (%s) was %s without a verdict", h.run.id, c.turn, c.index, c.tool, how)
		} else if how == "told" && b.Result.Outcome == "unknown" && len(c.judged) == 0 {
			f.add(silent, "run %s: the outcome of call %d.%d (%s) was given up without a verdict", h.run.id, c.turn, c.index, c.tool)
		}
	case judged:
		c.judged = append(c.judged, b)
		c.back = c.starts > 0 && (b.Verdict == "run" || b.Verdict == "again")
		h.said = append(h.said, verdict{b, h.pid})
	case resolved:
		c.word = b.Word
	}
}

// compareCalls holds the rows of calls against the facts.
func (f *findings) compareCalls(r *record, h *history) {
	seen := 0
	for _, row := range r.calls {
		if row.run != h.run.no {
			continue
		}
		seen++
		c := h.call(row.turn, row.index)
		if c == nil {
			f.add(broken, "run %s: there is a row for call %d.%d, and no fact", h.run.id, row.turn, row.index)
			continue
		}
		phase, outcome, applied := "proposed", "", ""
		if c.starts > 0 && !c.back {
			phase = "started"
		}
		if n := len(c.results); n > 0 {
			phase, outcome, applied = "settled", c.results[n-1].Result.Outcome, c.results[n-1].Result.Applied
		}
		got := fmt.Sprint(row.id, row.tool, row.phase, row.outcome, row.applied, row.proposed, row.started, row.settled)
		want := fmt.Sprint(c.id, c.tool, phase, outcome, applied, c.proposed, c.last, c.settled)
		if got != want {
			f.add(broken, "run %s: the row of call %d.%d says %s, the facts say %s", h.run.id, row.turn, row.index, got, want)
		}
	}
	if seen != len(h.calls) {
		f.add(broken, "run %s: %d rows of calls, the facts name %d", h.run.id, seen, len(h.calls))
	}
}

// compareRequests holds the rows of questions against the facts.
func (f *findings) compareRequests(r *record, h *history) {
	open := 0
	for _, q := range r.requests {
		if q.run != h.run.no {
			continue
		}
		if q.status == "open" {
			open++
			if _, ok := h.asked[q.id]; !ok {
				f.add(broken, "run %s: request %s is open, and no fact leaves it open", h.run.id, q.id)
			}
		}
		if i := slices.IndexFunc(r.facts[q.run], func(x fact) bool { return x.seq == q.opened && x.kind == opened }); i < 0 {
			f.add(broken, "run %s: request %s names fact %d, which does not open a question", h.run.id, q.id, q.opened)
		}
		if !q.consumed.Valid {
			continue
		}
		if i := slices.IndexFunc(r.facts[q.run], func(x fact) bool {
			return x.seq == q.consumed.Int64 && (x.kind == replied || x.kind == closed)
		}); i < 0 {
			f.add(lost, "run %s: the answer to request %s was taken by fact %d, which does not hold it", h.run.id, q.id, q.consumed.Int64)
		}
	}
	if open > 1 {
		f.add(broken, "run %s: %d requests are open", h.run.id, open)
	}
}

// compareStatus says whether the run is where the facts lead, and whether it can ever go on.
func (f *findings) compareStatus(r *record, h *history, held func(string) bool) {
	open := slices.ContainsFunc(r.requests, func(q requestRow) bool { return q.run == h.run.no && q.status == "open" })
	allowed := []string{h.last}
	if len(h.asked) > 0 && h.ended == 0 {
		allowed = append(allowed, "waiting")
	}
	if !slices.Contains(allowed, h.run.status) {
		f.add(broken, "run %s: its row says %s, the facts lead to %s", h.run.id, h.run.status, h.last)
	}
	switch h.run.status {
	case "completed", "failed", "cancelled":
		for _, c := range h.calls {
			if len(c.results) == 0 {
				f.add(lost, "run %s is %s, and call %d.%d (%s) has no result", h.run.id, h.run.status, c.turn, c.index, c.tool)
			}
		}
	case "interrupted":
	case "waiting":
		if !open && !held(h.run.id) {
			f.add(stuck, "run %s waits, nothing is asked, and nobody drives it", h.run.id)
		}
	default:
		if !held(h.run.id) {
			f.add(stuck, "run %s is %s, and nobody drives it", h.run.id, h.run.status)
		}
	}
}

// heldIn says whether a run's lock is held, by asking the kernel and taking nothing.
func heldIn(state string) func(string) bool {
	return func(run string) bool {
		f, err := os.OpenFile(filepath.Join(state, "locks", run), os.O_RDWR, 0)
		if err != nil {
			return false
		}
		lock := unix.Flock_t{Type: unix.F_WRLCK}
		err = errors.Join(unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock), f.Close())
		return err == nil && lock.Type != unix.F_UNLCK
	}
}
