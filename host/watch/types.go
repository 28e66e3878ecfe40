package watch

import (
	"reflect"

	"agent/recovery/journal"
)

// The types of lines that are not facts. A fact's type is its kind.
const (
	TypeSnapshot  = "run.snapshot"   // where the run stands; the first line
	TypeState     = "run.state"      // what changes without a fact: whether a process drives the run, and its row
	TypeText      = "live.text"      // the answer that is being given
	TypeReasoning = "live.reasoning" // what the model thinks on its way to it
	TypeOutput    = "live.output"    // of a running command
	TypeNote      = "note"           // a sentence of the process that drives the run
	TypeOutcome   = "run.outcome"    // how far the run came; the last line
	TypeAnswer    = "answer"         // what became of an answer; the only line where nothing is driven for it
	TypeError     = "error"          // a refusal; the last line
	TypeUnknown   = "unknown"        // a fact that a newer binary wrote
)

// The types of lines that are about no one run: a server's list of runs has them alone.
const (
	TypeRuns   = "runs.changed" // runs as they are now
	TypeServer = "server.state" // how the server stands
)

// LineType is one type of lines.
type LineType struct {
	Name string
	Data string // what its data is
	Fact bool   // it has a seq and a cursor
}

// LineTypes lists every type, in the order in which they are explained: that of a stream, and in it
// that of the journal.
func LineTypes() []LineType {
	list := []LineType{{Name: TypeSnapshot, Data: "`agent show --json` without calls and facts; `cursor`"}}
	about := facts()
	for _, k := range journal.Kinds() {
		list = append(list, LineType{Name: string(k), Data: about[k], Fact: true})
	}
	const frame = "`start` `offset` `end` `text`"
	return append(list,
		LineType{Name: TypeUnknown, Data: "a fact that a newer `agent` wrote; nothing", Fact: true},
		LineType{Name: TypeState, Data: "`owner` `status` `cause` `kept_answer` `epoch` `children`"},
		LineType{Name: TypeText, Data: "the answer: `message_id` " + frame},
		LineType{Name: TypeReasoning, Data: "thoughts: `message_id` " + frame},
		LineType{Name: TypeOutput, Data: "its output: `call_id` " + frame},
		LineType{Name: TypeNote, Data: "to the person: `text` `warn`"},
		LineType{Name: TypeOutcome, Data: "`agent run --json`"},
		LineType{Name: TypeAnswer, Data: "`agent answer --json`, where no run is driven"},
		LineType{Name: TypeError, Data: "what `--json` prints when refused"},
	)
}

// Forms has the Go types of the data of lines that only observers get, by the type of the line.
func Forms() map[string]reflect.Type {
	frame := reflect.TypeFor[frameJSON]()
	return map[string]reflect.Type{
		TypeState: reflect.TypeFor[State](), TypeNote: reflect.TypeFor[Note](),
		TypeText: frame, TypeReasoning: frame, TypeOutput: frame,
	}
}

// ListTypes lists the types of the lines that are about no one run.
func ListTypes() []LineType {
	return []LineType{
		{Name: TypeServer, Data: "`GET /v1/server`; the first of the list"},
		{Name: TypeRuns, Data: "`runs`: each as in `GET /v1/runs`"},
	}
}

// facts says what each kind of fact is about, with the fields of its body that matter first.
func facts() map[journal.Kind]string {
	return map[journal.Kind]string{
		journal.KindRunCreated:      "`prompt` `folder` `model` `mode` `limits`",
		journal.KindRunClaimed:      "a process drives it: `epoch` `pid`",
		journal.KindRunInterrupted:  "it can be resumed: `cause` `detail`",
		journal.KindRunNoted:        "a remark: `text`",
		journal.KindRunStopping:     "it comes to an early end: `why` `reason`",
		journal.KindRunCompleted:    "the end: `text`",
		journal.KindRunFailed:       "the end: `reason` `text`",
		journal.KindRunCancelled:    "the end: `by` `reason`",
		journal.KindModelRequested:  "the model is asked; nothing",
		journal.KindModelAnswered:   "`blocks` `calls` `stop` `usage`",
		journal.KindModelFailed:     "it brought no answer: `fault` `detail` `remedy`",
		journal.KindCompacted:       "older turns, in short: `through` `summary`",
		journal.KindCallJudged:      "recovery decides: `turn` `index` `verdict` `reason`",
		journal.KindCallStarted:     "it acts: `turn` `index` `attempt`",
		journal.KindCallSettled:     "it ended: `turn` `index` `result`",
		journal.KindCallResolved:    "a person decided: `turn` `index` `word`",
		journal.KindApprovalVoided:  "it may not act: `turn` `index` `reason`",
		journal.KindRequestOpened:   "a question: `request`",
		journal.KindRequestAnswered: "`id` `answer` `by`; of a plan also `mode`",
		journal.KindRequestClosed:   "without an answer: `id` `status` `reason`",
		journal.KindTurnSettled:     "a checkpoint: `checkpoint`",
		journal.KindMessageAdded:    "from a person, or this program, to the model: `text` `by`",
		journal.KindRunParked:       "runs below wait for people: `children`",
		journal.KindRunRestored:     "the database went back: `reason`",
		journal.KindRunExported:     "it went to another store: `to` `pack`",
		journal.KindWorkspaceBehind: "what calls wrote is not in its folder: `files`",
		journal.KindFilesBase:       "what of files can be given back: `mode` `why`",
		journal.KindFilesChanged:    "files differ since the last look: `changes`",
		journal.KindCommitSeen:      "a commit holds its work: `checkpoint_id` `commit_id`",

		journal.KindPhaseStarted:     "of a flow: `phase` `part` `run` `why`",
		journal.KindPhaseEnded:       "`phase` `part` `run` `outcome` `reason` `out`",
		journal.KindArtifactsChecked: "a look at its files: `artifacts`",
		journal.KindArtifactRestored: "a file was put back: `path` `sha`",
		journal.KindPhaseRewound:     "phases are to be done again: `phases`",
	}
}
