package acp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"

	protocol "github.com/coder/acp-go-sdk"

	"agent/host/stream"
	"agent/host/view"
	"agent/host/watch"
	"agent/recovery/journal"
)

// showing says what of a run an editor sees beside what happens now.
type showing struct {
	prompt bool  // its prompt, and what persons said to its model from elsewhere
	from   int64 // the facts behind this one; [now] for those that come
	title  bool  // it is the first of its session, which is called by its prompt
}

// now is the place behind all facts that there are.
const now = -1

// shown turns the facts and the live text of a run into updates, in their order.
type shown struct {
	run    string
	folder string
	own    string // who acts for this editor: what they say it shows by itself
	what   showing
	give   func(protocol.SessionUpdate)
	quiet  atomic.Bool // nothing is given: it was shown before

	window int64
	words  said // of the answer that is being given
	mind   said
	stop   journal.AnswerStop        // of the last answer
	limit  journal.RequestKind       // that the run was to end at
	ids    map[journal.Place]calling // what is known of calls
	output map[journal.Place][]byte  // of those that run
	open   *journal.Request          // the question that stands
}

// calling is a call as an editor knows it.
type calling struct {
	id   string
	kind protocol.ToolKind
}

// said is a text that grows.
type said struct {
	turn int
	text string
	lost bool // its beginning did not come
}

// mostOutput is how much of a running command's output an editor is shown; bytes.
const mostOutput = 8 << 10

func (s *shown) message(turn int, text string) {
	if text = stream.Sanitize(text); text == "" {
		return
	}
	u := protocol.UpdateAgentMessageText(text)
	u.AgentMessageChunk.MessageId = s.id(turn)
	s.give(u)
}

func (s *shown) thought(turn int, text string) {
	if text = stream.Sanitize(text); text == "" {
		return
	}
	u := protocol.UpdateAgentThoughtText(text)
	u.AgentThoughtChunk.MessageId = s.id(turn)
	s.give(u)
}

func (s *shown) id(turn int) *string {
	id := fmt.Sprintf("%s/%d", s.run, turn)
	return &id
}

func (s *shown) user(text string) {
	if text = stream.Sanitize(text); text != "" {
		s.give(protocol.UpdateUserMessageText(text))
	}
}

// live shows a piece of text or output that is not on record yet.
func (s *shown) live(kind string, f *watch.Frame) {
	switch kind {
	case watch.TypeText:
		s.words.grow(f, func(text string) { s.message(f.Turn, text) })
	case watch.TypeReasoning:
		s.mind.grow(f, func(text string) { s.thought(f.Turn, text) })
	case watch.TypeOutput:
		f := *f
		f.Call.Attempt = 0
		if s.ids[f.Call].id == "" {
			s.ids[f.Call] = calling{id: f.ID}
		}
		if f.Start {
			s.output[f.Call] = nil
		}
		out := append(s.output[f.Call], f.Data...)
		if len(out) > mostOutput {
			out = out[len(out)-mostOutput:]
		}
		s.output[f.Call] = out
		s.call(f.Call, protocol.ToolCallStatusInProgress, strings.ToValidUTF8(string(out), "\uFFFD"))
	}
}

// grow takes a piece. An answer that begins anew is shown anew.
func (t *said) grow(f *watch.Frame, show func(text string)) {
	if f.Start {
		if t.turn == f.Turn && t.text != "" {
			show("\n\n(the answer begins anew)\n\n")
		}
		*t = said{turn: f.Turn, lost: f.Offset > 0}
	}
	if t.lost {
		return // the whole of it comes with its fact
	}
	t.text += string(f.Data)
	show(string(f.Data))
}

// rest is what of a text was not shown.
func (t *said) rest(turn int, whole string) string {
	seen := t.text
	if t.turn != turn || t.lost {
		seen = ""
	}
	*t = said{}
	if rest, ok := strings.CutPrefix(whole, seen); ok {
		return rest
	}
	return "\n\n" + whole
}

// fact shows one fact.
func (s *shown) fact(e journal.Event) {
	switch b := e.Body.(type) {
	case journal.RunCreated:
		s.created(b)
	case journal.MessageAdded:
		if !b.Misfit && (s.what.prompt || b.By != s.own) {
			s.user(b.Text)
		}
	case journal.ModelAnswered:
		s.answered(e.Turn, b)
	case journal.ModelFailed:
		s.thought(e.Turn, view.FailedText("the model", b)+"\n")
	case journal.RunNoted:
		s.thought(e.Turn, b.Text+"\n")
	case journal.CallStarted:
		s.call(b.Place, protocol.ToolCallStatusInProgress, "")
	case journal.CallSettled:
		delete(s.output, b.Place)
		status := protocol.ToolCallStatusFailed
		if b.Result.Outcome == journal.OutcomeOK {
			status = protocol.ToolCallStatusCompleted
		}
		s.call(b.Place, status, s.resultOf(b))
	case journal.RequestOpened:
		s.open = &b.Request
	case journal.RequestAnswered:
		s.limited(b)
		s.open = nil
	case journal.RequestClosed:
		s.open = nil
	case journal.RunFailed:
		s.message(e.Turn+1, b.Reason)
	}
}

