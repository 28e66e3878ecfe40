package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Script is what the model of a server says. It is chosen by the conversation that a request shows,
// so a client that was killed and comes back is answered as if nothing had been.
type Script struct {
	Stories []Story  `json:"stories,omitempty"` // for prompts that hold their Prompt
	Turns   []Turn   `json:"turns,omitempty"`   // the story of every other prompt
	Summary Turn     `json:"summary,omitzero"`  // the answer to a request for a summary; "" makes one up
	Quirks  Quirks   `json:"quirks,omitzero"`
	Window  int      `json:"window,omitempty"` // bytes of a request's body above which it is longer than the model's context; 0 for any
	Chunk   int      `json:"chunk,omitempty"`  // characters of a delta; 0 means 4
	Models  []string `json:"models,omitempty"` // that the server has; none means any
}

// Story is what is said to one prompt, turn by turn. After its last turn the model says "done".
type Story struct {
	Prompt string `json:"prompt"`
	Turns  []Turn `json:"turns"`
}

// Turn is one answer.
type Turn struct {
	Thinking string  `json:"thinking,omitempty"`
	Redacted bool    `json:"redacted,omitempty"` // the thinking is shown only as ciphertext (Anthropic)
	Text     string  `json:"text,omitempty"`
	Calls    []Call  `json:"calls,omitempty"`
	Stop     Stop    `json:"stop,omitempty"`
	Faults   []Fault `json:"faults,omitempty"`
}

// Call is a tool call of an answer.
type Call struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args,omitempty"`
	Raw  string          `json:"raw,omitempty"` // sent as the arguments instead of Args; need not be JSON
}

func (c Call) arguments() string {
	if c.Raw != "" {
		return c.Raw
	}
	if len(c.Args) == 0 {
		return "{}"
	}
	var b bytes.Buffer
	if json.Compact(&b, c.Args) != nil {
		return string(c.Args)
	}
	return b.String()
}

// Stop says why an answer ends; "" follows from what it holds.
type Stop string

// The reasons.
const (
	StopLength Stop = "length" // its length limit; the last call, or else the text, is cut in the middle
	StopPause  Stop = "pause"  // the provider wants to be asked again (Anthropic)
	StopRefuse Stop = "refuse" // the model's own refusal, or the content filter
)

// Kind names what goes wrong.
type Kind string

// The faults. Those with a position act when the stream is about to send byte At.
const (
	RateLimit  Kind = "rate_limit"  // 429
	Overloaded Kind = "overloaded"  // 529 of Anthropic, 503 elsewhere
	Failing    Kind = "failing"     // 500
	BadKey     Kind = "bad_key"     // 401; the message quotes the whole key
	NoCredit   Kind = "no_credit"   // 400 of Anthropic, 429 insufficient_quota elsewhere
	Payment    Kind = "payment"     // 402, as OpenRouter says it
	NoModel    Kind = "no_model"    // 404
	TooLong    Kind = "too_long"    // 400: longer than the context
	Filtered   Kind = "filtered"    // 400: refused by the content filter before an answer
	Refused    Kind = "refused"     // 400 for another reason
	Page       Kind = "page"        // 502 with a page of a proxy
	Drop       Kind = "drop"        // the connection is reset before the headers
	Reset      Kind = "reset"       // at a position: the connection is reset
	Cut        Kind = "cut"         // at a position: the connection is closed
	Truncate   Kind = "truncate"    // at a position: the body ends as if it were whole
	Stall      Kind = "stall"       // at a position: nothing comes any more
	Hold       Kind = "hold"        // at a position: waits until Release
	Pings      Kind = "pings"       // behind the event at a position: only pings, without an end
	Garbage    Kind = "garbage"     // at a position: Size bytes that are no protocol; 0 means without an end
	Flood      Kind = "flood"       // behind the first piece of text: Size bytes of text; 0 means without an end
	Line       Kind = "line"        // at a position: a line of Size bytes that does not end; 0 means without an end
	BadEvent   Kind = "bad_event"   // behind the event at a position: an event whose data is broken JSON, and the rest
	ErrorEvent Kind = "error_event" // behind the event at a position: the provider's error event for overload, and the end
)

// Fault is something that goes wrong with one answer.
type Fault struct {
	Kind    Kind    `json:"kind"`
	Attempt int     `json:"attempt,omitempty"` // the request for this answer that it meets, from 1; 0 means every one
	At      int     `json:"at,omitempty"`      // bytes of the body before it; below 0 counted from its end
	Size    int64   `json:"size,omitempty"`
	After   float64 `json:"after,omitempty"` // seconds of Retry-After; 0 sends none
}

// Quirks are ways in which servers that call themselves compatible differ.
type Quirks struct {
	IDs       string `json:"ids,omitempty"`       // of calls: none, same (one for all of an answer), turns (call_0, call_1 in every turn)
	Whole     bool   `json:"whole,omitempty"`     // arguments come in one piece, with the name
	Index0    bool   `json:"index0,omitempty"`    // index of a call is always 0 (Chat Completions)
	NoUsage   bool   `json:"no_usage,omitempty"`  // tokens are not counted
	NoDone    bool   `json:"no_done,omitempty"`   // no [DONE] at the end (Chat Completions)
	NoFinish  bool   `json:"no_finish,omitempty"` // finish_reason is stop even with calls (Chat Completions)
	Reasoning string `json:"reasoning,omitempty"` // the field of the thinking: reasoning_content or reasoning (Chat Completions); "" hides it
	Alternate bool   `json:"alternate,omitempty"` // its template refuses two messages of one role in a row (Chat Completions)
	NoKey     bool   `json:"no_key,omitempty"`    // asks for no key
	CRLF      bool   `json:"crlf,omitempty"`      // lines end in CR LF, and comments come between
}

// ParseScript reads a script. An unknown field is an error.
func ParseScript(text []byte) (Script, error) {
	var s Script
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Script{}, fmt.Errorf("read a script: %w", err)
	}
	return s, nil
}

// story finds what is said to a prompt, and its number: of the stories that the prompt names, the
// one it names last.
func (s *Script) story(prompt string) (int, []Turn) {
	found, at, turns := len(s.Stories), -1, s.Turns
	for i, st := range s.Stories {
		if k := strings.LastIndex(prompt, st.Prompt); k > at {
			found, at, turns = i, k, st.Turns
		}
	}
	return found, turns
}

// turn is what is said in a turn, from 0.
func (s *Script) turn(prompt string, n int) Turn {
	if _, turns := s.story(prompt); n < len(turns) {
		return turns[n]
	}
	return Turn{Text: "done"}
}

func (s *Script) chunk() int {
	if s.Chunk > 0 {
		return s.Chunk
	}
	return 4
}

// fault is what goes wrong with the attempt; false when nothing does.
func (t Turn) fault(attempt int) (Fault, bool) {
	for _, f := range t.Faults {
		if f.Attempt == 0 || f.Attempt == attempt {
			return f, true
		}
	}
	return Fault{}, false
}
