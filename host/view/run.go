package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"agent/db"
	"agent/host"
	"agent/host/model/rewind"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools/process"
)

// Run is a run as ls shows it. Fields are only ever added.
type Run struct {
	ID         string          `json:"id"`
	Thread     string          `json:"thread_id"`
	Status     recovery.Status `json:"status"`
	Cause      journal.Cause   `json:"cause,omitempty"`
	Detail     string          `json:"detail,omitempty"`
	StopReason string          `json:"stop_reason,omitempty"`
	Folder     string          `json:"folder"`
	Name       string          `json:"name,omitempty"`
	Prompt     string          `json:"prompt"` // its beginning
	Model      string          `json:"model"`
	Mode       journal.Mode    `json:"mode"`
	Turns      int             `json:"num_turns"`
	MaxTurns   int             `json:"max_turns"` // 0: no limit
	Calls      int             `json:"num_calls"`
	NumUnknown int             `json:"num_unknown"` // calls whose outcome is unknown, also those that a person left so
	Unknown    []Unknown       `json:"unknown"`     // those on which no person has decided
	Fruitless  int             `json:"fruitless"`   // resumes in a row that brought nothing forward
	Created    time.Time       `json:"created_at"`
	Updated    time.Time       `json:"updated_at"`
	Ended      *time.Time      `json:"ended_at,omitempty"`
	Place      *Place          `json:"place,omitempty"`
	Owner      *Owner          `json:"owner,omitempty"`
	Detached   bool            `json:"detached"` // its last owner is a process of its own, which no terminal ends
	Asked      *Request        `json:"pending_request,omitempty"`
	Damage     string          `json:"damage,omitempty"`   // why what it asks cannot be shown
	Unmarked   bool            `json:"unmarked,omitempty"` // found without its owner; the state folder could not be written
	Next       []string        `json:"next"`
	Kin

	Request *journal.Request `json:"-"` // what Asked shows
}

// Kin is the place of a run among others: in its family, which is a root, which a person started,
// and all runs below it; and in its thread, whose runs may take one another back. Fields are only
// ever added.
type Kin struct {
	Parent      string `json:"parent_run_id,omitempty"`      // the run above it; absent in a root, as are the next two
	Root        string `json:"root_run_id,omitempty"`        // the run at the top
	Role        string `json:"role,omitempty"`               // what it is there for
	NumChildren int    `json:"num_children,omitempty"`       // runs that it has made
	NumEnded    int    `json:"num_children_ended,omitempty"` // of them
	// Calls of runs below a root on whose unknown outcome no person has decided.
	UnknownBelow []Unknown    `json:"unknown_below,omitempty"`
	CostUSD      *json.Number `json:"cost_usd,omitempty"` // of a child in children, where a price is known
	Children     []Run        `json:"children,omitempty"` // where they are asked for: those that it has made, each with its own

	Rewind    *RewindOf  `json:"rewind,omitempty"`     // what it takes back, of a rewind
	TakenBack *TakenBack `json:"taken_back,omitempty"` // by a later run of the thread
}

// RewindOf is the position to which a rewind goes.
type RewindOf struct {
	Run  string `json:"run_id"`
	Turn int    `json:"turn"`
	Only string `json:"only,omitempty"` // files or conversation; "" is both
}

// TakenBack says which run took another one back, and what of it stands.
type TakenBack struct {
	By   string `json:"by_run_id"`
	Turn int    `json:"turn"`           // the last one that stands
	Only string `json:"only,omitempty"` // files or conversation: that alone was taken back
}

// rewindText says in a few words what a run takes back, and what took it back.
func (r Run) rewindText() (text string) {
	if is := r.Rewind; is != nil && is.Turn == 0 {
		text = ", undo of " + is.Run
	} else if is != nil {
		text = fmt.Sprintf(", rewind to %s@%d", is.Run, is.Turn)
	}
	t := r.TakenBack
	if t == nil {
		return text
	}
	text += ", "
	if t.Only != "" {
		text += t.Only + " "
	}
	text += "taken back "
	if t.Turn > 0 {
		text += fmt.Sprintf("to @%d ", t.Turn)
	}
	return text + "by " + t.By
}

// Place is the call at which a run stands.
type Place struct {
	Turn  int           `json:"turn"`
	Index int           `json:"index"`
	Call  string        `json:"call_id"`
	Tool  string        `json:"tool"`
	Phase journal.Phase `json:"phase"`
}

// Owner is the process that drives a run.
type Owner struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
}

// Runs is what ls prints with --json. Fields are only ever added.
type Runs struct {
	Version int    `json:"version"`
	Runs    []Run  `json:"runs"`
	Older   int    `json:"older"`            // runs that are not listed; ls --all lists them
	Behind  string `json:"behind,omitempty"` // how the database is older than its folder, which knows of more

	WithOlder string `json:"-"` // the command that lists those too
}

