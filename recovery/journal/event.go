package journal

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Event is one fact of one run's journal. Facts are appended and never changed.
type Event struct {
	Seq  int64     // place in the run's journal, from 1 without gaps
	Turn int       // turn that the fact belongs to; 0 before the first
	Time time.Time // UTC, microseconds; given by the writer
	Body Body
}

// Kind names what a fact says. The names are stored and never reused for something else.
type Kind string

// The kinds of facts. The body type of the same name documents each.
const (
	KindRunCreated      Kind = "run.created"
	KindRunClaimed      Kind = "run.claimed"
	KindRunInterrupted  Kind = "run.interrupted"
	KindRunNoted        Kind = "run.noted"
	KindRunStopping     Kind = "run.stopping"
	KindRunCompleted    Kind = "run.completed"
	KindRunFailed       Kind = "run.failed"
	KindRunCancelled    Kind = "run.cancelled"
	KindModelRequested  Kind = "model.requested"
	KindModelAnswered   Kind = "model.answered"
	KindModelFailed     Kind = "model.failed"
	KindCompacted       Kind = "context.compacted"
	KindCallJudged      Kind = "call.judged"
	KindCallStarted     Kind = "call.started"
	KindCallSettled     Kind = "call.settled"
	KindCallResolved    Kind = "call.resolved"
	KindApprovalVoided  Kind = "approval.voided"
	KindRequestOpened   Kind = "request.opened"
	KindRequestAnswered Kind = "request.answered"
	KindRequestClosed   Kind = "request.closed"
	KindTurnSettled     Kind = "turn.settled"
	KindMessageAdded    Kind = "message.added"
	KindRunRestored     Kind = "run.restored"
	KindRunExported     Kind = "run.exported"
	KindWorkspaceBehind Kind = "workspace.behind"
	KindRunParked       Kind = "run.parked"
)

// Version is the version of every body's encoding. A reader refuses what is newer than itself.
const Version = 1

// Body is what a fact says.
type Body interface{ Kind() Kind }

// RunCreated is the first fact of every run: what was asked, where, and under which rules.
type RunCreated struct {
	Run       string        `json:"run"`
	Thread    string        `json:"thread"`
	Previous  string        `json:"previous,omitempty"` // the run before it in the thread
	By        string        `json:"by,omitempty"`       // who started it
	Prompt    string        `json:"prompt"`
	Input     string        `json:"input,omitempty"`  // what was piped in beside the prompt
	Source    string        `json:"source,omitempty"` // file that the prompt was read from
	Digest    string        `json:"digest,omitempty"` // SHA-256 of the prompt as read from Source
	Folder    string        `json:"folder"`           // the workspace, absolute
	Model     string        `json:"model"`
	ModelWhy  string        `json:"model_why,omitempty"`
	Mode      Mode          `json:"mode"`
	Limits    Limits        `json:"limits"`
	Expire    time.Duration `json:"expire,omitempty"` // how long a question stays open; 0 for ever
	Authored  bool          `json:"authored,omitempty"`
	Version   string        `json:"version"`
	ToolsHash string        `json:"tools"`
	Setup     Setup         `json:"setup,omitzero"`

	Terms
	Called
	Branch
	Family

	FlowRun

	Environ []string `json:"-"`             // what commands get, each "NAME=value"; the store keeps it sealed, once by content
	Env     string   `json:"env,omitempty"` // under which the store keeps Environ
}

// RunClaimed says that a process began to drive the run: it holds the run's lock, and from here on
// only this epoch may write.
type RunClaimed struct {
	Epoch     int64     `json:"epoch"`
	PID       int       `json:"pid"`
	Boot      string    `json:"boot,omitempty"`
	Host      string    `json:"host,omitempty"`
	Version   string    `json:"version,omitempty"`
	ToolsHash string    `json:"tools,omitempty"`
	Unknown   []Unknown `json:"unknown,omitempty"`  // what other runs of the thread left unknown, with decisions, as it stood at the claim
	Limits    *Limits   `json:"limits,omitempty"`   // tightened by the claimer
	Mode      Mode      `json:"mode,omitempty"`     // tightened by the claimer
	BaseURL   string    `json:"base_url,omitempty"` // where the model is asked from here on, when the claimer named it

	Model  *ModelChange `json:"model,omitempty"`  // asked from here on, when the claimer named another one
	Folder string       `json:"folder,omitempty"` // where the workspace is from here on, absolute, when the claimer named it
	Disk   *Disk        `json:"disk,omitempty"`   // of the state folder

	Detached bool   `json:"detached,omitempty"` // the process is one of the run's own, which outlives the terminal that it was started from
	Why      string `json:"why,omitempty"`      // why it goes on without a person who asked for it
	MovedOn  bool   `json:"moved_on,omitempty"` // a run below it was brought forward since the claim before
}

