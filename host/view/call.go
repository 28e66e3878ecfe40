package view

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"agent/db"
	"agent/recovery"
	"agent/recovery/journal"
)

// Call is a call as show prints it. Fields are only ever added.
type Call struct {
	ID          string           `json:"id"`
	Run         string           `json:"run_id"`
	Turn        int              `json:"turn"`
	Index       int              `json:"index"`
	Attempt     int              `json:"attempt"`
	Tool        string           `json:"tool"`
	Effect      journal.Effect   `json:"effect"`
	Fingerprint string           `json:"fingerprint"`
	Arguments   json.RawMessage  `json:"arguments"`
	Decision    journal.Decision `json:"decision"`
	Why         string           `json:"why,omitempty"`     // what decided so: a rule with its place, the mode
	Sandbox     string           `json:"sandbox,omitempty"` // what the operating system keeps the call to
	Access      string           `json:"access,omitempty"`  // of a command that requested more
	Phase       journal.Phase    `json:"phase"`
	Outcome     journal.Outcome  `json:"outcome,omitempty"`
	Applied     journal.Applied  `json:"applied,omitempty"`
	How         journal.How      `json:"how,omitempty"`
	Resolved    journal.Word     `json:"resolved,omitempty"`
	Started     *time.Time       `json:"started_at,omitempty"`
	Settled     *time.Time       `json:"settled_at,omitempty"`
	DurationMS  int64            `json:"duration_ms,omitempty"`
	Content     string           `json:"content,omitempty"` // what the model sees
	Size        int64            `json:"output_bytes,omitempty"`
	Evidence    json.RawMessage  `json:"evidence,omitempty"`
	Alive       []string         `json:"alive,omitempty"`    // what of it may still be running
	PutBack     []string         `json:"put_back,omitempty"` // what it planted for others to run, and what became of it
	Verdicts    []Verdict        `json:"verdicts"`
	Output      *string          `json:"output,omitempty"` // all of it; only where one call is shown
}

// OneCall is what show prints of a call. Fields are only ever added.
type OneCall struct {
	Version int  `json:"version"`
	Call    Call `json:"call"`
}

// Verdict is what recovery decided about a call at one time.
type Verdict struct {
	Verdict journal.Verdict `json:"verdict"`
	Reason  string          `json:"reason"`
	Time    time.Time       `json:"decided_at"`
}

// NewCall shows a row of calls with what was decided about it; d may be nil.
func NewCall(row db.CallRow, d *Decided) Call {
	v := Call{
		ID: row.ID, Run: row.Run, Turn: row.Turn, Index: row.Index, Attempt: row.Attempt, Tool: row.Tool, Effect: row.Effect,
		Fingerprint: row.Fingerprint, Arguments: row.Proposal.Args, Decision: row.Proposal.Decision, Why: row.Proposal.Why, Sandbox: row.Proposal.Sandbox, Access: row.Proposal.Access, Phase: row.Phase,
		Outcome: row.Outcome, Applied: row.Applied, How: row.How, Resolved: row.Resolved, Verdicts: []Verdict{},
	}
	if !row.Started.IsZero() {
		v.Started = &row.Started
	}
	if !row.Settled.IsZero() {
		v.Settled = &row.Settled
	}
	if r := row.Result; r != nil {
		v.DurationMS, v.Content, v.Size, v.Evidence, v.Alive, v.PutBack = r.Took.Milliseconds(), r.Content, r.Size, r.Data, r.Alive, r.PutBack
	}
	if d != nil {
		v.Verdicts = append(v.Verdicts, d.verdicts...)
	}
	return v
}

// Decided is what the journal says about a call beside its start and its result.
type Decided struct {
	attempts []time.Time
	verdicts []Verdict
	before   string // what was noted before the last attempt, for a later look
	asked    []string
	resolved []string
	voided   []string
}

// Decisions reads what was decided about a run's calls, by place.
func Decisions(run string, facts iter.Seq2[journal.Event, error]) (map[string]*Decided, error) {
	out := map[string]*Decided{}
	of := func(p journal.Place) *Decided {
		if out[p.String()] == nil {
			out[p.String()] = &Decided{}
		}
		return out[p.String()]
	}
	requests := map[string]journal.Place{}
	for e, err := range facts {
		if err != nil {
			return nil, err
		}
		switch b := e.Body.(type) {
		case journal.CallStarted:
			d := of(b.Place)
			d.attempts, d.before = append(d.attempts, e.Time), string(b.Before)
		case journal.CallJudged:
			d := of(b.Place)
			d.verdicts = append(d.verdicts, Verdict{b.Verdict, b.Reason, e.Time})
		case journal.CallResolved:
			if b.Run == "" || b.Run == run {
				of(b.Place).resolved = append(of(b.Place).resolved, fmt.Sprintf("%s by %s", b.Word, OrPerson(b.By)))
			}
		case journal.ApprovalVoided:
			text := b.Reason
			if b.Decision != "" {
				text = fmt.Sprintf("%s: %s", b.Decision, b.Reason)
			}
			of(b.Place).voided = append(of(b.Place).voided, Stamp(e.Time)+" "+text)
		case journal.RequestOpened:
			if b.Request.Call != nil {
				requests[b.Request.ID] = *b.Request.Call
				of(*b.Request.Call).asked = append(of(*b.Request.Call).asked, fmt.Sprintf("%s %s", b.Request.ID, b.Request.Kind))
			}
		case journal.RequestAnswered:
			if p, ok := requests[b.ID]; ok {
				of(p).asked = append(of(p).asked, fmt.Sprintf("%s answered by %s: %s", b.ID, OrPerson(b.By), journal.Text(b.Answer)))
			}
		}
	}
	return out, nil
}

