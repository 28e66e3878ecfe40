package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	"agent/host/model"
	"agent/recovery/journal"
)

// responsesEvent is what is read of an event. Whole items and the whole response stay as they came.
type responsesEvent struct {
	Type         string          `json:"type"`
	Delta        string          `json:"delta"`
	OutputIndex  int             `json:"output_index"`
	SummaryIndex int             `json:"summary_index"`
	Item         json.RawMessage `json:"item"`
	Response     json.RawMessage `json:"response"`
	Error        trouble         `json:"error"`
}

// response is the last event's.
type response struct {
	ID     string            `json:"id"`
	Model  string            `json:"model"`
	Output []json.RawMessage `json:"output"`
	Usage  struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		In     struct {
			Cached  int64 `json:"cached_tokens"`
			Written int64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		Out struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
	Error   trouble `json:"error"`
	Details struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// responsesParser puts an answer of the Responses API together from the items that are done.
type responsesParser struct {
	model string // who is asked

	items   []json.RawMessage
	last    *response
	stop    journal.AnswerStop // once last is there
	text    strings.Builder    // of the message that is being written
	spoken  bool               // a message has been shown
	thought bool               // reasoning has been shown
	usual   frame              // of an event with a piece of text
}

func (p *responsesParser) ended() bool { return p.last != nil }

func (p *responsesParser) take(data []byte, name string) (model.Delta, error) {
	var e responsesEvent
	if idle(name) {
		return model.Delta{}, nil
	}
	if text, ok := p.usual.text(data); ok {
		p.text.WriteString(text)
		return model.Delta{Text: text}, nil
	}
	if err := decode(data, &e); err != nil {
		return model.Delta{}, garbage("the server sent an event that is not JSON", err)
	}
	if e.Type == "" {
		e.Type = name
	}
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		p.spoken = true
		p.text.WriteString(e.Delta)
		p.usual.learn(data, "delta", e.Delta)
		return model.Delta{Text: e.Delta}, nil
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		p.thought = true
		return model.Delta{Reasoning: e.Delta}, nil
	case "response.reasoning_summary_part.added":
		if p.thought {
			return model.Delta{Reasoning: "\n\n"}, nil
		}
	case "response.output_item.added":
		return p.begins(e.Item), nil
	case "response.output_item.done":
		p.items = append(p.items, e.Item)
		p.text.Reset()
	case "response.completed", "response.incomplete", "response.failed":
		return model.Delta{}, p.finish(e.Type, e.Response)
	case "error":
		if !e.Error.there() {
			// The error is the event itself.
			e.Error.raw = data
		}
		return model.Delta{}, &e.Error
	case "":
		if e.Error.there() {
			return model.Delta{}, &e.Error
		}
	}
	return model.Delta{}, nil
}

// idle says whether nothing of the event is used: it repeats what others say, at length, or
// announces it.
func idle(event string) bool {
	switch event {
	case "response.output_text.done", "response.content_part.added", "response.content_part.done",
		"response.function_call_arguments.delta", "response.function_call_arguments.done",
		"response.reasoning_summary_text.done", "response.reasoning_summary_part.done", "response.reasoning_text.done",
		"response.created", "response.in_progress":
		return true
	}
	return false
}

// begins sets a message apart from the one before it.
func (p *responsesParser) begins(item json.RawMessage) model.Delta {
	var i struct {
		Type string `json:"type"`
	}
	if p.spoken && decode(item, &i) == nil && i.Type == "message" {
		return model.Delta{Text: "\n\n"}
	}
	return model.Delta{}
}

func (p *responsesParser) finish(event string, raw json.RawMessage) error {
	var r response
	if err := decode(raw, &r); err != nil {
		return garbage("the server's last event is not JSON", err)
	}
	switch {
	case event == "response.failed":
		if !r.Error.there() {
			r.Error.raw = quoted("the provider says that the answer failed and not why")
		}
		return &r.Error
	case event == "response.completed":
		p.stop = journal.AnswerEnd
	case r.Details.Reason == "content_filter":
		p.stop = journal.AnswerRefuse
	case r.Details.Reason == "max_output_tokens":
		p.stop = journal.AnswerLength
	default:
		why := "and does not say why"
		if r.Details.Reason != "" {
			why = "for " + strconv.Quote(r.Details.Reason)
		}
		return &model.Error{Fault: journal.FaultCut, Message: "the provider stopped the answer before its end " + why}
	}
	// The list of the last event is used where it says more: what an end cut off has no event of
	// its own everywhere.
	if len(r.Output) > len(p.items) {
		p.items = r.Output
		p.text.Reset()
	}
	p.last = &r
	return nil
}

func (p *responsesParser) answer() (*model.Answer, error) {
	if p.last == nil {
		return nil, nil
	}
	w := weave{model: p.model, cut: p.stop == journal.AnswerLength}
	for i, raw := range p.items {
		if err := w.item(raw, i == len(p.items)-1 && p.text.Len() == 0); err != nil {
			return nil, err
		}
	}
	if p.text.Len() > 0 {
		w.add(journal.Block{Kind: journal.BlockText, Text: p.text.String()}, kept{})
	}
	blocks, err := w.done()
	if err != nil {
		return nil, err
	}
	a := &model.Answer{Blocks: blocks, Stop: p.stop, Served: p.last.Model, Origin: p.last.ID}
	switch {
	case w.refused:
		a.Stop = journal.AnswerRefuse
	case w.calls > 0 && p.stop == journal.AnswerEnd:
		a.Stop = journal.AnswerCalls
	}
	if a.Stop == journal.AnswerRefuse {
		a.Blocks = withoutCalls(a.Blocks)
	}
	if u := p.last.Usage; u.Input+u.Output > 0 {
		a.Usage = &journal.Usage{
			Input: u.Input, Cached: u.In.Cached, Written: u.In.Written, Output: u.Output, Reasoning: u.Out.Reasoning,
		}
	}
	return a, nil
}

// weave makes blocks of items and notes how they go back.
type weave struct {
	model   string
	cut     bool // the answer's length ended it
	blocks  []journal.Block
	notes   []kept
	ids     []string // of the calls
	calls   int
	refused bool
	bare    bool // there is reasoning that cannot go back
}

func (w *weave) add(b journal.Block, k kept) {
	k.After = w.calls
	w.blocks, w.notes = append(w.blocks, b), append(w.notes, k)
}

// outputItem is what is read of an item of any kind.
type outputItem struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Status  string `json:"status"`
	Phase   string `json:"phase"`
	Content []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func (w *weave) item(raw json.RawMessage, last bool) error {
	var i outputItem
	if err := decode(raw, &i); err != nil {
		return garbage("the server sent an item that cannot be read", err)
	}
	switch i.Type {
	case "message":
		w.message(&i)
	case "reasoning":
		w.reasoning(&i, raw)
	case "function_call":
		w.call(&i, last)
	}
	return nil
}

func (w *weave) message(m *outputItem) {
	var text strings.Builder
	for _, c := range m.Content {
		text.WriteString(c.Text)
		text.WriteString(c.Refusal)
		w.refused = w.refused || c.Refusal != ""
	}
	if text.Len() > 0 {
		w.add(journal.Block{Kind: journal.BlockText, Text: text.String()}, kept{ID: m.ID, Phase: m.Phase})
	}
}

// reasoning is kept as it came. OpenAI looks for the bare id of one without its content and finds
// nothing, so that one is only shown.
func (w *weave) reasoning(r *outputItem, raw json.RawMessage) {
	var shown []string
	for _, s := range r.Summary {
		shown = append(shown, s.Text)
	}
	for _, c := range r.Content {
		shown = append(shown, c.Text)
	}
	var k kept
	if r.Encrypted != "" || len(r.Content) > 0 {
		k = kept{Item: string(raw), Model: w.model}
	} else {
		w.bare = true
	}
	if text := strings.Join(shown, "\n\n"); text != "" || k.Item != "" {
		w.add(journal.Block{Kind: journal.BlockReasoning, Text: text}, k)
	}
}

func (w *weave) call(f *outputItem, last bool) {
	unfinished := f.Status == "incomplete" || f.Status == "in_progress"
	w.blocks = append(w.blocks, callBlock(f.CallID, f.Name, piece(f.Arguments), w.cut && (last || unfinished)))
	w.notes = append(w.notes, kept{})
	w.ids = append(w.ids, f.ID)
	w.calls++
}

// done gives the blocks, each with what is to be kept for it.
func (w *weave) done() ([]journal.Block, error) {
	first := true
	for i, k := range w.notes {
		if w.blocks[i].Kind == journal.BlockCall {
			continue
		}
		if w.bare {
			k.ID = ""
		} else if first && strings.Join(w.ids, "") != "" {
			k.Calls = w.ids
		}
		first = false
		if k.empty() {
			continue
		}
		raw, err := returned{Responses: &k}.raw()
		if err != nil {
			return nil, err
		}
		w.blocks[i].Opaque = raw
	}
	return w.blocks, nil
}
