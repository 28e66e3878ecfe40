package journal

import (
	"encoding/json"
	"time"
)

// The facts of a flow. A flow's own journal holds them, and nothing of what its phases do: each
// part of a phase is carried out by a run of its own, whose journal is the record of that.
const (
	KindPhaseStarted     Kind = "phase.started"
	KindPhaseEnded       Kind = "phase.ended"
	KindArtifactsChecked Kind = "artifacts.checked"
	KindArtifactRestored Kind = "artifact.restored"
	KindPhaseRewound     Kind = "phase.rewound"
)

// FlowRun is what the first fact of a run says where it is a flow, or carries out a part of one.
type FlowRun struct {
	Flow   json.RawMessage `json:"flow,omitempty"`   // definition of the flow that the run is, as package recovery/flow reads it
	Task   string          `json:"task,omitempty"`   // what the flow is to be carried out for
	Vars   []string        `json:"vars,omitempty"`   // what commands get beside Environ, each "NAME=value"
	Repeat bool            `json:"repeat,omitempty"` // the author: what it does may be done again where nobody knows the outcome
}

// Artifact is a version of a file that a flow keeps an eye on.
type Artifact struct {
	Path string `json:"path"`           // below the workspace, with slashes; dir/ is all files below
	SHA  string `json:"sha,omitempty"`  // SHA-256 of its bytes, or of the manifest of a folder, hex; "": nothing is there
	Size int64  `json:"size,omitempty"` // bytes
	Copy string `json:"copy,omitempty"` // under which the store keeps the bytes; "": it has no copy
	Call string `json:"call,omitempty"` // id of the call that wrote it, where one is known

	Mode  uint32 `json:"mode,omitempty"`  // permission bits
	Stamp string `json:"stamp,omitempty"` // of its inode and times: another one was written since, if only with the same bytes
}

// PhaseItem is the item that a branch of an each phase is for.
type PhaseItem struct {
	Name   string `json:"name"`
	Digest string `json:"digest"` // SHA-256 of the item as canonical JSON, hex
}

// PhasePart says which part of a phase a run carries out.
type PhasePart string

// The parts of a phase.
const (
	PartWork   PhasePart = "work"
	PartCheck  PhasePart = "check"
	PartSkipIf PhasePart = "skip-if"
	PartList   PhasePart = "list" // the items of an each phase are read; no run does that
)

// PhaseWhy says why a part of a phase begins.
type PhaseWhy string

// The reasons to begin.
const (
	WhyFirst  PhaseWhy = "first"
	WhyTry    PhaseWhy = "try"    // the attempt before did not hold
	WhyRedo   PhaseWhy = "redo"   // what it made, or was made from, is not there any more as recorded
	WhyRound  PhaseWhy = "round"  // a later phase went back, as the file says
	WhyPerson PhaseWhy = "person" // a person decided it
)

// FlowPhaseStarted says that a part of a phase may begin: the run that carries it out is created
// after this, under the id that is recorded here.
type FlowPhaseStarted struct {
	Phase     string     `json:"phase"`
	Item      *PhaseItem `json:"item,omitempty"`
	Attempt   int        `json:"attempt"` // of the phase, or of the item's branch, from 1
	Part      PhasePart  `json:"part"`
	Run       string     `json:"run"` // id of the child run
	Why       PhaseWhy   `json:"why"`
	Reason    string     `json:"reason,omitempty"`
	Text      string     `json:"text,omitempty"`      // what a person wants different
	Continues string     `json:"continues,omitempty"` // the run in whose thread it goes on; "": in a thread of its own
	Mode      Mode       `json:"mode,omitempty"`
	In        []Artifact `json:"in,omitempty"`      // its inputs, as they were right before
	Before    []Artifact `json:"before,omitempty"`  // what lay where it writes, right before
	Missing   []string   `json:"missing,omitempty"` // outputs of phases before it that it goes without
	Limits    Limits     `json:"limits,omitzero"`
}

// PhaseOutcome says how a part of a phase ended.
type PhaseOutcome string

// The outcomes.
const (
	PhaseDone      PhaseOutcome = "done" // of skip-if: the phase is not skipped
	PhaseFailed    PhaseOutcome = "failed"
	PhaseSkipped   PhaseOutcome = "skipped"
	PhaseCancelled PhaseOutcome = "cancelled"
	PhaseReused    PhaseOutcome = "reused" // an earlier flow of the thread made what it would make
)

// FlowPhaseEnded says what came of a part of a phase. Its outputs are durable, validated and copied
// before this is recorded.
type FlowPhaseEnded struct {
	Phase     string       `json:"phase"`
	Item      *PhaseItem   `json:"item,omitempty"`
	Attempt   int          `json:"attempt"`
	Part      PhasePart    `json:"part"`
	Run       string       `json:"run,omitempty"`    // "" where none began
	Digest    string       `json:"digest,omitempty"` // of the last fact of that run
	Outcome   PhaseOutcome `json:"outcome"`
	Reason    string       `json:"reason,omitempty"`
	Out       []Artifact   `json:"out,omitempty"`
	In        []Artifact   `json:"in,omitempty"`        // its inputs, as they are now
	Unchecked bool         `json:"unchecked,omitempty"` // reused work whose checks are still to run
	Failed    bool         `json:"failed,omitempty"`    // its verdict on the work is no: the line that its file asks for is not there
	Items     []PhaseItem  `json:"items,omitempty"`     // of a list

	Usage    Usage         `json:"usage,omitzero"`
	Cost     int64         `json:"cost,omitempty"` // in millionths of a US dollar
	Turns    int           `json:"turns,omitempty"`
	Took     time.Duration `json:"took,omitempty"`     // in nanoseconds, waiting for a person left out
	Quiet    bool          `json:"quiet,omitempty"`    // it did nothing but read and write its own outputs
	Did      []PhaseCall   `json:"did,omitempty"`      // what else it did, where it was not quiet
	Unknown  []string      `json:"unknown,omitempty"`  // ids of calls whose outcome is unknown
	Unpriced bool          `json:"unpriced,omitempty"` // a part of the cost is not known
}

