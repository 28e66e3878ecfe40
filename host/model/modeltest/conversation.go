package modeltest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// summaryWords open a request for a summary: it is recognised by the last user's text.
const summaryWords = "Write a summary"

// cutWords open the request to go on behind an answer that was cut off.
const cutWords = "Your answer was cut off"

// standsFor is in every summary, so that a conversation that goes on from it is answered from the
// right turn.
const standsFor = "[turns done: %d]"

// spoke says who an entry of a conversation is from.
type spoke int

const (
	person spoke = iota
	assistant
	results
)

// entry is one message, whatever the protocol.
type entry struct {
	from  spoke
	text  string
	calls []said
	think []string // thinking as it was shown; "" for what was hidden
}

// said is a call that the client says the model made.
type said struct{ id, tool, args string }

// ask is a request, whatever the protocol.
type ask struct {
	model    string
	stream   bool
	entries  []entry
	thinking bool // thinking is to be shown
	sealed   bool // and what is hidden of it is to be sent as ciphertext
	usage    bool // tokens are to be counted
	effort   string
	tools    []string
	prefix   []string // what a provider's cache compares, piece by piece
	marks    []int    // pieces behind which the client wants a cache entry; nil where the provider places them
	raw      map[string]json.RawMessage
}

// place is where in the script a conversation stands.
type place struct {
	prompt  string
	turn    int // from 0
	summary bool
	answers []entry // those of the story so far
	skipped int     // turns that a summary stands for
}

// locate finds the place of a conversation: its last prompt, and how many answers it has had.
func locate(entries []entry, script *Script) place {
	var p place
	if n := len(entries); n > 0 && entries[n-1].from == person && strings.Contains(entries[n-1].text, summaryWords) {
		p.summary = true
		last := entries[n-1]
		before, _, _ := strings.Cut(last.text, summaryWords)
		if i := strings.LastIndex(before, "The conversation is about"); i >= 0 {
			before = before[:i]
		}
		last.text = strings.TrimSpace(before)
		entries = append(append([]entry(nil), entries[:n-1]...), last)
		if last.text == "" {
			entries = entries[:n-1]
		}
	}
	answered := false
	for _, e := range entries {
		switch {
		case e.from == assistant:
			p.answers = append(p.answers, e)
			p.turn++
			answered = true
		case e.from == person && strings.HasPrefix(e.text, cutWords):
			if !answered {
				p.turn++ // the answer that was cut off held nothing whole
			}
			answered = false
		case e.from == person && answered && script.turn(p.prompt, p.turn+p.skipped-1).Stop == StopPause:
			answered = false // the word to go on
		case e.from == person:
			p.prompt, p.answers, answered = e.text, nil, false
			p.skipped = doneBefore(e.text)
			p.turn = strings.Count(e.text, cutWords) // joined to the prompt, since the answers between were empty
		default:
			answered = false
		}
	}
	p.turn += p.skipped
	return p.paused(script)
}

// paused goes over answers that the client joined: one that was paused and the one that went on
// from it.
func (p place) paused(script *Script) place {
	for i := p.skipped; i < p.turn; i++ {
		if script.turn(p.prompt, i).Stop != StopPause || i-p.skipped >= len(p.answers) {
			continue
		}
		next, e := script.turn(p.prompt, i+1), p.answers[i-p.skipped]
		joined := len(next.Calls) > 0 && len(e.calls) > len(script.turn(p.prompt, i).Calls) ||
			next.Text != "" && strings.HasSuffix(e.text, next.Text)
		if joined && p.turn < len(p.answers)+p.skipped+1 {
			p.turn++
		}
	}
	return p
}

// doneBefore is the number of turns that a summary in the text stands for.
func doneBefore(text string) int {
	mark, _, _ := strings.Cut(standsFor, "%")
	i := strings.LastIndex(text, mark)
	n := 0
	if i < 0 {
		return 0
	}
	if _, err := fmt.Sscanf(text[i:], standsFor, &n); err != nil {
		return 0
	}
	return n
}

// answer is what the script says at the place.
func (p place) answer(script *Script) Turn {
	if !p.summary {
		return script.turn(p.prompt, p.turn)
	}
	t := script.Summary
	if t.Text == "" {
		t.Text = fmt.Sprintf("The person asked: %s. %d turns are done.", clip(p.prompt), p.turn)
	}
	t.Text += "\n" + fmt.Sprintf(standsFor, p.turn)
	return t
}

func clip(text string) string {
	if i := strings.Index(text, "\n\n"); strings.HasPrefix(text, "Older messages") && i >= 0 {
		text = text[i+2:]
	}
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "")
	}
	return text
}

// differs says what the client shows of earlier answers that the script did not say; "" when all is
// as it was.
func (p place) differs(script *Script) string {
	for i, e := range p.answers {
		n := i + p.skipped
		t := script.turn(p.prompt, n)
		if t.Stop != "" {
			return "" // what is cut or paused is put together again in ways of the client's own
		}
		if e.text != t.Text {
			return fmt.Sprintf("turn %d said %q and is shown as %q", n+1, t.Text, e.text)
		}
		if len(e.calls) != len(t.Calls) {
			return fmt.Sprintf("turn %d made %d calls and is shown with %d", n+1, len(t.Calls), len(e.calls))
		}
		for k, c := range t.Calls {
			if got := e.calls[k]; got.tool != c.Tool || c.Raw == "" && !sameJSON(got.args, c.arguments()) {
				return fmt.Sprintf("call %d of turn %d was %s%s and is shown as %s%s", k+1, n+1, c.Tool, c.arguments(), got.tool, got.args)
			}
		}
	}
	return ""
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}
