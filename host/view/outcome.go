package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/host"
	"agent/recovery"
	"agent/recovery/journal"
)

// BesidesText is what a run's last line says beside how it ended.
func BesidesText(o host.Outcome) string {
	words := ""
	if n := len(o.Undecided); n > 0 && o.Status != recovery.StatusCancelled { // of one that was cancelled the lines below say it
		words += fmt.Sprintf(", and the outcome of %s is unknown", Count(n, "call"))
	}
	if n := len(o.Denied); n == 1 {
		words += ", and 1 call was refused"
	} else if n > 1 {
		words += fmt.Sprintf(", and %d calls were refused", n)
	}
	return words
}

// TallyText is what a run took, and those below it.
func TallyText(o host.Outcome) string {
	did := Count(o.Turns, "turn") + ", " + Count(o.Calls, "call")
	if b := o.Below; b.Runs > 0 {
		below := fmt.Sprintf("%s below it (%s, %s)", Count(b.Runs, "run"), Count(b.Turns, "turn"), Count(b.Calls, "call"))
		did = strings.TrimPrefix(did+", "+below, "0 turns, 0 calls, ")
	}
	return fmt.Sprintf("%s, driven for %s%s", did, Duration(o.Took), After(Spent(o).Text()))
}

// CarryOut is the command that has a plan carried out.
func CarryOut(o host.Outcome) string {
	return "agent run --thread " + o.Thread + ` --mode ask "carry out the plan"`
}

// LeftText is the last line about a run that goes on without this process.
func LeftText(o host.Outcome) string {
	if o.Owner.PID > 0 {
		return fmt.Sprintf("run %s is driven by %s; watch it: agent show --follow %s", o.Run, o.Owner, o.Run)
	}
	return fmt.Sprintf("run %s was %s when this process left it; how far it came: agent show %s", o.Run, o.Status, o.Run)
}

// ExecutesText says what a question about a call of unknown outcome may lead to.
func ExecutesText(r *journal.Request) string {
	if r.Kind == journal.RequestTwin && slices.Contains(r.Choices, string(journal.WordRun)) {
		return "; only the answer run executes it once more"
	}
	return "; no answer to this question executes it again"
}

// Outcome is what run, resume and answer print with --json. Fields are only ever added.
type Outcome struct {
	Version    int             `json:"version"`
	RunID      string          `json:"run_id"`
	ThreadID   string          `json:"thread_id,omitempty"`
	Reused     bool            `json:"reused"`
	Submitted  bool            `json:"submitted"`
	Status     recovery.Status `json:"status"`
	ExitCode   int             `json:"exit_code"`
	Result     string          `json:"result"`
	Cause      journal.Cause   `json:"cause,omitempty"`
	Detail     string          `json:"detail,omitempty"`
	Turns      int             `json:"num_turns"`
	Calls      int             `json:"num_calls"`
	Below      *Below          `json:"below,omitempty"` // of a run that had others carry something out
	DurationMS int64           `json:"duration_ms"`
	Usage      Usage           `json:"usage"`
	CostUSD    *json.Number    `json:"cost_usd"` // null where no price is known
	Request    *Request        `json:"pending_request,omitempty"`
	Unknown    []Unknown       `json:"unknown"` // calls on whose unknown outcome no person has decided
	Denied     []Denied        `json:"denied"`  // calls that a rule, the mode or a person refused
	Next       []string        `json:"next"`
	LastWords  string          `json:"last_words,omitempty"` // of the model, when the run failed; result is the reason
	Fault      journal.Fault   `json:"fault,omitempty"`      // of the model, when that interrupted the run
	Remedy     string          `json:"remedy,omitempty"`     // what fixes it
	Owner      *Owner          `json:"owner,omitempty"`      // the process that drives the run, where the command did not
	Files      *FileCounts     `json:"files,omitempty"`      // that the run and those below it changed
}

// Below is what runs below another did.
type Below struct {
	Runs  int `json:"num_runs"`
	Turns int `json:"num_turns"`
	Calls int `json:"num_calls"`
}

// NewOutcome is what the outcome itself says; the record knows more of it.
func NewOutcome(o host.Outcome, code int, now time.Time) Outcome {
	v := Outcome{
		Version: 1, RunID: o.Run, ThreadID: o.Thread, Reused: o.Reused, Submitted: o.Submitted, Status: o.Status, ExitCode: code,
		Result: o.Text, Cause: o.Cause, Detail: o.Detail, Turns: o.Turns, Calls: o.Calls,
		DurationMS: o.Took.Milliseconds(), Usage: Spent(o).View(), CostUSD: Spent(o).Dollars(), Next: []string{},
		Unknown: NewUnknowns(o.Undecided), Denied: NewDenied(o.Denied),
	}
	if o.Below.Runs > 0 {
		b := Below(o.Below)
		v.Below = &b
	}
	if o.Owner.PID > 0 {
		v.Owner = &Owner{PID: o.Owner.PID, Host: o.Owner.Host}
	}
	switch {
	case o.Request != nil:
		asked := NewRequest(openRow(o), now)
		v.Request, v.Next = &asked, AnswerCommands(o.Request)
	case o.Owner.PID > 0:
		for _, f := range driven(o.Run) {
			v.Next = append(v.Next, f.Command)
		}
	case code == ExitInterrupted:
		v.Next = []string{"agent resume " + o.Run}
	case o.Plan:
		v.Next = []string{CarryOut(o)}
	}
	return v
}