// Pair is a line of a list of what is known: a name and a value.
type Pair struct{ Name, Value string }

// CallDetail is all that is known of a call, for people.
type CallDetail struct {
	Title     string
	Settled   bool
	Outcome   journal.Outcome
	Pairs     []Pair
	Arguments string

	// Of a settled call: a part of what it printed, what is to be decided about it, and how to read
	// all of it.
	Result, Unknown, Whole string
}

// NewCallDetail is what is known of a call with what was decided about it; d may be nil.
func NewCallDetail(row db.CallRow, d *Decided) CallDetail {
	v := CallDetail{
		Settled: row.Result != nil, Outcome: row.Outcome, Pairs: callPairs(row, d), Arguments: recovery.Describe(row.Proposal.Args),
	}
	state := string(row.Phase)
	if r := row.Result; r != nil {
		state = ResultText(*r)
		v.Result = ExcerptOf(r.Content, 30, 30, "", r.Size <= int64(len(r.Content)))
		if row.Unknown() {
			v.Unknown = unknownText(row.ID, CallName(row.Tool, row.Proposal.Args), *r)
		}
		v.Whole = fmt.Sprintf("%s: agent show %s", Bytes(max(r.Size, int64(len(r.Content)))), row.ID)
	}
	v.Title = fmt.Sprintf("%s %s %s: %s", row.Place, row.ID, row.Tool, state)
	return v
}

// callPairs is what is known of a call but its arguments and its output; d may be nil.
func callPairs(row db.CallRow, d *Decided) []Pair {
	if d == nil {
		d = &Decided{}
	}
	list := []Pair{
		{"run", row.Run}, {"effect", effectText(row)}, {"times", timeText(row, d)}, {"print", row.Fingerprint},
		{"allowed", decisionText(row.Proposal)}, {"confined", confinedText(row.Proposal)},
	}
	add := func(name string, values ...string) {
		for _, v := range values {
			list = append(list, Pair{name, v})
		}
	}
	add("void", d.voided...)
	add("asked", d.asked...)
	for _, v := range d.verdicts {
		add("decided", Stamp(v.Time)+" "+VerdictText(v.Verdict, v.Reason))
	}
	add("decision", d.resolved...)
	if d.before != "" {
		add("before", d.before)
	}
	if row.Result != nil && len(row.Result.Data) > 0 {
		add("evidence", string(row.Result.Data))
	}
	return list
}

// decisionText say what the rules and the mode made of a call when it was recorded, and why.
func decisionText(p journal.Proposal) string {
	words := string(p.Decision)
	for _, w := range []string{p.Why, p.Invalid} {
		if w != "" {
			words += ": " + w
		}
	}
	return words
}

func confinedText(p journal.Proposal) string {
	if p.Sandbox == "" {
		return "by nothing that is on record"
	}
	return p.Sandbox
}

// AllowedBy marks a call that nobody was asked about: in brief where it happens, whole in the
// record. What only reads, and what the person wrote, is marked in the record alone: the first
// where its calls are shown one by one.
func AllowedBy(p journal.Proposal, whole bool) string {
	words := briefly(p.Why)
	switch {
	case p.Decision != journal.DecisionAllow || p.Why == "":
		return ""
	case p.Access != "":
		words = p.Why
	case strings.HasPrefix(words, "rule"):
	case !whole && !strings.HasPrefix(words, "mode "), p.Effect == journal.EffectRead && words != "mode yolo":
		return ""
	}
	switch {
	case !whole && strings.Contains(p.Why, "; rule "):
		words += " and others"
	case whole && p.Sandbox != "":
		words = p.Why + "; confined: " + p.Sandbox
	case whole:
		words = p.Why
	}
	return "  [" + words + "]"
}

// briefly is a reason without the rule that it names, which can be read at its place. A rule of the
// command line or of an answer has none.
func briefly(why string) string {
	words, rule, _ := strings.Cut(why, ": ")
	if words == "rule" {
		rule, _, _ = strings.Cut(rule, "; ")
		words += " " + rule
	}
	return words
}

func effectText(row db.CallRow) string {
	text := string(row.Effect)
	if row.Result == nil {
		return text
	}
	if row.Effect != journal.EffectRead { // which has none to take place
		text += ", took place: " + string(row.Applied)
	}
	text += ", result " + string(row.How)
	if row.Resolved != "" {
		text += ", a person says: " + string(row.Resolved)
	}
	return text
}

func timeText(row db.CallRow, d *Decided) string {
	if len(d.attempts) == 0 {
		return "never started"
	}
	text := "started " + Stamp(d.attempts[len(d.attempts)-1])
	if n := len(d.attempts); n > 1 {
		text += fmt.Sprintf(" (attempt %d, the first %s)", n, Stamp(d.attempts[0]))
	}
	if !row.Settled.IsZero() {
		text += ", settled " + Stamp(row.Settled)
	}
	return text
}
