package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"agent/host/model"
	"agent/host/model/transport"
	"agent/host/view"
	"agent/recovery/journal"
)

// Check asks a model one small question.
func (a *App) Check(ctx context.Context, conf *Settings, f Wish) (view.Check, error) {
	ch, err := a.Choose(ctx, conf, f, Previous{})
	if err != nil {
		return view.Check{}, err
	}
	v := view.Check{Version: 1, Model: ch.Name, Why: ch.Why, OK: true}
	if f.Model != "" {
		v.Why = "as named"
	}
	name, of, err := conf.Catalog.Parse(ch.Name)
	switch {
	case err != nil:
		return v, err
	case name != "":
		p, _ := conf.Catalog.Provider(name) // Parse has found it
		if f.BaseURL != "" {
			p = p.At(f.BaseURL)
		}
		v.Kind, v.BaseURL = p.Protocol, p.BaseURL
		key := a.key(p)
		client := transport.Client(transport.Options{Agent: "agent/" + a.Version, Idle: a.idle(conf, p), Secrets: unsaid(key)})
		askOnce(ctx, &v, provided(p, of, key, client), ch.Setup)
		if ctx.Err() != nil {
			return v, context.Cause(ctx)
		}
	}
	return v, nil
}

// checkWait bounds a check: a local server may have to load its model first.
const checkWait = 5 * time.Minute

// checkRequest is the question: a sentence, which shows whether it comes in pieces, and one call.
func checkRequest(setup journal.Setup) model.Request {
	text := "Say in one sentence of about twenty words what a tide is. Then call the tool note with that sentence."
	return model.Request{
		System:   "This is a check of the connection. Do exactly what is asked, and nothing else.",
		Messages: []journal.Message{{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: text}}}},
		Tools: []model.ToolSpec{{
			Name: "note", Description: "Notes a sentence.",
			Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`),
		}},
		MaxOutput: 4096, Effort: setup.Effort, Thread: "check", Turn: 1,
	}
}

// ask asks and notes what came.
func askOnce(ctx context.Context, v *view.Check, m model.Model, setup journal.Setup) {
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	start := time.Now()
	var first atomic.Int64
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotFirstResponseByte: func() { first.CompareAndSwap(0, max(1, time.Since(start).Milliseconds())) },
	})
	for d, err := range m.Stream(ctx, checkRequest(setup)) {
		if err != nil {
			checkFailed(v, err)
			break
		}
		if d.Text != "" || d.Reasoning != "" {
			v.Pieces += 1 + d.Joined
			if v.FirstWord == 0 {
				v.FirstWord = max(1, time.Since(start).Milliseconds())
			}
		}
		if d.Answer != nil {
			checkAnswered(v, d.Answer, setup)
		}
	}
	v.FirstByte = first.Load()
	v.Whole, v.Streams = max(1, time.Since(start).Milliseconds()), v.Pieces > 1
}

func checkAnswered(v *view.Check, answer *model.Answer, setup journal.Setup) {
	v.Served, v.Usage = answer.Served, answer.Usage
	if answer.Usage != nil && setup.Price != nil {
		cost := setup.Price.Cost(*answer.Usage)
		v.Cost = &cost
	}
	for _, b := range answer.Blocks {
		v.Tools = v.Tools || b.Call != nil && b.Call.Tool == "note"
	}
	if v.OK = v.Tools; !v.OK {
		v.Error = "it answered without calling the tool that it was asked to call"
		v.Remedy = "use a model that can call tools, and see to it that its server passes calls on"
	}
}

func checkFailed(v *view.Check, err error) {
	v.OK, v.Error = false, err.Error()
	var known *model.Error
	switch {
	case errors.As(err, &known):
		v.Fault, v.Error, v.Remedy = known.Fault, known.Error(), known.Remedy
	case errors.Is(err, context.DeadlineExceeded):
		v.Error = fmt.Sprintf("there was no answer within %s", checkWait)
	}
}