func (s *shown) created(b journal.RunCreated) {
	s.window, s.folder = b.Setup.Window, b.Folder
	if b.Rewind != nil {
		s.message(0, "(what runs of this session did was taken back)")
		return
	}
	if s.what.prompt {
		s.user(b.Prompt)
	}
	if s.what.title {
		title := view.PromptStart(b.Prompt)
		s.give(protocol.SessionUpdate{SessionInfoUpdate: &protocol.SessionSessionInfoUpdate{Title: &title}})
	}
}

// limited notes that a person had the run end at its limit.
func (s *shown) limited(b journal.RequestAnswered) {
	if s.open == nil || s.open.ID != b.ID || journal.Text(b.Answer) != journal.AnswerNo {
		return
	}
	switch s.open.Kind {
	case journal.RequestMaxTurns, journal.RequestMaxTokens, journal.RequestMaxCost:
		s.limit = s.open.Kind
	}
}

// answered shows what of an answer was not shown while it came, and its calls.
func (s *shown) answered(turn int, b journal.ModelAnswered) {
	var words, mind strings.Builder
	for _, block := range b.Blocks {
		switch block.Kind {
		case journal.BlockText:
			words.WriteString(block.Text)
		case journal.BlockReasoning:
			mind.WriteString(block.Text)
		}
	}
	s.thought(turn, s.mind.rest(turn, mind.String()))
	s.message(turn, s.words.rest(turn, words.String()))
	s.stop = b.Stop
	for i, c := range b.Calls {
		s.ids[journal.Place{Turn: turn, Index: i}] = calling{c.ID, kindOf(c.Tool)}
		s.give(s.proposed(c))
	}
	if u := b.Usage; u != nil && s.window > 0 {
		s.give(protocol.SessionUpdate{UsageUpdate: &protocol.SessionUsageUpdate{Used: int(u.Input + u.Output), Size: int(s.window)}})
	}
}

// proposed is a call that a model asks for.
func (s *shown) proposed(c journal.Proposal) protocol.SessionUpdate {
	title := stream.Sanitize(view.CallName(c.Tool, c.Args))
	u := protocol.StartToolCall(protocol.ToolCallId(c.ID), title,
		protocol.WithStartKind(kindOf(c.Tool)), protocol.WithStartStatus(protocol.ToolCallStatusPending), protocol.WithStartRawInput(c.Args))
	var args struct {
		Path    string `json:"path"`
		Content string `json:"content"`
		Old     string `json:"old"`
		New     string `json:"new"`
	}
	if kindOf(c.Tool) == protocol.ToolKindOther || json.Unmarshal(c.Args, &args) != nil || args.Path == "" {
		return u
	}
	path := args.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.folder, path)
	}
	u.ToolCall.Locations = []protocol.ToolCallLocation{{Path: path}}
	switch c.Tool {
	case "write_file":
		u.ToolCall.Content = []protocol.ToolCallContent{protocol.ToolDiffContent(path, args.Content)}
	case "edit_file":
		u.ToolCall.Content = []protocol.ToolCallContent{protocol.ToolDiffContent(path, args.New, args.Old)}
	}
	return u
}

// kindOf is what an editor shows a call as.
func kindOf(tool string) protocol.ToolKind {
	switch tool {
	case "read_file", "read_output", "list_dir":
		return protocol.ToolKindRead
	case "search", "find_files":
		return protocol.ToolKindSearch
	case "write_file", "edit_file", "apply_patch":
		return protocol.ToolKindEdit
	case "shell":
		return protocol.ToolKindExecute
	case "fetch":
		return protocol.ToolKindFetch
	}
	return protocol.ToolKindOther
}

// resultOf is what is shown of a result; "" where the call shows what it changed by itself.
func (s *shown) resultOf(b journal.CallSettled) string {
	p := b.Place
	p.Attempt = 0
	switch {
	case b.Result.Outcome != journal.OutcomeOK:
		return view.ResultText(b.Result) + "\n" + b.Result.Content
	case s.ids[p].kind == protocol.ToolKindEdit:
		return ""
	}
	return b.Result.Content
}

// call shows how far a call has come; "" adds no text.
func (s *shown) call(p journal.Place, status protocol.ToolCallStatus, text string) {
	p.Attempt = 0
	id := s.ids[p].id
	if id == "" {
		return // its proposal was not shown: an editor knows nothing of it
	}
	with := []protocol.ToolCallUpdateOpt{protocol.WithUpdateStatus(status)}
	if text = stream.Sanitize(text); text != "" {
		with = append(with, protocol.WithUpdateContent([]protocol.ToolCallContent{protocol.ToolContent(protocol.TextBlock(text))}))
	}
	s.give(protocol.UpdateToolCall(protocol.ToolCallId(id), with...))
}