// PhaseCall is what a phase did beside writing its outputs, in one line for a person.
type PhaseCall struct {
	Tool    string  `json:"tool"`
	Text    string  `json:"text"`
	Times   int     `json:"times,omitempty"`
	Outcome Outcome `json:"outcome"`
}

// ArtifactState says how an artifact compares with the record.
type ArtifactState string

// The states of an artifact.
const (
	ArtifactIntact     ArtifactState = "intact"
	ArtifactMissing    ArtifactState = "missing"
	ArtifactEmpty      ArtifactState = "empty"
	ArtifactCut        ArtifactState = "cut" // a true prefix of what is recorded
	ArtifactEdited     ArtifactState = "edited"
	ArtifactUnreadable ArtifactState = "unreadable"
)

// ArtifactVerdict says what becomes of an artifact.
type ArtifactVerdict string

// The verdicts.
const (
	ArtifactKeep    ArtifactVerdict = "keep"
	ArtifactRestore ArtifactVerdict = "restore" // it is put back from its copy
	ArtifactAccept  ArtifactVerdict = "accept"  // it counts as it is now
	ArtifactRedo    ArtifactVerdict = "redo"    // it must be made anew
	ArtifactAsk     ArtifactVerdict = "ask"
	ArtifactStop    ArtifactVerdict = "stop" // nothing begins before it can be read
)

// ArtifactsChecked is a look at artifacts: at all that count once an epoch, else at those of which
// one was not as recorded.
type ArtifactsChecked struct {
	Epoch     int64           `json:"epoch"`
	Before    string          `json:"before,omitempty"` // the phase that was about to begin; "": all were looked at
	Artifacts []ArtifactCheck `json:"artifacts,omitempty"`
}

// ArtifactCheck is what a look found of one artifact, and what becomes of it.
type ArtifactCheck struct {
	Artifact                 // as it is now
	State    ArtifactState   `json:"state"`
	Verdict  ArtifactVerdict `json:"verdict"`
	Reason   string          `json:"reason,omitempty"`
	Invalid  string          `json:"invalid,omitempty"`  // why it may not count as it is now
	Copied   bool            `json:"copied,omitempty"`   // the copy of the recorded version can be used
	Unusable string          `json:"unusable,omitempty"` // SHA-256 of a version whose copy turned out to be none
	Run      string          `json:"run,omitempty"`      // a phase's run whose call wrote what is there now
}

// ArtifactRestored says that an artifact was put back from its copy, and is durable.
type ArtifactRestored struct {
	Path     string `json:"path"`
	SHA      string `json:"sha"`
	Replaced string `json:"replaced,omitempty"` // SHA-256 of what was there; "": nothing was
}

// PhaseRewound says that phases are to be done again, before anything of it begins.
type PhaseRewound struct {
	Phases  []Rewound `json:"phases"`
	Back    string    `json:"back,omitempty"`    // the phase that went back, as the file says
	Request string    `json:"request,omitempty"` // id of the question whose answer decided it
}

// Rewound is a phase, or a branch of one, that is to be done again.
type Rewound struct {
	Phase  string     `json:"phase"`
	Item   *PhaseItem `json:"item,omitempty"`
	Why    PhaseWhy   `json:"why"`
	Reason string     `json:"reason"`
	Text   string     `json:"text,omitempty"`  // what a person wants different
	From   []Artifact `json:"from,omitempty"`  // the inputs that are others now, as it was made from them
	Maybe  bool       `json:"maybe,omitempty"` // only if what it was made from turns out to be another
}

// RequestPhase asks about a phase of a flow. Its request belongs to no call.
const RequestPhase RequestKind = "phase"

// PhaseQuestion is what a question about a phase is about.
type PhaseQuestion struct {
	About    PhaseAbout `json:"about"`
	Phase    string     `json:"phase,omitempty"`
	Item     *PhaseItem `json:"item,omitempty"`
	Versions []Artifact `json:"versions,omitempty"` // what the answer is bound to
}

// PhaseAbout says what is in question.
type PhaseAbout string

// The questions about a phase.
const (
	AboutStart   PhaseAbout = "start"   // whether it begins
	AboutRedo    PhaseAbout = "redo"    // whether it is done again
	AboutGone    PhaseAbout = "gone"    // an artifact is gone, and the host does not put it back by itself
	AboutInvalid PhaseAbout = "invalid" // an artifact was edited and may not count so
	AboutFailed  PhaseAbout = "failed"  // what follows on its failure
)

// Kind names the fact.
func (FlowPhaseStarted) Kind() Kind { return KindPhaseStarted }
func (FlowPhaseEnded) Kind() Kind   { return KindPhaseEnded }
func (ArtifactsChecked) Kind() Kind { return KindArtifactsChecked }
func (ArtifactRestored) Kind() Kind { return KindArtifactRestored }
func (PhaseRewound) Kind() Kind     { return KindPhaseRewound }
