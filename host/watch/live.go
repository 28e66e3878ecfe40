package watch

import (
	"slices"
	"unicode/utf8"

	"agent/host/stream"
	"agent/recovery/journal"
)

const (
	mostText   = 1 << 20  // of an answer, or of what the model thinks, bytes that a feed keeps
	mostOutput = 1 << 20  // of all running calls together, bytes that a feed keeps
	leastTail  = 64 << 10 // of each of them
	mostFrame  = 32 << 10 // bytes of one frame, which a slow observer keeps all the while
)

// piece is a live text: its end, and where in the whole that begins.
type piece struct {
	gen  int64 // another one is another text; 0: there is none
	turn int
	base int64 // bytes of the whole before buf
	buf  []byte
}

func (p *piece) end() int64 { return p.base + int64(len(p.buf)) }

// add appends. Once there is an eighth more than most, it drops from the head what is more, up to a
// whole character.
func (p *piece) add(b []byte, most int) {
	p.buf = append(p.buf, b...)
	over := len(p.buf) - most
	if over <= most/8 {
		return
	}
	for range utf8.UTFMax - 1 { // what is not UTF-8 is cut anywhere
		if over < len(p.buf) && !utf8.RuneStart(p.buf[over]) {
			over++
		}
	}
	p.buf, p.base = slices.Clone(p.buf[over:]), p.base+int64(over)
}

// after is what an observer at m lacks, with the mark that it has then; false when that is nothing.
func (p *piece) after(m mark) (Frame, mark, bool) {
	if p.gen == 0 || m.gen == p.gen && m.end >= p.end() {
		return Frame{}, m, false
	}
	f := Frame{Turn: p.turn, Offset: m.end}
	if m.gen != p.gen || m.end < p.base {
		f.Start, f.Offset = true, p.base
	}
	f.Data = whole(p.buf[f.Offset-p.base:])
	if len(f.Data) == 0 && !f.Start {
		return Frame{}, m, false
	}
	f.End = f.Offset + int64(len(f.Data))
	return f, mark{p.gen, f.End}, true
}

// whole is the beginning of b that ends with a whole character and is no longer than a frame. Feeds
// append behind what they gave out, so it must not be changed.
func whole(b []byte) []byte {
	b = b[:min(len(b), mostFrame)]
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				b = b[:len(b)-n]
			}
			break
		}
	}
	return b[:len(b):len(b)]
}

// live is what a run's turn shows before it is durable.
type live struct {
	text, mind piece
	output     map[journal.Place]*piece
	order      []journal.Place // of output

	turn     int // of the newest fact
	answered int // the newest turn whose answer is a fact
	ids      map[journal.Place]string
	settled  map[journal.Place]bool
}

func newLive() live {
	return live{output: map[journal.Place]*piece{}, ids: map[journal.Place]string{}, settled: map[journal.Place]bool{}}
}

// fact takes in what a fact replaces: an answer replaces its text, and a result its output. It says
// whether something went.
func (l *live) fact(e *journal.Event) bool {
	if e.Turn > l.turn {
		l.turn = e.Turn
		clear(l.settled)
		clear(l.ids)
	}
	switch b := e.Body.(type) {
	case journal.ModelAnswered:
		l.answered = max(l.answered, e.Turn)
		for i, call := range b.Calls {
			l.ids[journal.Place{Turn: e.Turn, Index: i}] = call.ID
		}
		return l.drop(e.Turn)
	case journal.CallSettled:
		l.settled[b.Place] = true
		return l.forget(b.Place)
	case journal.RunCompleted, journal.RunFailed, journal.RunCancelled, journal.RunInterrupted:
		return l.drop(e.Turn)
	}
	return false
}

func (l *live) drop(turn int) bool {
	had := l.text.gen != 0 || l.mind.gen != 0
	if l.text.turn <= turn {
		l.text = piece{}
	}
	if l.mind.turn <= turn {
		l.mind = piece{}
	}
	return had
}

func (l *live) forget(p journal.Place) bool {
	if l.output[p] == nil {
		return false
	}
	delete(l.output, p)
	l.order = slices.DeleteFunc(l.order, func(q journal.Place) bool { return q == p })
	return true
}

// take takes in what the live file has. Text of an answer that is a fact, and output of a call that
// has its result, stay where a killed owner left them, and are nothing new.
func (l *live) take(e *stream.Event, newGen func() int64) bool {
	switch {
	case e.Call != nil:
		return l.takeOutput(e, newGen)
	case e.Turn <= l.answered:
		return false
	case e.Void:
		void := l.text.gen != 0 || l.mind.gen != 0
		l.text, l.mind = restarted(l.text, newGen), restarted(l.mind, newGen)
		return void
	case e.Text != "":
		l.text = grown(l.text, e.Turn, e.Text, newGen)
	case e.Reasoning != "":
		l.mind = grown(l.mind, e.Turn, e.Reasoning, newGen)
	default:
		return false
	}
	return true
}

// restarted is a text that is void: it begins again, with nothing yet.
func restarted(p piece, newGen func() int64) piece {
	if p.gen == 0 {
		return p
	}
	return piece{gen: newGen(), turn: p.turn}
}

func grown(p piece, turn int, text string, newGen func() int64) piece {
	if p.gen == 0 || p.turn != turn {
		p = piece{gen: newGen(), turn: turn}
	}
	p.add([]byte(text), mostText)
	return p
}

// takeOutput takes in a piece of output, once: the owner that picks a call up writes its output
// from the beginning.
func (l *live) takeOutput(e *stream.Event, newGen func() int64) bool {
	if l.settled[*e.Call] || e.Call.Turn < l.turn {
		return false
	}
	p := l.output[*e.Call]
	if p == nil {
		p = &piece{gen: newGen(), turn: e.Call.Turn, base: e.At}
		l.output[*e.Call] = p
		l.order = append(l.order, *e.Call)
	}
	out := e.Output
	switch end := p.end(); {
	case e.At > end: // some was lost: what is kept must hang together
		p.base, p.buf = e.At, nil
	case e.At+int64(len(out)) <= end:
		return false
	default:
		out = out[end-e.At:]
	}
	p.add(out, max(leastTail, mostOutput/len(l.output)))
	return true
}
