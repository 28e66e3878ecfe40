package custody

import (
	"slices"
	"time"
)

// Run is what a fleet is asked to carry out. It never holds the prompt in the clear: the engine
// keeps it sealed by the fleet's codec.
type Run struct {
	ID     string   `json:"id"`
	Key    string   `json:"key,omitempty"` // the start key
	By     string   `json:"by,omitempty"`  // who asked for it
	Labels []string `json:"labels,omitempty"`
	Args   []string `json:"args"`            // of agent run, without what the worker adds
	Prompt string   `json:"prompt"`          // its text, or the text of the file that was named
	File   string   `json:"file,omitempty"`  // the file's name
	Git    string   `json:"git,omitempty"`   // URL@COMMIT of the workspace; "" for an empty folder
	Away   Duration `json:"away,omitempty"`  // how long a silent host keeps it; 0: DefaultAway, less: not at all
	Files  string   `json:"files,omitempty"` // folder of the workspace that every host has; "" for one of its own
	Sent   []File   `json:"sent,omitempty"`  // beside the prompt; the arguments say what for
	Was    *State   `json:"was,omitempty"`   // set by the workflow alone: what it knew before its history was begun anew
}

// NoLog stands for the URL of a log that is switched off.
const NoLog = "none"

// Reads reports whether the run changes nothing: agent refuses whatever does in this mode.
func (r Run) Reads() bool { return slices.Contains(r.Args, "--mode=plan") }

// Duration is a span of time in nanoseconds, as Go writes it.
type Duration = time.Duration

// Step is what a host is asked to do with a run, beside looking where it stands: at most one of its
// members is set.
type Step struct {
	Start  *Run    `json:"start,omitempty"` // carry it out, unless it is there already
	Resume bool    `json:"resume,omitempty"`
	Answer *Answer `json:"answer,omitempty"`
	Hand   bool    `json:"hand,omitempty"` // stop at the next settled call, and ship everything
	Cancel bool    `json:"cancel,omitempty"`
}