// NewRun shows a row of runs as it is now. Who drives the run, its undecided calls and what to do
// next are for the caller to add.
func NewRun(r db.RunRow, now time.Time) Run {
	v := Run{
		ID: r.ID, Thread: r.Thread, Status: r.Status, Cause: r.Cause, Detail: r.Detail, StopReason: r.StopReason,
		Folder: r.Folder, Name: r.Name, Prompt: r.Prompt, Model: r.Model, Mode: r.Mode, Turns: r.Turns, MaxTurns: r.MaxTurns,
		Calls: r.Calls, NumUnknown: r.Unknown, Unknown: []Unknown{}, Fruitless: r.Fruitless, Created: r.Created, Updated: r.Updated,
		Detached: r.Detached, Kin: Kin{Parent: r.Parent, Root: r.Root, Role: r.Role},
	}
	if !r.Ended.IsZero() {
		v.Ended = &r.Ended
	}
	if p := r.Open; p != nil {
		v.Place = &Place{Turn: p.Turn, Index: p.Index, Call: p.ID, Tool: p.Tool, Phase: p.Phase}
	}
	switch p := r.Pending; {
	case p == nil:
	case p.Damaged != nil:
		v.Damage = p.Damaged.Error()
	default:
		asked := NewRequest(*p, now)
		v.Request, v.Asked = &p.Request, &asked
	}
	return v
}

// Continues says whether the run failed and its thread can go on from there.
func (r Run) Continues(newest bool) bool {
	return newest && r.Status == recovery.StatusFailed && r.Model != rewind.Name // what was not taken back is asked for anew
}

// ContinueWith is the command that goes on in the thread of a run that failed.
func (r Run) ContinueWith() string { return "agent run --thread " + r.Thread + " continue" }

// Expired says whether the open question can no longer be answered. Who drives the run closes it;
// else a resume does.
func (r Run) Expired(now time.Time) bool {
	return r.Request != nil && r.Owner == nil && r.Request.Expires != nil && !now.Before(*r.Request.Expires)
}

// Next are the commands that bring a run forward, or show why it went no further, and then those
// that decide on calls of unknown outcome. Never nil.
func Next(v Run, newest bool, now time.Time) []string {
	next := append([]string{}, forward(v, newest, now)...)
	return append(append(next, DecideCommands(v.Unknown)...), DecideCommands(v.UnknownBelow)...)
}

func forward(v Run, newest bool, now time.Time) []string {
	switch {
	case v.Expired(now):
		return []string{"agent resume " + v.ID}
	case v.Request != nil:
		return AnswerCommands(v.Request)
	case v.Cause == journal.CauseCorrupt, v.Damage != "":
		return []string{"agent doctor"}
	case v.Cause == journal.CauseMoved && strings.Contains(v.Detail, "host"): // as its witness says
		return []string{"agent show " + v.ID}
	case v.Cause == journal.CauseMoved:
		return []string{"agent resume --reclaim " + v.ID}
	case v.Owner != nil:
		if v.Detached {
			return []string{"agent attach " + v.ID}
		}
		return []string{"agent show --follow " + v.ID}
	case v.Continues(newest):
		return []string{v.ContinueWith()}
	case v.Status == recovery.StatusFailed:
		return []string{"agent show " + v.ID}
	case v.Status.Terminal():
		return []string{}
	case v.Parked():
		return []string{"agent pending"}
	}
	return []string{"agent resume " + v.ID}
}

// Parked says whether the run has nothing to do but to wait for people who were asked below it.
func (r Run) Parked() bool {
	return r.Status == recovery.StatusWaiting && r.Request == nil && r.Damage == "" && r.NumChildren > r.NumEnded
}

// StatusText is the status with what explains it.
func (r Run) StatusText(now time.Time) string {
	text := string(r.Status)
	switch {
	case r.Cause != "":
		text += " (" + string(r.Cause) + ")"
	case r.Owner != nil:
		text += " (" + process.Identity{PID: r.Owner.PID, Host: r.Owner.Host}.String() + ")"
	case r.Expired(now):
		text += " (" + string(r.Request.Kind) + ", expired)"
	case r.Request != nil:
		text += " (" + string(r.Request.Kind) + ")"
	case r.Parked():
		text += " (for runs below)"
	case r.Damage != "":
		text += " (its question is damaged)"
	}
	if r.Status == recovery.StatusInterrupted && r.Fruitless >= host.MaxFruitless {
		text += ", left alone"
	}
	if n := len(r.Unknown); n > 0 {
		text += fmt.Sprintf(", %d unknown", n)
	}
	if n := len(r.UnknownBelow); n > 0 {
		text += fmt.Sprintf(", %d unknown below", n)
	}
	if n := r.NumUnknown - len(r.Unknown); n > 0 {
		text += fmt.Sprintf(", %d left unknown", n)
	}
	return text + r.rewindText()
}

// DidText counts what the run did. A flow does all through runs of its own.
func (r Run) DidText() string {
	if r.Turns == 0 && r.NumChildren > 0 {
		return Count(r.NumChildren, "child run")
	}
	return Count(r.Turns, "turn") + ", " + Count(r.Calls, "call")
}

// PlaceText says how far the run came.
func (r Run) PlaceText() string {
	if r.NumChildren > 0 && !r.Status.Terminal() {
		return fmt.Sprintf("%d of %s done", r.NumEnded, Count(r.NumChildren, "child run"))
	}
	if p := r.Place; p != nil {
		return fmt.Sprintf("call %d.%d %s %s", p.Turn, p.Index, p.Tool, p.Phase)
	}
	if r.Status.Terminal() {
		return r.DidText()
	}
	if r.Turns == 0 {
		return "before turn 1"
	}
	return fmt.Sprintf("after turn %d", r.Turns)
}
