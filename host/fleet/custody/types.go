package custody

import "time"

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
	Away   Duration `json:"away,omitempty"`  // how long a silent host keeps it
	Files  string   `json:"files,omitempty"` // folder of the workspace that every host has; "" for one of its own
}

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

// Drive is the input of the activity that has a host drive a run.
type Drive struct {
	Run  Run  `json:"run"` // whole, since any host may be the first one to hear of it
	Step Step `json:"step"`
}

// Report is how far a run came on a host, and why the host stopped driving it.
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

// Where says where a run is: the answer of the query "where", and what lists are made of.
type Where struct {
	Run     string    `json:"run"`
	Status  string    `json:"status"` // queued, running, waiting, unreachable, moving, parked, completed, failed, cancelled
	Host    string    `json:"host,omitempty"`
	Since   time.Time `json:"since"`
	Request *Request  `json:"request,omitempty"`
	Reason  string    `json:"reason,omitempty"` // of a parked run, or what a queued one waits for
	Next    string    `json:"next,omitempty"`   // the command that a person may want
	Report  *Report   `json:"report,omitempty"` // the last one
}

// Offer is the input of the activity with which a host takes a run: it is taken from the pool's
// queue only by a host with a free slot.
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
// claim, and with Cancel the end, to the log, so that the host can start nothing even if it returns.
type Fence struct {
	Run    string `json:"run"`
	Cancel bool   `json:"cancel,omitempty"`
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
}
