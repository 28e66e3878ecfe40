package drive

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"agent/host/drive/brief"
	"agent/host/model"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// modelTurn is what the model is asked, and what comes of it.
type modelTurn struct {
	*recorder
	policy *policy
	inbox  *inbox
	calls  *caller
	model  model.Model // made when it is needed first
	named  string      // what cacheKey gives
	ahead  bool        // what filesAhead does was done
}

// callModel asks for one answer. Its text is shown as it comes and is not durable; the answer is
// one fact. So is that none came: what follows from that is decided by the facts, here and after a
// crash alike. Step 3.
func (mt *modelTurn) callModel(ctx context.Context, a recovery.CallModel) error {
	if err := mt.mayAsk(ctx, a.NotBefore); err != nil {
		return orLeave(err)
	}
	fault.Hit(fault.BeforeModel)
	mt.filesAhead()
	s := &streaming{req: mt.request(mt.state.Messages(), a.Turn), shown: true}
	answer, err := mt.stream(ctx, s)
	if err != nil {
		return mt.noAnswer(ctx, s, err)
	}
	fault.Hit(fault.AfterModel)
	mt.record(mt.policy.answered(answer))
	return nil
}

// compact has the model write the summary that stands for older messages from then on. Step 3.
func (mt *modelTurn) compact(ctx context.Context, a recovery.Compact) error {
	if err := mt.mayAsk(ctx, a.NotBefore); err != nil {
		return orLeave(err)
	}
	mt.p.Note(mt.state.Created.Run, "the model's window fills: asking it for a summary of older messages")
	turn := len(mt.state.Turns) + 1
	s := &streaming{req: mt.request(mt.state.SummaryMessages(a.Through), turn)}
	answer, err := mt.stream(ctx, s)
	if err == nil && (wordsOf(answer) == "" || answer.Stop != journal.AnswerEnd) {
		err = &model.Error{Fault: journal.FaultGarbage, Message: "the model was asked for a summary and wrote no whole one", Began: true}
	}
	if err != nil {
		return mt.noAnswer(ctx, s, err)
	}
	fault.Hit(fault.BeforeSummary)
	mt.record(mt.state.Summarised(a, wordsOf(answer), answer.Usage))
	return nil
}

