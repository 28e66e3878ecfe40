package flow

import (
	"agent/recovery/journal"
	"time"
)

// World is what a decision needs to know beside the facts of the flow: how its children stand. The
// same facts and the same world give the same decision.
type World struct {
	Children map[string]Child // by run; one that is not listed was never created
	Spent    time.Duration    // in which the flow was going, up to now

	// Repeats are questions about work that is about to begin and that an earlier flow of the
	// thread did, by the name of the instance: see AskRepeat.
	Repeats map[string]*journal.Request
}

// Child is the run that carries out a part of a phase.
type Child struct {
	State ChildState
	Quiet bool                // so far it did nothing but read and write its own outputs
	Did   []journal.PhaseCall // what else it did so far
	Usage journal.Usage
	Cost  int64 // in millionths of a US dollar
}

// ChildState is how a child run stands.
type ChildState string

// The states of a child.
const (
	ChildAbsent  ChildState = ""        // recorded, and never created
	ChildIdle    ChildState = "idle"    // nobody drives it, and it can go on
	ChildRunning ChildState = "running" // this process drives it
	ChildWaiting ChildState = "waiting" // for a person
	ChildEnded   ChildState = "ended"
)

// Action is what a flow needs next. The host performs it, records what happened and asks again.
type Action interface{ action() }

// Done says that the flow is finished.
type Done struct{}

// Claim says that nobody drives the flow: it must be claimed first.
type Claim struct{}

// Record is facts that follow from what is there. The host fills in the id and the time of a
// question.
type Record struct{ Facts []journal.Body }

// AskPerson is a question that stands. Children go on meanwhile.
type AskPerson struct {
	Request *journal.Request
	Drive   []string // runs of children that can go on
}

// Check is a look at all artifacts that count: the host looks and records what [State.Cascade] says
// of it.
type Check struct{ Artifacts []journal.Artifact }

// Restore is artifacts that the host puts back from their copies.
type Restore struct{ Files []Repair }

// Repair is one artifact that is put back. Where its copy turns out to be none, the host records a
// look that says so: see journal.ArtifactCheck.
type Repair struct {
	Artifact journal.Artifact // the version that is put back
	Over     string           // SHA-256 of what may be replaced; "": what is no version of a person's
}

// EndChildren is children that are to be stopped: what they run is ended and their calls are
// settled.
type EndChildren struct {
	Runs   []string
	Reason string
}

// Collect is children that ended, or were never created and are not wanted any more: the host takes
// their outputs and records how the part ended.
type Collect struct{ Runs []string }

// List is a list of items that is to be read.
type List struct {
	Phase    *Phase
	Artifact journal.Artifact // no SHA-256 where it was not looked at before
}

// Start is parts of phases that may begin: for each the host looks at its inputs and records what
// [State.Begin] says. All that begin may be one commit.
type Start struct{ Parts []Part }

// Part is a part of a phase that may begin.
type Part struct {
	Instance *Instance
	Part     journal.PhasePart
	Attempt  int
	Why      journal.PhaseWhy
	Reason   string
	Text     string // what a person wants different

	In        []journal.Artifact // inputs as recorded; no SHA-256 where one was not looked at before
	Missing   []string
	Continues string
	Mode      journal.Mode
	Limits    journal.Limits
}

// Await is children that are under way or can go on: each is created, attached or driven, until one
// ends or waits for a person.
type Await struct {
	Runs   []string
	Limits map[string]journal.Limits // tighter ones, for children that go on after others took of what was theirs
}

// Park is children of which all wait for a person, with nothing else to do.
type Park struct{ Runs []string }

// Complete is the end of a flow whose phases are all done.
type Complete struct{ Run string } // whose answer is the flow's; "": there is none

func (Done) action()        {}
func (Claim) action()       {}
func (Record) action()      {}
func (AskPerson) action()   {}
func (Check) action()       {}
func (Restore) action()     {}
func (EndChildren) action() {}
func (Collect) action()     {}
func (List) action()        {}
func (Start) action()       {}
func (Await) action()       {}
func (Park) action()        {}
func (Complete) action()    {}