// MessageAdded is what a person, or this program, says to the model of a run that has begun. It is
// part of the request for the turn that the fact belongs to, after the results of the turn before.
type MessageAdded struct {
	Text   string `json:"text"`
	By     string `json:"by,omitempty"`
	Misfit bool   `json:"misfit,omitempty"` // the answer before it does not fit the run's output schema

	Decides bool `json:"decides,omitempty"` // it is what a person answered about the plan
}

// RunInterrupted says that nobody drives the run and that it can be resumed.
type RunInterrupted struct {
	Cause  Cause  `json:"cause"`
	Detail string `json:"detail,omitempty"`
}

// Cause says why a run was interrupted.
type Cause string

// The causes of an interruption.
const (
	CauseCrash     Cause = "crash"     // the owner's lock is free and it left no word
	CauseReboot    Cause = "reboot"    // as crash, and the machine was started again since
	CauseShutdown  Cause = "shutdown"  // the owner was asked to stop (signal)
	CauseAnswered  Cause = "answered"  // its question was answered while nobody drove it
	CauseExpired   Cause = "expired"   // its question's time was over while nobody drove it
	CauseWithdrawn Cause = "withdrawn" // its question was withdrawn while nobody drove it
	CauseModel     Cause = "model"     // the model could not be used; the detail holds the remedy
	CauseTakeover  Cause = "takeover"  // another process took it over
	CauseCorrupt   Cause = "corrupt"   // its journal does not match its digests
	CauseRestored  Cause = "restored"  // its database went back in time; see RunRestored
	CauseMoved     Cause = "moved"     // it went to another store, see RunExported, or its witness says that another host has it
	CauseLog       Cause = "log"       // its witness could not be reached; the detail holds the reason
	CauseFailing   Cause = "store"     // the state folder could not be written
	CauseTools     Cause = "tools"     // a tool that was named for it is not there; the detail holds the remedy
	CauseArtifact  Cause = "artifact"  // an artifact of the flow cannot be read; the detail holds the remedy
)

// RunNoted keeps a sentence that was shown to the person: what changed since, what was decided.
type RunNoted struct {
	Text string `json:"text"`
	Gone string `json:"gone,omitempty"` // id of a call with an unknown outcome of which nothing runs any more, as was seen since

	// Clock is how far the clock went beyond the time that passed since the fact before, in
	// nanoseconds; negative where it was set back. Limits and waits are kept by what passed.
	Clock time.Duration `json:"clock,omitempty"`

	// Unknown is what other runs of the thread, and of the family of runs that this one belongs to,
	// left unknown, as it stands now. It replaces what the claim said.
	Unknown []Unknown `json:"unknown,omitempty"`
}

// RunStopping says that the run must end before its work is done. Every call is settled before the
// terminal fact.
type RunStopping struct {
	Why    Stop   `json:"why"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason"`
}

// Stop says which kind of early end was asked for.
type Stop string

// The kinds of early end.
const (
	StopCancelled Stop = "cancelled"
	StopDeadline  Stop = "deadline"
	StopPanic     Stop = "panic"
)

// RunCompleted ends a run that did what was asked.
type RunCompleted struct {
	Text string `json:"text"`
}

// RunFailed ends a run with its reason.
type RunFailed struct {
	Reason string `json:"reason"`
	Text   string `json:"text,omitempty"` // the model's own last words
}

// RunCancelled ends a run on a person's request.
type RunCancelled struct {
	By     string `json:"by,omitempty"`
	Reason string `json:"reason"`
}

// ModelRequested says that the model is about to be asked for the turn's answer. Without an answer
// the request brought nothing.
type ModelRequested struct{}

// AnswerStop says why the model's answer ended.
type AnswerStop string

