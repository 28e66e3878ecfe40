package terminal

import (
	"bytes"
	"strings"

	"agent/host/stream"
	"agent/host/view"
	"agent/recovery/journal"
)

// What is waited for while the model is asked.
const (
	askedModel = "the model"
	thinks     = "the model, which thinks"
)

// partial is an answer as far as it came: its text, and apart from it what the model thinks.
type partial struct {
	run           string
	turn          int
	text, thought piecewise
	mind          bool // what came last is a thought
}

// piecewise is a text that comes in pieces.
type piecewise struct {
	raw   strings.Builder
	clean *stream.Sanitizer // nil while nothing of it was shown
}

// part is what came of the answer to which e belongs; nil where e is late: the answer is a fact, or
// will never be one.
func (r *Renderer) part(e stream.Event) *partial {
	if e.Turn <= r.turns[e.Run] || r.stopped[e.Run] {
		return nil
	}
	if r.partial == nil || r.partial.run != e.Run || r.partial.turn != e.Turn {
		r.partial = &partial{run: e.Run, turn: e.Turn}
	}
	return r.partial
}

// text takes a piece of the model's answer and shows it at once, where the reader is a person at a
// terminal. Elsewhere the answer is shown when it is whole.
func (r *Renderer) text(e stream.Event) {
	s := r.part(e)
	if s == nil {
		return
	}
	s.text.raw.WriteString(e.Text)
	if !r.out.moves {
		return
	}
	if s.mind {
		r.out.endLine()
		s.mind = false
	}
	if s.text.clean == nil {
		s.text.clean = stream.NewSanitizer(screenStream{r.out})
	}
	r.asking = ""
	_, _ = s.text.clean.Write([]byte(e.Text)) // the screen keeps its own errors
}

type screenStream struct{ out *Screen }

func (s screenStream) Write(p []byte) (int, error) {
	s.out.stream(string(p))
	return len(p), nil
}

// reason takes a piece of what the model thinks, as text does. Unless the person asked for it,
// nothing of it is shown.
func (r *Renderer) reason(e stream.Event) {
	s := r.part(e)
	switch {
	case s == nil:
		return
	case !r.Thinking:
		if r.asking == askedModel {
			r.asking = thinks
		}
		return
	}
	s.thought.raw.WriteString(e.Reasoning)
	if !r.out.moves {
		return
	}
	if !s.mind {
		r.out.endLine()
		s.mind = true
	}
	if s.thought.clean == nil {
		s.thought.clean = stream.NewSanitizer(thoughtStream{r.out})
	}
	r.asking = ""
	_, _ = s.thought.clean.Write([]byte(e.Reasoning)) // as above
}

// thoughtStream sets thoughts off from the answer, line by line.
type thoughtStream struct{ out *Screen }

func (s thoughtStream) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, ends := bytes.Cut(p, []byte{'\n'})
		text := string(line)
		if !s.out.midLine() {
			text = thoughtBar + text
		}
		text = s.out.paint(Dim, text)
		if ends {
			text += "\n"
		}
		s.out.stream(text)
		p = rest
	}
	return n, nil
}

const thoughtBar = "  ┊ "

// think prints thoughts that are whole.
func (t *Printer) think(text string) {
	if !t.Thinking || text == "" {
		return
	}
	text = thoughtBar + strings.ReplaceAll(strings.TrimRight(stream.Sanitize(text), "\n"), "\n", "\n"+thoughtBar)
	t.print(t.out.paint(Dim, text))
}

// restart voids what came of a turn's answer: it is given anew.
func (r *Renderer) restart(e stream.Event) {
	if r.partial != nil && r.partial.turn == e.Turn {
		r.unfinished(e.Run, false, "the answer starts over")
	}
}

// maxPart is the most of a part of an answer that is shown whole, in bytes.
const maxPart = 256 << 10

// unfinished ends an answer of which only a part came, with a note about that. Where pieces are not
// shown as they come, the part is shown if it is the last that there will be.
func (r *Renderer) unfinished(run string, last bool, note string) {
	s := r.partial
	if s == nil || s.run != run {
		return
	}
	r.partial = nil
	have, shown := s.text.raw.String(), s.text.clean != nil
	if have != "" && !shown && last {
		if len(have) > maxPart { // from a model that never ends
			have = view.Excerpt(have, 100, 100, "")
		}
		r.print(stream.Sanitize(have))
		shown = true
	}
	if r.out.endLine(); shown {
		r.Line(Dim, "·", note)
	}
}

// modelFailed shows that there is no answer, what became of the part that was shown, and what is
// waited for now.
func (r *Renderer) modelFailed(run string, e journal.Event, b journal.ModelFailed) {
	r.Fact(run, e)
	note := "the answer starts over"
	if !b.Again {
		note = "the answer above is partial and not kept"
	}
	r.unfinished(run, !b.Again, note)
	if b.Again {
		r.again = e.Time.Add(b.Wait)
	}
	if b.Again || b.Fault == journal.FaultContext { // else for a summary
		r.asking, r.asked = askedModel, e.Time
	}
}

// finishAnswer shows what is missing of an answer of which pieces were shown as they came, and
// returns what is still to be shown of it.
func (r *Renderer) finishAnswer(run string, e journal.Event, b journal.ModelAnswered) journal.ModelAnswered {
	full, end, s := answerText(b), lastWords(b), r.partial
	if r.partial = nil; s == nil || s.run != run || s.turn != e.Turn {
		s = &partial{}
	}
	shown := s.text.clean != nil
	r.answered[run] = end != endNot && full != "" && (shown || r.Whole || end == endFailed)
	if s.mind {
		r.out.endLine() // the text, if any, stands on a line of its own; begun already, it goes on there
	}
	if s.thought.clean != nil {
		b.Blocks = without(b.Blocks, journal.BlockReasoning)
	}
	if !shown {
		return b
	}
	have := s.text.raw.String()
	rest, ok := strings.CutPrefix(full, have)
	switch {
	case ok:
		r.out.stream(stream.Sanitize(rest))
	case strings.ReplaceAll(full, "\n", "") != strings.ReplaceAll(have, "\n", ""):
		r.out.endLine()
		r.print(stream.Sanitize(full))
	}
	r.out.endLine()
	b.Blocks = without(b.Blocks, journal.BlockText)
	return b
}

func without(blocks []journal.Block, k journal.BlockKind) []journal.Block {
	var out []journal.Block
	for _, b := range blocks {
		if b.Kind != k {
			out = append(out, b)
		}
	}
	return out
}
