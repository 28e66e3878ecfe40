package command

import (
	"bytes"
	"io"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/stream"
	"agent/host/view"
	"agent/recovery"
)

// What is waited for while the model is asked.
const (
	askedModel = "the model"
	thinks     = "the model, which thinks"
)

// said is an answer as far as it came: its text, and apart from it what the model thinks.
type said struct {
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

// part is what came of the answer to which e belongs; nil where e is late: the answer is a fact, or will never be one.
func (r *renderer) part(e stream.Event) *said {
	if e.Turn <= r.turns[e.Run] || r.stopped[e.Run] {
		return nil
	}
	if r.said == nil || r.said.run != e.Run || r.said.turn != e.Turn {
		r.said = &said{run: e.Run, turn: e.Turn}
	}
	return r.said
}

// text takes a piece of the model's answer and shows it at once, where the reader is a person at a terminal. Elsewhere the
// answer is shown when it is whole.
func (r *renderer) text(e stream.Event) {
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

type screenStream struct{ out *screen }

func (s screenStream) Write(p []byte) (int, error) {
	s.out.stream(string(p))
	return len(p), nil
}

// reason takes a piece of what the model thinks, as text does. Unless the person asked for it, nothing of it is shown.
func (r *renderer) reason(e stream.Event) {
	s := r.part(e)
	switch {
	case s == nil:
		return
	case !r.thinking:
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
type thoughtStream struct{ out *screen }

func (s thoughtStream) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, ends := bytes.Cut(p, []byte{'\n'})
		text := string(line)
		if !s.out.midLine() {
			text = thoughtBar + text
		}
		text = s.out.paint(dim, text)
		if ends {
			text += "\n"
		}
		s.out.stream(text)
		p = rest
	}
	return n, nil
}

const thoughtBar = "  ┊ "

// thinkingFlag shows what a model thinks.
func (a *app) thinkingFlag() cli.Flag {
	return &cli.BoolFlag{Name: "thinking", Usage: "show what the model thinks, as far as its provider shows it", Destination: &a.think}
}

// newTeller tells in the lines that the person asked for.
func (a *app) newTeller(w io.Writer) *teller {
	t := newTeller(newScreen(w, a.Getenv))
	t.thinking = a.think
	return t
}

// think prints thoughts that are whole.
func (t *teller) think(text string) {
	if !t.thinking || text == "" {
		return
	}
	text = thoughtBar + strings.ReplaceAll(strings.TrimRight(stream.Sanitize(text), "\n"), "\n", "\n"+thoughtBar)
	t.out.print(t.out.paint(dim, text))
}

// restart voids what came of a turn's answer: it is given anew.
func (r *renderer) restart(e stream.Event) {
	if r.said != nil && r.said.turn == e.Turn {
		r.unfinished(e.Run, false, "the answer starts over")
	}
}

// maxPart is the most of a part of an answer that is shown whole, in bytes.
const maxPart = 256 << 10

// unfinished ends an answer of which only a part came, with a word about that. Where pieces are not shown as they come, the
// part is shown if it is the last that there will be.
func (r *renderer) unfinished(run string, last bool, word string) {
	s := r.said
	if s == nil || s.run != run {
		return
	}
	r.said = nil
	have, shown := s.text.raw.String(), s.text.clean != nil
	if have != "" && !shown && last {
		if len(have) > maxPart { // from a model that never ends
			have = view.Excerpt(have, 100, 100, "")
		}
		r.out.print(stream.Sanitize(have))
		shown = true
	}
	if r.out.endLine(); shown {
		r.line(dim, "·", word)
	}
}

// modelFailed tells that there is no answer, what became of the part that was shown, and what is waited for now.
func (r *renderer) modelFailed(run string, e recovery.Event, b recovery.ModelFailed) {
	r.fact(run, e)
	word := "the answer starts over"
	if !b.Again {
		word = "the answer above is partial and not kept"
	}
	r.unfinished(run, !b.Again, word)
	if b.Again {
		r.again = e.Time.Add(b.Wait)
	}
	if b.Again || b.Fault == recovery.FaultContext { // else for a summary
		r.asking, r.asked = askedModel, e.Time
	}
}

// finishAnswer shows what is missing of an answer of which pieces were shown as they came, and returns what is still to be
// shown of it.
func (r *renderer) finishAnswer(run string, e recovery.Event, b recovery.ModelAnswered) recovery.ModelAnswered {
	full, end, s := spoken(b), lastWords(b), r.said
	if r.said = nil; s == nil || s.run != run || s.turn != e.Turn {
		s = &said{}
	}
	shown := s.text.clean != nil
	r.spoke[run] = end != endNot && full != "" && (shown || r.whole || end == endFailed)
	if s.mind {
		r.out.endLine() // the text, if any, stands on a line of its own; begun already, it goes on there
	}
	if s.thought.clean != nil {
		b.Blocks = without(b.Blocks, recovery.BlockReasoning)
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
		r.out.print(stream.Sanitize(full))
	}
	r.out.endLine()
	b.Blocks = without(b.Blocks, recovery.BlockText)
	return b
}

func without(blocks []recovery.Block, k recovery.BlockKind) []recovery.Block {
	var out []recovery.Block
	for _, b := range blocks {
		if b.Kind != k {
			out = append(out, b)
		}
	}
	return out
}
