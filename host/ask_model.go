package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agent/host/model"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/tools"
)

// callModel asks for one answer. Its text is shown as it comes and is not durable; the answer is one fact.
func (d *driver) callModel(ctx context.Context) error {
	if err := d.flush(ctx); err != nil {
		return err
	}
	if d.model == nil {
		m, err := d.h.Models(d.state.Created.Model)
		if err != nil {
			return d.interrupt(ctx, recovery.CauseModel, err.Error())
		}
		d.model = m
	}
	fault.Hit(fault.BeforeModel)
	answer, err := d.stream(ctx)
	switch {
	case err != nil && ctx.Err() != nil, errors.Is(err, errStopped):
		return nil // the loop leaves, or ends the run; the same request is sent again on resume
	case err != nil:
		return d.interrupt(ctx, recovery.CauseModel, err.Error())
	}
	fault.Hit(fault.AfterModel)
	d.record(d.answered(answer))
	return nil
}

var errStopped = errors.New("the run is to end")

type streamed struct {
	answer *model.Answer
	err    error
}

// forgetAfter is how long a model may think before the files of calls that are done with go meanwhile; after a quick answer
// they go beside the next call.
const forgetAfter = 20 * time.Millisecond

// stream reads the answer in a goroutine, so that a cancel or the time limit ends it at once.
func (d *driver) stream(ctx context.Context) (*model.Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, turn := d.request(), len(d.state.Turns)+1
	d.openLive()
	got := make(chan streamed, 1)
	go func() { a, err := d.read(ctx, req, turn); got <- streamed{a, err} }()
	limit, stop := d.deadline()
	defer stop()
	slow := time.NewTimer(forgetAfter)
	defer slow.Stop()
	for {
		select {
		case s := <-got:
			return s.answer, s.err
		case <-slow.C:
			d.forget()
		case <-limit:
			d.stopFor(recovery.StopDeadline, "", fmt.Sprintf("the time limit of %s is used up", d.state.Limits.Timeout))
		case <-d.waker.C():
			if err := d.readInbox(ctx); err != nil {
				return nil, err
			}
		}
		if d.state.Stopping != nil {
			cancel()
			<-got
			return nil, errStopped
		}
	}
}

// read drains the stream. It only publishes: it never waits for a disk, a database or a slow observer.
func (d *driver) read(ctx context.Context, req model.Request, turn int) (answer *model.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("ask model %s: panic: %v", d.state.Created.Model, p)
		}
	}()
	for delta, err := range d.model.Stream(ctx, req) {
		if err != nil {
			return nil, fmt.Errorf("ask model %s: %w", d.state.Created.Model, err)
		}
		if delta.Answer != nil {
			return delta.Answer, nil
		}
		d.h.Hub.Publish(stream.Event{Run: d.state.Created.Run, Turn: turn, Text: delta.Text})
	}
	return nil, fmt.Errorf("ask model %s: the stream ended without an answer", d.state.Created.Model)
}

// request is built from the facts alone, so it is the same before and after a crash.
func (d *driver) request() model.Request {
	req := model.Request{Messages: d.state.Messages()}
	for _, s := range d.h.Tools.Specs() {
		req.Tools = append(req.Tools, model.ToolSpec{Name: s.Name, Description: s.Description, Schema: s.Schema})
	}
	return req
}

// answered turns the model's answer into the fact of commit A: every call with its fingerprint, its effect and what the
// permission rules say.
func (d *driver) answered(a *model.Answer) recovery.ModelAnswered {
	fact := recovery.ModelAnswered{Stop: a.Stop, Usage: a.Usage}
	for _, b := range a.Blocks {
		if b.Kind == recovery.BlockCall {
			fact.Calls = append(fact.Calls, d.propose(b.Call))
			continue
		}
		fact.Blocks = append(fact.Blocks, b)
	}
	return fact
}

func (d *driver) propose(c *recovery.CallBlock) recovery.Proposal {
	p := recovery.Proposal{
		ID: NewID("c"), Provider: c.Provider, Tool: c.Tool, Args: c.Args,
		Effect: recovery.EffectWriteExternal, Decision: recovery.DecisionAllow,
	}
	if !json.Valid(p.Args) {
		text, err := json.Marshal(string(c.Args))
		if err != nil {
			panic(err) // a string always encodes
		}
		p.Args, p.Invalid = text, "its arguments are not JSON"
	}
	fp, err := d.h.Store.Fingerprint(p.Tool, p.Args)
	if err != nil {
		p.Invalid, fp = err.Error(), "none:"+digest(p.Args)
	}
	p.Fingerprint = fp
	t, err := d.h.Tools.Get(p.Tool)
	if err != nil {
		p.Invalid = err.Error()
	}
	if p.Invalid == "" {
		if err := d.h.Tools.Read(p.Tool, p.Args); err != nil {
			p.Invalid = err.Error()
		}
	}
	if p.Invalid == "" {
		d.classify(&p, t)
	}
	return p
}

func (d *driver) classify(p *recovery.Proposal, t tools.Tool) {
	p.Effect = t.Effect(p.Args)
	if r, ok := t.(tools.RetrySafe); ok {
		p.RetrySafe = r.RetrySafe(p.Args)
	}
	if a, ok := t.(tools.Asker); ok {
		q, err := a.Question(p.Args)
		if err != nil {
			p.Invalid = err.Error()
			return
		}
		p.Question = &q
		return
	}
	p.Decision, p.Why = permit(d.state.Mode, p.Effect, d.state.Created.Authored)
}

// permit says what the mode makes of an effect. What the person who started the run wrote needs no further yes, except
// in plan, which only reads.
func permit(m recovery.Mode, e recovery.Effect, authored bool) (recovery.Decision, string) {
	switch {
	case e == recovery.EffectRead:
		return recovery.DecisionAllow, ""
	case m == recovery.ModePlan:
		return recovery.DecisionDeny, "mode plan only reads"
	case authored, m == recovery.ModeYolo, m == recovery.ModeAuto && e == recovery.EffectWriteLocal:
		return recovery.DecisionAllow, ""
	case e == recovery.EffectWriteLocal:
		return recovery.DecisionAsk, "it writes in the workspace"
	}
	return recovery.DecisionAsk, "it may change anything"
}