// The ends of an answer.
const (
	AnswerEnd    AnswerStop = "end"    // the model is done
	AnswerCalls  AnswerStop = "calls"  // the model waits for its calls
	AnswerFailed AnswerStop = "failed" // the model says that what was asked cannot be done
	AnswerLength AnswerStop = "length" // it was cut at the limit of its length
	AnswerPause  AnswerStop = "pause"  // the provider wants to be asked once more to go on
	AnswerRefuse AnswerStop = "refuse" // the model, or the provider's content filter, will not answer
)

// ModelAnswered is one turn's answer with the calls that it asked for, in the model's order.
type ModelAnswered struct {
	Blocks []Block    `json:"blocks,omitempty"` // text, reasoning; calls are in Calls
	Calls  []Proposal `json:"calls,omitempty"`
	Stop   AnswerStop `json:"stop"`
	Usage  *Usage     `json:"usage,omitempty"`
	Served string     `json:"served,omitempty"` // the model that answered, by the provider's own name
	Origin string     `json:"origin,omitempty"` // the provider's id of the exchange
}

// CallJudged is recovery's decision about one call that was started and has no result.
type CallJudged struct {
	Place
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"`
}

// CallStarted says that the call may act from now on.
type CallStarted struct {
	Place
	Before  json.RawMessage `json:"before,omitempty"` // what an inspector needs to know from before
	Binding string          `json:"binding,omitempty"`
	Child   string          `json:"child,omitempty"` // the run that carries the call out; it exists once that run's first fact does
	Marks   json.RawMessage `json:"marks,omitempty"` // where git's logs ended, unless an earlier call of the family has the same
}

// CallSettled is a call's one result.
type CallSettled struct {
	Place
	Fingerprint string `json:"fp"`
	Result      Result `json:"result"`
}

// CallResolved is a person's decision on a call whose outcome is unknown: leave keeps it so,
// happened settles it. Run settles it too: a person said to run it once more, and that succeeded;
// it may follow happened.
type CallResolved struct {
	Place
	Run  string `json:"run,omitempty"` // the run that the call belongs to, when it is another one of the thread
	Word Word   `json:"word"`
	By   string `json:"by,omitempty"`
}

// Word is what a person may say about a call whose outcome is unknown.
type Word string

// The words. Yes means run, no means leave.
const (
	WordHappened Word = "happened" // it happened: the first call is settled, the second gets that as its result
	WordRun      Word = "run"      // once more; as a fact about the first call: it was run once more, with success
	WordLeave    Word = "leave"    // neither

	// WordStop answers the twin guard only: neither, and nobody is asked about it any more in this
	// run.
	WordStop Word = "stop-asking"

	// WordClear answers the question about a call of a restored run only: run it, and nothing else
	// of the run happened either that its journal does not have.
	WordClear Word = "clear"
)

// Settles says whether the outcome of a call is unknown no more after the word.
func (w Word) Settles() bool { return w == WordHappened || w == WordRun }

// Weight orders what may be said of a call: what weighs less does not take the place of what weighs
// more.
func (w Word) Weight() int { return slices.Index([]Word{"", WordLeave, WordHappened, WordRun}, w) }

// ApprovalVoided says that what let a call run no longer does: what a yes was bound to changed, or
// the rules became stricter.
type ApprovalVoided struct {
	Place
	Reason   string   `json:"reason"`
	Decision Decision `json:"decision,omitempty"` // what the rules say now, where that is stricter
}

// TurnSettled ends a turn: every call of it is settled. It is the run's checkpoint.
type TurnSettled struct {
	Checkpoint string `json:"checkpoint"`
	TurnsLeft  int    `json:"turns_left,omitempty"`
}

// Kind names the fact.
func (RunCreated) Kind() Kind      { return KindRunCreated }
func (RunClaimed) Kind() Kind      { return KindRunClaimed }
func (RunInterrupted) Kind() Kind  { return KindRunInterrupted }
func (RunNoted) Kind() Kind        { return KindRunNoted }
func (RunStopping) Kind() Kind     { return KindRunStopping }
func (RunCompleted) Kind() Kind    { return KindRunCompleted }
func (RunFailed) Kind() Kind       { return KindRunFailed }
func (RunCancelled) Kind() Kind    { return KindRunCancelled }
func (ModelRequested) Kind() Kind  { return KindModelRequested }
func (ModelAnswered) Kind() Kind   { return KindModelAnswered }
func (CallJudged) Kind() Kind      { return KindCallJudged }
func (CallStarted) Kind() Kind     { return KindCallStarted }
func (CallSettled) Kind() Kind     { return KindCallSettled }
func (CallResolved) Kind() Kind    { return KindCallResolved }
func (ApprovalVoided) Kind() Kind  { return KindApprovalVoided }
func (RequestOpened) Kind() Kind   { return KindRequestOpened }
func (RequestAnswered) Kind() Kind { return KindRequestAnswered }
func (RequestClosed) Kind() Kind   { return KindRequestClosed }
func (TurnSettled) Kind() Kind     { return KindTurnSettled }
func (MessageAdded) Kind() Kind    { return KindMessageAdded }
func (RunParked) Kind() Kind       { return KindRunParked }

