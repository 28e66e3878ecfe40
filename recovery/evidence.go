package recovery

import (
	"agent/recovery/journal"
	"encoding/json"
)

// ProcessState says what was found of a call's process.
type ProcessState string

// What can be found of a call's process.
const (
	ProcessNone    ProcessState = ""        // there is no evidence
	ProcessRunning ProcessState = "running" // its lock is held
	ProcessEnded   ProcessState = "ended"   // it left a record that names this call
	ProcessNever   ProcessState = "never"   // its files prove that it never started
	ProcessLost    ProcessState = "lost"    // it began and left no record
)

// ProcessEvidence is what the files of a call's process say.
type ProcessEvidence struct {
	State   ProcessState
	Refused bool            // with ProcessNever: a record says so, and not only that one is missing
	Result  *journal.Result // with ProcessEnded
	Alive   []string        // what is left of it, as a person would name it
	Trace   json.RawMessage // what its tool needs to look for it again when its files are gone
	Why     string          // what was seen, in words
	Output  *journal.Result // with ProcessLost: what it had printed until then (Content, Full, Size); nil when that is lost
	Asked   []string        // with ProcessRunning: open requests to people, where nothing else is waited for
	PutBack []string        // of a lost one: what it had planted for others to run, and what became of it
}

// Inspection is what a look at the world says about a call's effect.
type Inspection struct {
	Answer InspectionAnswer
	Result *journal.Result // with InspectionHappened: the result made from what was seen
	Why    string
}

// InspectionAnswer says what a look found.
type InspectionAnswer string

// The answers of a look.
const (
	InspectionNone        InspectionAnswer = ""             // the tool cannot look
	InspectionHappened    InspectionAnswer = "happened"     // it is there
	InspectionNotHappened InspectionAnswer = "not_happened" // everything is as it was before
	InspectionUnclear     InspectionAnswer = "unclear"      // something else is there
)

// Evidence is everything known about an unsettled call beside its journal.
type Evidence struct {
	ToolKnown  bool           // this binary still has the tool
	Restored   bool           // its arguments are whole: their fingerprint is the recorded one
	EffectNow  journal.Effect // what this binary says about the same arguments
	RetryNow   bool
	Process    ProcessEvidence
	Inspection Inspection
	Doubt      string // why what is missing on the disk proves nothing; "" where it does
}
