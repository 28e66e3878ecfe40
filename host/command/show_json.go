package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"agent/db"
	"agent/recovery"
)

// showRunJSON is what show prints with --json: everything that is on record. Fields are only ever added.
type showRunJSON struct {
	Version int          `json:"version"`
	Run     runJSON      `json:"run"`
	By      string       `json:"started_by,omitempty"`
	Setup   *setupJSON   `json:"setup"` // null for a model without a provider, such as runbook
	Limits  limitsJSON   `json:"limits"`
	Usage   *usageJSON   `json:"usage"`    // null for a model without a provider
	CostUSD *json.Number `json:"cost_usd"` // null where no price is known
	Calls   []callJSON   `json:"calls"`
	Facts   []factJSON   `json:"facts"`
	Kept    *requestJSON `json:"kept_answer,omitempty"` // the end of its question, which the run has not taken yet

	now recovery.RunCreated // what the run began with, as claims changed it since
}

// factJSON is one fact of the journal; body is as it is stored.
type factJSON struct {
	Seq  int64         `json:"seq"`
	Turn int           `json:"turn"`
	Time time.Time     `json:"recorded_at"`
	Kind recovery.Kind `json:"kind"`
	Body recovery.Body `json:"body"`
}

// Over budget: at most 27 fields: one object of --json, which only ever grows
type callJSON struct {
	ID          string            `json:"id"`
	Run         string            `json:"run_id"`
	Turn        int               `json:"turn"`
	Index       int               `json:"index"`
	Attempt     int               `json:"attempt"`
	Tool        string            `json:"tool"`
	Effect      recovery.Effect   `json:"effect"`
	Fingerprint string            `json:"fingerprint"`
	Arguments   json.RawMessage   `json:"arguments"`
	Decision    recovery.Decision `json:"decision"`
	Why         string            `json:"why,omitempty"`     // what decided so: a rule with its place, the mode
	Sandbox     string            `json:"sandbox,omitempty"` // what the operating system keeps the call to
	Phase       recovery.Phase    `json:"phase"`
	Outcome     recovery.Outcome  `json:"outcome,omitempty"`
	Applied     recovery.Applied  `json:"applied,omitempty"`
	How         recovery.How      `json:"how,omitempty"`
	Resolved    recovery.Word     `json:"resolved,omitempty"`
	Started     *time.Time        `json:"started_at,omitempty"`
	Settled     *time.Time        `json:"settled_at,omitempty"`
	DurationMS  int64             `json:"duration_ms,omitempty"`
	Content     string            `json:"content,omitempty"` // what the model sees
	Size        int64             `json:"output_bytes,omitempty"`
	Evidence    json.RawMessage   `json:"evidence,omitempty"`
	Alive       []string          `json:"alive,omitempty"`    // what of it may still be running
	PutBack     []string          `json:"put_back,omitempty"` // what it planted for others to run, and what became of it
	Verdicts    []verdictJSON     `json:"verdicts"`
	Output      *string           `json:"output,omitempty"` // all of it; only where one call is shown
}

// verdictJSON is what recovery decided about a call at one time.
type verdictJSON struct {
	Verdict recovery.Verdict `json:"verdict"`
	Reason  string           `json:"reason"`
	Time    time.Time        `json:"decided_at"`
}

func callView(row db.CallRow, d *decided) callJSON {
	v := callJSON{
		ID: row.ID, Run: row.Run, Turn: row.Turn, Index: row.Index, Attempt: row.Attempt, Tool: row.Tool, Effect: row.Effect,
		Fingerprint: row.Fingerprint, Arguments: row.Proposal.Args, Decision: row.Proposal.Decision, Why: row.Proposal.Why, Sandbox: row.Proposal.Sandbox, Phase: row.Phase,
		Outcome: row.Outcome, Applied: row.Applied, How: row.How, Resolved: row.Resolved, Verdicts: []verdictJSON{},
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

func (s *session) showJSON(ctx context.Context, run string) error {
	v := showRunJSON{Version: 1, Calls: []callJSON{}, Facts: []factJSON{}}
	var err error
	if v.Run, err = s.runNow(ctx, run); err != nil {
		return err
	}
	rows, err := s.Store.Calls(ctx, run)
	if err != nil {
		return err
	}
	found, err := s.decisions(ctx, run)
	if err != nil {
		return err
	}
	for _, row := range rows {
		v.Calls = append(v.Calls, callView(row, found[row.Place.String()]))
	}
	for e, err := range s.Store.Load(ctx, run, 0) {
		if err != nil {
			return err
		}
		v.about(e.Body)
		v.Facts = append(v.Facts, factJSON{e.Seq, e.Turn, e.Time, e.Body.Kind(), e.Body})
	}
	if b, ok := v.created(); ok {
		v.By = b.By
		if used, ok := s.used(ctx, b); ok {
			u := used.view()
			v.Usage, v.CostUSD = &u, used.dollars()
		}
	}
	kept, err := s.Store.Answered(ctx, run)
	if err != nil {
		return err
	}
	if kept != nil {
		r := requestView(*kept)
		v.Kept = &r
	}
	s.app.printJSON(v)
	return nil
}

// showCallJSON prints one call with its whole output. Bytes that are not UTF-8 become U+FFFD.
func (s *session) showCallJSON(ctx context.Context, row db.CallRow, d *decided) error {
	v := struct {
		Version int      `json:"version"`
		Call    callJSON `json:"call"`
	}{1, callView(row, d)}
	if row.Result != nil {
		r, size, err := s.Store.Output(ctx, row.ID)
		if err != nil {
			return err
		}
		b := make([]byte, size)
		if n, err := r.ReadAt(b, 0); int64(n) < size {
			return fmt.Errorf("read the output of call %s: %v", row.ID, err)
		}
		text := strings.ToValidUTF8(string(b), "\uFFFD")
		v.Call.Output = &text
	}
	s.app.printJSON(v)
	return nil
}
