package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"agent/host/stream"
	"agent/host/view"
	"agent/recovery/journal"
)

// Printer puts facts into lines for a person: as they happen, and later from the journal.
type Printer struct {
	planned string // run whose artifacts were just said, with the plan of its resume
	out     *Screen
	Whole   bool // all that the journal says, for show: texts, results, questions, owners
	calls   map[string]*activeCall
	runs    map[string]knownRun
	asked   map[string]time.Time // since when each run's model is asked
	Home    string               // the person's, which paths are shortened by
	// Thinking shows what a model thinks.
	Thinking bool
	// Talks says that the person is in a conversation, which says how it is watched and goes on.
	Talks bool
	// Diffs shows what file tools changed; nil where contents are not at hand.
	Diffs Diffs
	// learn finds out about a call whose answer was not printed here, learnRun about a run; nil
	// when nobody can.
	learn    func(run string, p journal.Place) *journal.Proposal
	learnRun func(run string) (journal.RunCreated, bool)
	label    string // stands before each line about a child
}

// Diffs gives diffs of what looks found.
type Diffs interface {
	Seen(run string, b journal.FilesChanged) []view.DiffFile
}

// knownRun is what the lines about a run need to know of its beginning.
type knownRun struct {
	model  string
	thread bool // other runs of its thread came before it
	price  *journal.Price
	child  bool // another run started it
}

// activeCall is what is known of a call of a turn that is going.
type activeCall struct {
	journal.Proposal
	since  time.Time // it runs since then; zero when it does not
	said   bool      // a line before said what it does
	begins string    // the line of its start
	output *liveOutput
}

// NewPrinter prints on out.
func NewPrinter(out *Screen) *Printer {
	return &Printer{out: out, calls: map[string]*activeCall{}, runs: map[string]knownRun{}, asked: map[string]time.Time{}}
}

// of is what is known of a run.
func (t *Printer) of(run string) knownRun {
	known, ok := t.runs[run]
	if !ok && t.learnRun != nil {
		if b, found := t.learnRun(run); found {
			known = startOf(b)
		}
		t.runs[run] = known
	}
	return known
}

func startOf(b journal.RunCreated) knownRun {
	return knownRun{model: b.Model, thread: b.Previous != "", price: b.Setup.Price, child: b.Parent != ""}
}

func key(run string, p journal.Place) string { return fmt.Sprintf("%s/%d.%d", run, p.Turn, p.Index) }

// call is what is known of a call; never nil.
func (t *Printer) call(run string, p journal.Place) *activeCall {
	c := t.calls[key(run, p)]
	if c == nil {
		c = &activeCall{}
		if t.learn != nil {
			if found := t.learn(run, p); found != nil {
				c.Proposal = *found
			}
		}
		t.calls[key(run, p)] = c
	}
	return c
}

func (c *activeCall) name() string {
	if c.Tool == "" {
		return "call"
	}
	return view.CallName(c.Tool, c.Args)
}

// short is the call without what it acts on, where a line before said that.
func (c *activeCall) short() string {
	if c.said && c.Tool != "" {
		return c.Tool
	}
	return c.name()
}

// print puts a line on the screen, with the run before it where that is a child.
func (t *Printer) print(line string) { t.out.print(t.label + line) }

// about has lines name the run that they are about, where that is a child; end ends it.
func (t *Printer) about(run string) (end func()) {
	if run != "" && t.of(run).child {
		t.label = t.out.paint(Dim, run) + " "
	}
	return func() { t.label = "" }
}

// Blank prints an empty line.
func (t *Printer) Blank() { t.print("") }

// Closed says whether the reader has gone.
func (t *Printer) Closed() bool { return t.out.Closed() }

// Line prints one sanitized text with a mark before it; further lines of the text are set in below
// it.
func (t *Printer) Line(st Style, mark, text string) {
	text = stream.Sanitize(text)
	if t.out.moves && mark != ">" && mark != "✓" { // what is done is shown as it stands
		width := t.out.fits() - displaywidth.String(mark+" ")
		if t.label != "" {
			width -= len("r-7k2m9qx4 ")
		}
		text = wrap(text, width, 0)
	}
	t.print(t.out.paint(st, mark) + " " + strings.ReplaceAll(text, "\n", "\n  "))
}

// Block prints text set off, as output is.
func (t *Printer) Block(text string) {
	for _, l := range strings.Split(stream.Sanitize(text), "\n") {
		t.print(t.out.paint(Dim, "  │ ") + l)
	}
}