func wordsOf(a *model.Answer) string {
	var parts []string
	for _, b := range a.Blocks {
		if b.Kind == journal.BlockText {
			parts = append(parts, b.Text)
		}
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// errStopped says that the run is to end, or that this process is: nothing is recorded about the
// request.
var errStopped = errors.New("the run is to end")

// orLeave drops errStopped: the loop looks at why, and leaves or ends the run.
func orLeave(err error) error {
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// mayAsk makes durable what is recorded, finds the model, and waits until it may be asked.
func (mt *modelTurn) mayAsk(ctx context.Context, notBefore time.Time) error {
	if err := mt.calls.flush(ctx); err != nil {
		return err
	}
	if mt.model == nil {
		m, err := mt.env.Model(mt.state.Created, mt.env.Tools)
		if err != nil {
			return mt.calls.interrupt(ctx, journal.CauseModel, err.Error())
		}
		mt.model = m
	}
	wait := notBefore.Sub(mt.steady())
	if notBefore.IsZero() || wait <= 0 {
		return nil
	}
	over := time.NewTimer(wait)
	defer over.Stop()
	return mt.meanwhile(ctx, over.C)
}

// meanwhile waits for the time, and looks after the run until then.
func (mt *modelTurn) meanwhile(ctx context.Context, over <-chan time.Time) error {
	limit, stop := mt.deadline()
	defer stop()
	for {
		select {
		case <-over:
			return nil
		case <-limit:
			mt.timeIsUp()
		case <-mt.inbox.waker.C():
			if err := mt.inbox.readInbox(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return errStopped
		}
		if mt.state.Stopping != nil {
			return errStopped
		}
	}
}

// noAnswer records why there is none, and whether the request is sent again. Asked to stop, it
// records nothing: the same request is sent after a resume.
func (mt *modelTurn) noAnswer(ctx context.Context, s *streaming, err error) error {
	var e *model.Error
	switch {
	case ctx.Err() != nil, errors.Is(err, errStopped):
		return nil
	case !errors.As(err, &e):
		return mt.calls.interrupt(ctx, journal.CauseModel, fmt.Sprintf("ask model %s: %v", mt.state.Created.Model, err))
	}
	fact := journal.ModelFailed{
		Fault: e.Fault, Detail: fmt.Sprintf("ask model %s: %v", mt.state.Created.Model, e), Remedy: e.Remedy, Tries: mt.state.Tries() + 1,
	}
	if e.Began || s.began {
		fact.Usage = mt.state.Charge(s.text.String())
	}
	fact.Wait, fact.Again = recovery.Retry(e.Fault, fact.Tries, e.After, rand.Float64())
	if !fact.Again && e.After > recovery.Patience {
		fact.Remedy = fmt.Sprintf("the provider wants no request %s; resume after that", quiet(e.After, mt.p.Now()))
	}
	mt.record(fact)
	return nil
}

// quiet says how long a provider wants no request; beyond a day by its date, since nobody counts so
// many hours.
func quiet(after time.Duration, now time.Time) string {
	if after <= 24*time.Hour {
		return "for " + after.Round(time.Second).String()
	}
	return "before " + now.Add(after).UTC().Format("2006-01-02 15:04 UTC")
}

// streaming is one request and what came of it so far. The reader's goroutine owns it until it is
// done.
type streaming struct {
	req   model.Request
	shown bool // its text is for the person
	began bool
	text  strings.Builder
}

type streamed struct {
	answer *model.Answer
	err    error
}

const (
	// forgetAfter is how long a model may think before the files of calls that are done with go
	// meanwhile; after a quick answer they go beside the next call.
	forgetAfter = 20 * time.Millisecond
	// letGo is how long a model may take to notice that nobody wants its answer any more.
	letGo = 500 * time.Millisecond
)

// stream reads the answer in a goroutine, so that a cancel, the time limit or a shutdown ends it at
// once.
func (mt *modelTurn) stream(ctx context.Context, s *streaming) (*model.Answer, error) {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	got := make(chan streamed, 1)
	go func() { a, err := mt.read(within, s); got <- streamed{a, err} }()
	limit, stop := mt.deadline()
	defer stop()
	slow := time.NewTimer(forgetAfter)
	defer slow.Stop()
	for {
		select {
		case r := <-got:
			if p, ok := r.err.(*PanicError); ok {
				panic(p)
			}
			return r.answer, r.err
		case <-slow.C:
			mt.calls.forget()
		case <-limit:
			mt.timeIsUp()
		case <-mt.inbox.waker.C():
			if err := mt.inbox.readInbox(ctx); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return abandoned(got)
		}
		if mt.state.Stopping != nil {
			cancel()
			return abandoned(got)
		}
	}
}

// abandoned gives the reader a moment to end. An answer that is whole by then is not taken: the run
// is asked to stop, and the same request is sent after a resume.
func abandoned(got <-chan streamed) (*model.Answer, error) {
	late := time.NewTimer(letGo)
	defer late.Stop()
	select {
	case <-got:
	case <-late.C: // it can do nothing any more but publish text to a hub that closes
	}
	return nil, errStopped
}

// read drains the stream. It only publishes: it never waits for a disk, a database or a slow
// observer.
func (mt *modelTurn) read(ctx context.Context, s *streaming) (answer *model.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = newPanic(mt.state.Created.Run, p)
		}
	}()
	for delta, err := range mt.model.Stream(ctx, s.req) {
		if err != nil {
			return nil, err
		}
		if delta.Answer != nil {
			// Its last word need not wait for the commit.
			mt.p.Hub.Publish(stream.Event{Run: mt.state.Created.Run, Turn: s.req.Turn, Whole: true})
			return delta.Answer, nil
		}
		s.began = true
		s.text.WriteString(delta.Text)
		s.text.WriteString(delta.Reasoning)
		if s.shown {
			mt.showPiece(s.req.Turn, delta)
		}
		fault.Hit(fault.MidAnswer)
	}
	return nil, errors.New("the stream ended without an answer")
}

func (mt *modelTurn) showPiece(turn int, p model.Delta) {
	run := mt.state.Created.Run
	if p.Reasoning != "" {
		mt.p.Hub.Publish(stream.Event{Run: run, Turn: turn, Reasoning: p.Reasoning})
	}
	if p.Text != "" {
		mt.p.Hub.Publish(stream.Event{Run: run, Turn: turn, Text: p.Text})
	}
}

// cacheKey names the conversation to the provider, which finds there what it has read already: a
// fork has the name of what it comes from.
func (mt *modelTurn) cacheKey() string {
	c := mt.state.Created
	if mt.named == "" {
		mt.named = c.Thread
		if t, err := mt.p.Store.Thread(context.Background(), c.Thread); err == nil && c.Root == "" {
			mt.named = t.KeyOf
		}
	}
	return mt.named
}

// request is built from the facts alone, so it is the same before and after a crash.
func (mt *modelTurn) request(messages []journal.Message, turn int) model.Request {
	setup := mt.state.Created.Setup
	req := model.Request{
		System: brief.System(mt.state), Messages: messages, MaxOutput: setup.MaxOutput, Effort: setup.Effort,
		Thread: mt.cacheKey(), Turn: turn,
	}
	for _, s := range mt.env.Tools.Specs() {
		req.Tools = append(req.Tools, model.ToolSpec{Name: s.Name, Description: s.Description, Schema: s.Schema})
	}
	return req
}
