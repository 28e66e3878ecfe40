package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"agent/db"
	"agent/recovery"
	"agent/recovery/journal"
)

// Line is one thing that an observer sees. Observers share it, so it is never changed.
type Line struct {
	ID   string // of a fact: the cursor behind it; "" for what is state
	Type string
	JSON []byte // the line for other programs, without a line feed

	Fact  *journal.Event // a fact; nil where this binary does not know its kind
	State *State
	Live  *Frame

	size int // bytes that a fact keeps in memory, about
}

// State is what is known of a run beside its facts.
type State struct {
	Status recovery.Status `json:"status"`
	Cause  journal.Cause   `json:"cause,omitempty"`
	Held   bool            `json:"owner"`       // a process drives it
	Kept   bool            `json:"kept_answer"` // its question has its answer, which the run has not taken yet
	Epoch  int64           `json:"epoch"`       // how often it was claimed

	Below []Below `json:"children,omitempty"` // runs below it that have not ended
}

// Frame is a piece of live text or output. With Start it replaces what the observer has, and what
// was before Offset is not there any more; else it continues what ended at Offset. To apply one
// twice changes nothing.
type Frame struct {
	Turn   int
	Call   journal.Place // of output
	ID     string        // of that call
	Start  bool
	Offset int64 // bytes of the whole before Data
	End    int64
	Data   []byte // of whole characters where the text is UTF-8
}

// Envelope is a line's JSON. Fields are only ever added.
type Envelope struct {
	Version int        `json:"v"`
	Type    string     `json:"type"`
	Run     string     `json:"run_id"`
	Seq     int64      `json:"seq,omitempty"`
	Cursor  string     `json:"cursor,omitempty"` // of a fact: the place behind it
	Turn    int        `json:"turn,omitempty"`
	Time    *time.Time `json:"time,omitempty"`
	Data    any        `json:"data"`
}

func (e Envelope) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("encode a line of run %s: %v", e.Run, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func factLine(run string, row db.Row) (Line, error) {
	l := Line{ID: cursorText(row.Seq, sumOf(row.Digest)), Type: TypeUnknown}
	e := Envelope{Version: 1, Type: l.Type, Run: run, Seq: row.Seq, Cursor: l.ID, Turn: row.Turn, Time: &row.Time, Data: struct{}{}}
	var err error
	if row.Body != nil {
		l.Type, l.Fact = string(row.Body.Kind()), &row.Event
		e.Type = l.Type
		if e.Data, err = wireForm(row.Body); err != nil {
			return l, fmt.Errorf("encode fact %d of run %s: %v", row.Seq, run, err)
		}
	}
	l.JSON, err = e.encode()
	l.size = len(l.JSON) + row.Size
	return l, err
}

func stateLine(run string, s State) (Line, error) {
	l := Line{Type: TypeState, State: &s}
	var err error
	l.JSON, err = Envelope{Version: 1, Type: l.Type, Run: run, Data: s}.encode()
	return l, err
}

// NewLine is a line of what neither a fact nor the feed says: a type of this package with its data.
func NewLine(run, kind string, data any) (Line, error) {
	l := Line{Type: kind}
	var err error
	l.JSON, err = Envelope{Version: 1, Type: kind, Run: run, Data: data}.encode()
	return l, err
}

// Note is a sentence of the process that drives a run, to the person.
type Note struct {
	Text string `json:"text"`
	Warn bool   `json:"warn"`
}

// frameJSON is a frame for other programs: bytes that are not UTF-8 are U+FFFD in it, and offsets
// count the bytes as they were.
type frameJSON struct {
	Message string `json:"message_id,omitempty"` // RUN/TURN, of text
	Call    string `json:"call_id,omitempty"`    // of output
	Start   bool   `json:"start,omitempty"`
	Offset  int64  `json:"offset"`
	End     int64  `json:"end"`
	Text    string `json:"text"`
}

func frameLine(run, kind string, f Frame) (Line, error) {
	v := frameJSON{Call: f.ID, Start: f.Start, Offset: f.Offset, End: f.End, Text: string(f.Data)}
	if kind != TypeOutput {
		v.Message = fmt.Sprintf("%s/%d", run, f.Turn)
	}
	l := Line{Type: kind, Live: &f}
	var err error
	l.JSON, err = Envelope{Version: 1, Type: kind, Run: run, Turn: f.Turn, Data: v}.encode()
	return l, err
}
