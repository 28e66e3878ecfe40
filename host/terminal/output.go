package terminal

import (
	"bytes"
	"fmt"

	"agent/host/stream"
	"agent/host/view"
)

// What is shown of a call's live output: its beginning as it comes, and its end when the call ends;
// the record has more, and says where. On a terminal that is little, and the line of progress shows
// what comes meanwhile. A log, which nobody watches, gets more.
const (
	liveLines = 400
	foldLines = 10
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

	fold         bool     // for a terminal, which shows how it goes on below
	lines, bytes int      // shown
	held         int      // lines that were not shown
	tail         []string // the last of them
	lost         bool     // nothing came since pieces were missed
	missed       bool     // pieces were missed: how many lines there were is not known
	gapped       bool     // that was printed, and no whole line came since
}

func newLiveOutput(fold bool, emit func(line string)) *liveOutput {
	o := &liveOutput{emit: emit, fold: fold}
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
	most := liveLines
	if o.fold {
		most = foldLines
	}
	if o.held == 0 && o.lines < most && o.bytes+len(line) <= liveBytes {
		o.lines++
		o.bytes += len(line)
		o.emit(line)
		return
	}
	if o.held == 0 && !o.fold {
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
		o.emit(fmt.Sprintf("… %s not shown here: %s", o.uncounted(gap), more))
	}
	for _, l := range o.tail {
		o.emit(l)
	}
	o.tail, o.held = nil, 0
}

func (o *liveOutput) uncounted(gap int) string {
	switch {
	case o.missed:
		return "more lines are"
	case gap == 1:
		return "1 line is"
	}
	return fmt.Sprintf("%d lines are", gap)
}

// some says whether there was any output.
func (o *liveOutput) some() bool { return o != nil && o.lines > 0 }

// hidden is how many lines wait for the end, and the last of them.
func (o *liveOutput) hidden() (n int, last string) {
	if o == nil || o.held == 0 {
		return 0, ""
	}
	return o.held, o.tail[len(o.tail)-1]
}

// gap says that pieces were missed.
func (o *liveOutput) gap() {
	o.lost, o.missed = true, true
	if o.gapped || o.held > 0 {
		return // neighbours are one gap, and so is what is not shown anyway
	}
	if len(o.line) > 0 {
		o.endLine()
	}
	o.emit("… some output came faster than it could be shown and is left out here")
	o.gapped = true
}