// Kinds lists every kind, in the order in which the package doc explains them.
func Kinds() []Kind {
	return []Kind{
		KindRunCreated, KindRunClaimed, KindRunInterrupted, KindRunNoted, KindRunStopping,
		KindRunCompleted, KindRunFailed, KindRunCancelled, KindModelRequested, KindModelAnswered,
		KindModelFailed, KindCompacted,
		KindCallJudged, KindCallStarted, KindCallSettled, KindCallResolved, KindApprovalVoided,
		KindRequestOpened, KindRequestAnswered, KindRequestClosed, KindTurnSettled, KindMessageAdded, KindRunRestored,
		KindRunExported, KindWorkspaceBehind,
		KindPhaseStarted, KindPhaseEnded, KindArtifactsChecked, KindArtifactRestored, KindPhaseRewound,
		KindRunParked, KindFilesBase, KindFilesChanged, KindCommitSeen,
	}
}

// UnknownFactError says that a newer binary wrote a fact.
type UnknownFactError struct{ What string }

// Error says which kind or version is not known.
func (e *UnknownFactError) Error() string { return e.What }

// Decode reads a stored body. A kind or version that this binary does not know is an error that
// names it.
func Decode(kind Kind, version int, data []byte) (Body, error) {
	decode, ok := decoders[kind]
	switch {
	case !ok:
		return nil, &UnknownFactError{fmt.Sprintf("decode journal fact: kind %q is not known to this binary", kind)}
	case version > Version:
		return nil, &UnknownFactError{fmt.Sprintf("decode %s: version %d is newer than this binary knows (%d)", kind, version, Version)}
	case version < 1:
		return nil, fmt.Errorf("decode %s: there is no version %d", kind, version)
	}
	if b, ok := plainly(kind, data); ok {
		return b, nil
	}
	b, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %v", kind, err)
	}
	return b, nil
}

func as[B Body](data []byte) (Body, error) {
	var b B
	err := json.Unmarshal(data, &b)
	return b, err
}

// decoders is read only.
var decoders = map[Kind]func([]byte) (Body, error){
	KindRunCreated: as[RunCreated], KindRunClaimed: as[RunClaimed], KindRunInterrupted: as[RunInterrupted],
	KindRunNoted: as[RunNoted], KindRunStopping: as[RunStopping], KindRunCompleted: as[RunCompleted],
	KindRunFailed: as[RunFailed], KindRunCancelled: as[RunCancelled], KindModelRequested: as[ModelRequested],
	KindModelAnswered: as[ModelAnswered], KindModelFailed: as[ModelFailed], KindCompacted: as[ContextCompacted], KindCallJudged: as[CallJudged], KindCallStarted: as[CallStarted],
	KindCallSettled: as[CallSettled], KindCallResolved: as[CallResolved], KindApprovalVoided: as[ApprovalVoided],
	KindRequestOpened: as[RequestOpened], KindRequestAnswered: as[RequestAnswered],
	KindRequestClosed: as[RequestClosed], KindTurnSettled: as[TurnSettled], KindMessageAdded: as[MessageAdded], KindRunRestored: as[RunRestored],
	KindRunExported: as[RunExported], KindWorkspaceBehind: as[WorkspaceBehind],
	KindPhaseStarted: as[FlowPhaseStarted], KindPhaseEnded: as[FlowPhaseEnded], KindArtifactsChecked: as[ArtifactsChecked],
	KindArtifactRestored: as[ArtifactRestored], KindPhaseRewound: as[PhaseRewound],
	KindRunParked: as[RunParked], KindFilesBase: as[FilesBase], KindFilesChanged: as[FilesChanged], KindCommitSeen: as[CommitSeen],
}
