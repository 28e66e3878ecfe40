package export

import (
	"agent/host/view"
)

// document is a transcript before it has a form.
type document struct {
	Title string
	Runs  []section
	Level int // of the heading of each of Runs
}

// section is one run.
type section struct {
	ID     string
	Title  string
	Status string // its status alone
	Pairs  []view.Pair
	Unread []string // what could not be read, and why
	Items  []item
	Phases []phase
	Files  []file
	Notes  []string // about the files
	Below  []section
	Level  int // of its heading
}

// kind says what an item is.
type kind string

const (
	kindPrompt kind = "prompt" // what a person wants
	kindTurn   kind = "turn"   // an answer of the model
	kindCall   kind = "call"
	kindAsk    kind = "ask"    // a question to a person
	kindAnswer kind = "answer" // and what came of it
	kindNote   kind = "note"   // what the program did or saw
	kindWarn   kind = "warn"   // likewise, and it matters
	kindEnd    kind = "end"    // the last fact of a run
)

// item is one thing that happened.
type item struct {
	Kind kind
	Mark string // one character before the line
	Good string // ok, bad or warn: how the mark is coloured
	At   string // when
	Head string // in the program's words
	Code string // what it is about, in the words of a model
	Tail string // behind that, in the program's words
	More []string
	Run  string // id of the run that carries it out
	Text []text
}

// text is a longer text of somebody else.
type text struct {
	Name  string
	Prose bool // it is read as sentences; else it stands as it is
	Diff  bool
	Body  string
	Note  string // what is left out of it
	Fold  bool   // it is long, and opens on demand
}

// phase is a row about a part of a flow.
type phase struct {
	Name, Status, Run, Took, Made, Reason string
}

// file is a path that was changed.
type file struct {
	Mark, Path, Lines string
	Notes             []string
	Diff              text
}

// foldLines and foldBytes are how long a text is at most that stands open.
const (
	foldLines = 14
	foldBytes = 1200
)
