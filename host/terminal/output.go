package terminal

import (
	"bytes"
	"fmt"

	"agent/host/stream"
	"agent/host/view"
)

// What is shown of a call's live output. A flood shows its beginning as it comes and its end when
// the call ends; the record has more, and says where.
const (
	liveLines = 400
	liveBytes = 128 << 10
	liveTail  = 10
)

// liveOutput turns the output of one running call into whole lines. What a line lacks is kept until
// it comes or the call ends.
type liveOutput struct {
	emit  func(line string)
	clean *stream.Sanitizer
	line  []byte
	cut   int // bytes of the present line that are not kept

	lines, bytes int      // shown
	held         int      // lines that were not shown
	tail         []string // the last of them
	lost         bool     // nothing came since pieces were missed
	gapped       bool     // that was printed, and no whole line came since
}

func newLiveOutput(emit func(line string)) *liveOutput {
	o := &liveOutput{emit: emit}
	o.clean = stream.NewSanitizer(lineWriter{o})
	return o
}

func (o *liveOutput) add(p []byte) {
	o.lost = false
	// The writer below keeps lines in memory and returns no error.
	_, _ = o.clean.Write(p)
}

// lineWriter is the end of the sanitizer.
type lineWriter struct{ o *liveOutput }

func (w lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		text, rest, whole := bytes.Cut(p, []byte{'\n'})
		w.o.keep(text)
		if !whole {
			return n, nil
		}
		w.o.endLine()
		w.o.gapped = false
		p = rest
	}
}

func (o *liveOutput) keep(p []byte) {
	room := max(0, 2*view.MaxLine-len(o.line)) // more than is shown of a line, so that clip finds where to end it
	if len(p) > room {
		o.cut += len(p) - room
		p = p[:room]
	}
	o.line = append(o.line, p...)
}

func (o *liveOutput) endLine() {
	line := view.Clipped(string(o.line), len(o.line)+o.cut)
	o.line, o.cut = o.line[:0], 0
	if o.lines < liveLines && o.bytes+len(line) <= liveBytes {
		o.lines++
		o.bytes += len(line)
		o.emit(line)
		return
	}
	if o.held == 0 {
		o.lines, o.bytes = liveLines, liveBytes // from here on nothing more
		o.emit("… more output follows; its end is shown when the call ends")
	}
	o.held++
	if len(o.tail) == liveTail {
		copy(o.tail, o.tail[1:])
		o.tail = o.tail[:liveTail-1]
	}
	o.tail = append(o.tail, line)
}

// end shows what is left. more is the command that shows all of it.
func (o *liveOutput) end(more string) {
	_ = o.clean.End() // as in add
	if len(o.line) > 0 || o.cut > 0 {
		o.endLine()
	}
	if gap := o.held - len(o.tail); gap > 0 {
		o.emit(fmt.Sprintf("… %d lines are not shown here: %s", gap, more))
	}
	for _, l := range o.tail {
		o.emit(l)
	}
	o.tail, o.held = nil, 0
}

// some says whether there was any output.
func (o *liveOutput) some() bool { return o != nil && o.lines > 0 }

// hidden is how many lines wait for the end.
func (o *liveOutput) hidden() int {
	if o == nil {
		return 0
	}
	return o.held
}

// gap says that pieces were missed.
func (o *liveOutput) gap() {
	o.lost = true
	if o.gapped {
		return // neighbours are one gap
	}
	if len(o.line) > 0 {
		o.endLine()
	}
	o.emit("… some output came faster than it could be shown and is left out here")
	o.gapped = true
}
