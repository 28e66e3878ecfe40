package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	protocol "github.com/coder/acp-go-sdk"

	"agent/host"
	"agent/host/app"
	"agent/host/launch"
	"agent/host/owner"
	"agent/host/view"
	"agent/host/watch"
	"agent/recovery/journal"
)

// asks are the questions that stand at the editor, by id.
type asks struct {
	mu   sync.Mutex
	open map[string]context.CancelFunc // by which they are withdrawn
	left map[string]app.PendingRow     // those that the person left open
	busy sync.WaitGroup
}

func (a *asks) end() {
	a.mu.Lock()
	for _, withdraw := range a.open {
		withdraw()
	}
	a.mu.Unlock()
	a.busy.Wait()
}

// put puts the questions that stand now, of the run and of those below it, and takes those back
// that were answered elsewhere.
func (f *following) put(below []watch.Below, known bool) {
	var ids []string
	if f.shown.open != nil {
		ids = append(ids, f.shown.open.ID)
	}
	for _, b := range below {
		if b.Request != "" {
			ids = append(ids, b.Request)
		}
	}
	f.asks.mu.Lock()
	defer f.asks.mu.Unlock()
	for id, withdraw := range f.asks.open {
		if !slices.Contains(ids, id) && (known || f.owns(id)) {
			withdraw()
			delete(f.asks.open, id)
			delete(f.asks.left, id)
		}
	}
	for _, id := range ids {
		if f.asks.open[id] != nil {
			continue
		}
		row, err := f.Folder.Store.PendingByID(f.ctx, id)
		if err != nil || row.Damaged != nil || row.Status != app.RequestOpen {
			continue // the next fact says what became of it
		}
		f.putOne(row)
	}
}

// putOne puts one question; asks.mu is held.
func (f *following) putOne(row app.PendingRow) {
	ctx, withdraw := context.WithCancel(f.ctx)
	f.asks.open[row.ID] = withdraw
	f.asks.busy.Go(func() { f.ask(ctx, row) })
}

// again puts the questions that were left open.
func (f *following) again() {
	f.asks.mu.Lock()
	defer f.asks.mu.Unlock()
	for id, row := range f.asks.left {
		delete(f.asks.left, id)
		f.putOne(row)
	}
}

// owns says whether a question was the run's own: its facts say when it is over.
func (f *following) owns(id string) bool {
	row, err := f.Folder.Store.PendingByID(f.ctx, id)
	return err == nil && row.Run == f.run
}

// ask puts one question, and records the answer. What ends ctx answers it elsewhere.
func (f *following) ask(ctx context.Context, row app.PendingRow) {
	q := row.Request
	options := optionsOf(q.Question)
	if len(options) == 0 {
		f.leaveOpen(row, "\n"+view.QuestionText(&q)+"\n\nThe next prompt is the answer.\n")
		return
	}
	picked, err := f.pick(ctx, callOf(&q), options)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil || picked == "":
		f.leaveOpen(row, fmt.Sprintf("\nThe question stays open: %s\n", view.AnswerCommand(q.ID)))
		return
	}
	raw, err := view.ParseAnswer(q.Question, picked)
	if err == nil {
		err = f.answer(q.ID, raw)
	}
	if old := new(host.OutdatedError); errors.As(err, &old) {
		f.leaveOpen(row, "\n"+f.App.Redacted(err.Error())+"\n")
		return
	}
	if err != nil {
		f.say(row, "\n"+f.App.Redacted(err.Error())+"\n")
	}
}

// leaveOpen says how a question is answered that stays open, and ends the prompt that waits for it.
func (f *following) leaveOpen(row app.PendingRow, text string) {
	f.say(row, text)
	f.asks.mu.Lock()
	f.asks.left[row.ID] = row
	f.asks.mu.Unlock()
	select {
	case f.left <- row.ID:
	default: // another one is open already
	}
}

// forget drops that a question was left open before anybody waited for the run.
func (f *following) forget() {
	select {
	case <-f.left:
	default:
	}
}

// say adds a text to the turn of a question.
func (f *following) say(row app.PendingRow, text string) {
	turn := 0
	if row.Request.Call != nil {
		turn = row.Request.Call.Turn
	}
	f.shown.message(turn, text)
}

// answer records an answer and has the run go on.
func (e *editor) answer(id string, raw []byte) error {
	var at *launch.Accepted
	_, err := e.Folder.Answer(e.acting(), id, raw, e.Carrier.GoOn(&at))
	if errors.As(err, new(*owner.HeldError)) {
		return nil // whoever drives the run takes it
	}
	return err
}

// pick has the person choose; "" where they do not.
func (s *session) pick(ctx context.Context, about protocol.ToolCallUpdate, options []protocol.PermissionOption) (string, error) {
	got, err := protocol.SendRequest[protocol.RequestPermissionResponse](s.conn, ctx, protocol.ClientMethodSessionRequestPermission,
		protocol.RequestPermissionRequest{SessionId: s.id, ToolCall: about, Options: options})
	if err != nil || got.Outcome.Selected == nil {
		return "", err
	}
	id := got.Outcome.Selected.OptionId
	if !slices.ContainsFunc(options, func(o protocol.PermissionOption) bool { return o.OptionId == id }) {
		return "", fmt.Errorf("the editor chose %q, which was not offered", id)
	}
	return string(id), nil
}

// callOf is what a question is about, with all of its text.
func callOf(q *journal.Request) protocol.ToolCallUpdate {
	id, title, kind := q.CallID, "", protocol.ToolKindOther
	if id == "" || q.Kind == journal.RequestElicit {
		id = q.ID
	}
	title, _, _ = strings.Cut(q.Message, "\n")
	if q.Tool != "" {
		kind = kindOf(q.Tool)
	}
	pending := protocol.ToolCallStatusPending
	return protocol.ToolCallUpdate{
		ToolCallId: protocol.ToolCallId(id), Title: &title, Kind: &kind, Status: &pending,
		Content: []protocol.ToolCallContent{protocol.ToolContent(protocol.TextBlock(view.QuestionText(q)))},
	}
}

// optionsOf are the answers to a question, where they can be listed.
func optionsOf(q journal.Question) []protocol.PermissionOption {
	choices := q.Choices
	if len(choices) == 0 && q.Kind == journal.RequestConfirm {
		choices = []string{journal.AnswerYes, journal.AnswerNo}
	}
	var out []protocol.PermissionOption
	for i, c := range choices {
		name := c
		if i < len(q.Hints) && q.Hints[i] != "" {
			name += ": " + q.Hints[i]
		}
		out = append(out, protocol.PermissionOption{OptionId: protocol.PermissionOptionId(c), Name: name, Kind: optionKind(c)})
	}
	return out
}

// optionKind is what an answer is to an editor.
func optionKind(answer string) protocol.PermissionOptionKind {
	switch {
	case answer == journal.AnswerNever:
		return protocol.PermissionOptionKindRejectAlways
	case strings.HasPrefix(answer, "always"):
		return protocol.PermissionOptionKindAllowAlways
	case slices.Contains([]string{journal.AnswerNo, string(journal.WordLeave), string(journal.WordStop), "stop"}, answer):
		return protocol.PermissionOptionKindRejectOnce
	}
	return protocol.PermissionOptionKindAllowOnce
}