// Answer is what a person said to a question.
type Answer struct {
	Request string    `json:"request"` // p-…
	Text    string    `json:"text"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

// Request is an open question as the engine knows it.
type Request struct {
	ID      string     `json:"id"`
	Kind    string     `json:"kind"`
	Text    string     `json:"text"`
	Choices []string   `json:"choices,omitempty"`
	Expires *time.Time `json:"expires,omitempty"`
	Place   string     `json:"place,omitempty"` // such as 2.0 confirm_action
}

// Drive is the input of the activity that has a host drive a run. It looks where the run stands
// before it does anything, since the same Drive may come twice, and since the engine loses some.
// A Drive that is cancelled lets go of the run and leaves its driver alone: the next one, which may
// come before the cancelled one has noticed, says what is to be done.
type Drive struct {
	Run  Run  `json:"run"` // whole but for its files, since any host may be the first one to hear of it
	Step Step `json:"step"`
	// Logged says that the log was heard to have facts of the run.
	Logged bool `json:"logged,omitempty"`
}

// Report is how far a run came on a host, and why the host stopped driving it. With the cause
// CauseRecord the run has begun, and its record is nowhere to be found.
type Report struct {
	Status  string   `json:"status"`            // of the run: completed, failed, cancelled, waiting, interrupted
	Cause   string   `json:"cause,omitempty"`   // of an interruption: log, model, store, crash, reboot, shutdown, moved …
	Detail  string   `json:"detail,omitempty"`  // in words
	Request *Request `json:"request,omitempty"` // the open question of a run that waits
	Exit    int      `json:"exit"`              // the exit code that agent run would have had
	Text    string   `json:"text,omitempty"`    // the answer, or why it ended
	Facts   int64    `json:"facts"`             // on record
	Turn    int      `json:"turn"`
	Place   int64    `json:"place"`             // of the log
	Unknown []string `json:"unknown,omitempty"` // calls whose outcome nobody knows, each in a few words
	Handed  bool     `json:"handed,omitempty"`  // it stopped for a move, with everything in the log
	Refused string   `json:"refused,omitempty"` // this host cannot have it: why; another may
}

// Progress is what a heartbeat says of a run that is driven.
type Progress struct {
	Facts int64  `json:"facts"`
	Turn  int    `json:"turn"`
	Call  string `json:"call,omitempty"`
	Log   int64  `json:"log"` // the last place
	Later string `json:"later,omitempty"`
}

// Outcome is how a run ended in the fleet.
type Outcome struct {
	Report
	Host string `json:"host"`
}

// Where says where a run is: the answer of the query "where", and, sealed in the memo of the
// workflow, what lists are made of.
type Where struct {
	Run     string    `json:"run"`
	Status  string    `json:"status"` // queued, running, waiting, unreachable, moving, parked, completed, failed, cancelled
	Host    string    `json:"host,omitempty"`
	Since   time.Time `json:"since"`
	Request *Request  `json:"request,omitempty"`
	Reason  string    `json:"reason,omitempty"`  // of a parked run, or what a queued one waits for
	Next    string    `json:"next,omitempty"`    // the command that a person may want
	Report  *Report   `json:"report,omitempty"`  // the last one
	By      string    `json:"by,omitempty"`      // who asked for it
	Labels  []string  `json:"labels,omitempty"`  // that it asks for
	Refused int       `json:"refused,omitempty"` // how many answers its questions did not take; part of an update's id
}

// Offer is the input of the activity with which a host takes a run: it is taken from the pool's
// queue only by a host with a free slot. A move to a host comes by the host's own queue. A host
// that cannot have it, or that is in Not, answers with an error, and the offer goes on.
type Offer struct {
	Run    string   `json:"run"`
	Labels []string `json:"labels,omitempty"`
	Not    []string `json:"not,omitempty"` // hosts that lost it
}

// Taken is the answer to an offer.
type Taken struct {
	Host  string `json:"host"`
	Queue string `json:"queue"` // the host's own
}

// Fence is the input of the activity that ends the custody of a host that is gone: it appends a
// claim, and with Cancel the end, to the log, so that the host can start nothing even if it
// returns. It comes by [CustodyQueue], to any worker, whether it has a free slot or not, and
// answers with nothing, or with a [Report] of what the log says.
type Fence struct {
	Run    string `json:"run"`
	Cancel bool   `json:"cancel,omitempty"`
	Reads  bool   `json:"reads,omitempty"` // the run changes nothing
	By     string `json:"by,omitempty"`
}

// The names of the activities, the queues and the updates.
const (
	ActivityOffer = "Offer"
	ActivityDrive = "Drive"
	ActivityFence = "Fence"

	QueryWhere   = "where"
	UpdateAnswer = "answer" // Answer -> Answer, the first one
	UpdateMove   = "move"   // Move -> Where
	UpdateResume = "resume" // nothing -> Where

	// CustodyQueue is where every worker of a fleet carries out the workflows and the fences.
	CustodyQueue = "custody"
	// RunWorkflow is before the id of a run in the id of its workflow.
	RunWorkflow = "run/"

	// CauseRecord is the cause of a Report on a run that has begun and whose record is lost.
	CauseRecord = "record"
	// CauseLost is the cause of a Report on a run whose host lost its state folder, or took the run
	// in from the log and has not claimed it: any host may go on from the log.
	CauseLost = "lost"
	// ErrorStopping is the type of the error with which a worker that stops lets go of a run: the
	// run is asked for again at the same host, which is not taken for silent.
	ErrorStopping = "stopping"

	// MemoWhere and MemoDigest are in the memo of a workflow, sealed as everything is.
	MemoWhere  = "where"
	MemoDigest = "digest"

	// PoolQueue is before the labels, sorted and joined with commas, of what a run asks for; a
	// worker listens on the queue of each subset of its labels.
	PoolQueue = "pool/"
	HostQueue = "host/"
)

// Move asks for a run to go on elsewhere.
type Move struct {
	To   string `json:"to,omitempty"`   // a host; "" for any other
	Gone bool   `json:"gone,omitempty"` // the host is gone: do not wait for it
	By   string `json:"by"`
	// Shown is set by clients since where a waiting run is to go is published; histories of before
	// have it unset, and replay as they were.
	Shown bool `json:"shown,omitempty"`
}
