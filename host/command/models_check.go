package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v3"

	"agent/host/config"
	"agent/host/model"
	"agent/host/model/catalog"
	"agent/host/model/wire"
	"agent/host/view"
	"agent/recovery"
)

// checkWait bounds a check: a local server may have to load its model first.
const checkWait = 5 * time.Minute

// checkModel asks a model one small question.
func (a *commandLine) checkModel(ctx context.Context, c *cli.Command, conf *settings) error {
	f := Wish{Model: c.Args().First(), BaseURL: c.String("base-url")}
	if f.BaseURL != "" {
		if err := config.CheckURL(f.BaseURL); err != nil {
			return usage(fmt.Errorf("--base-url: %v", err))
		}
	}
	if f.Model != "" {
		if _, _, err := conf.models.Parse(f.Model); err != nil {
			return usage(fmt.Errorf("check the model that the argument names: %v", err))
		}
	}
	ch, err := a.choose(ctx, conf, f, last{})
	if err != nil {
		return err
	}
	v := view.Check{Version: 1, Model: ch.Name, Why: ch.Why, OK: true}
	if f.Model != "" {
		v.Why = "as named"
	}
	name, of, err := conf.models.Parse(ch.Name)
	switch {
	case err != nil:
		return err
	case name != "":
		p, _ := conf.models.Provider(name) // Parse has found it
		if f.BaseURL != "" {
			p = p.At(f.BaseURL)
		}
		v.Kind, v.BaseURL = p.Protocol, p.BaseURL
		key := a.key(p)
		client := wire.Client(wire.Options{Agent: "agent/" + Version, Idle: a.idle(conf, p), Secrets: unsaid(key)})
		askOnce(ctx, &v, provided(p, of, key, client), ch.Setup)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if c.Bool("json") {
		a.PrintJSON(v)
	} else {
		a.printCheck(v, conf)
	}
	if !v.OK {
		return withCode(view.ExitFailed)
	}
	return nil
}

// checkRequest is the question: a sentence, which shows whether it comes in pieces, and one call.
func checkRequest(setup recovery.Setup) model.Request {
	text := "Say in one sentence of about twenty words what a tide is. Then call the tool note with that sentence."
	return model.Request{
		System:   "This is a check of the connection. Do exactly what is asked, and nothing else.",
		Messages: []recovery.Message{{Role: recovery.RoleUser, Blocks: []recovery.Block{{Kind: recovery.BlockText, Text: text}}}},
		Tools: []model.ToolSpec{{
			Name: "note", Description: "Notes a sentence.",
			Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`),
		}},
		MaxOutput: 4096, Effort: setup.Effort, Thread: "check", Turn: 1,
	}
}

// ask asks and notes what came.
func askOnce(ctx context.Context, v *view.Check, m model.Model, setup recovery.Setup) {
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
			v.Pieces++
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

func checkAnswered(v *view.Check, answer *model.Answer, setup recovery.Setup) {
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

func (a *commandLine) printCheck(v view.Check, conf *settings) {
	row := func(name, format string, args ...any) {
		a.Say(a.Out, "%-10s %s", name, fmt.Sprintf(format, args...))
	}
	row("model", "%s (%s)", v.Model, v.Why)
	if v.Kind == "" {
		row("asked at", "nowhere: it needs no network")
		return
	}
	row("asked at", "%s, %s", v.BaseURL, v.Kind)
	if name, _, ok := strings.Cut(v.Model, "/"); ok {
		if p, ok := conf.models.Provider(name); ok {
			row("key", "%s", view.KeyText(view.Provider{KeyEnv: p.KeyEnv, KeyCmd: p.KeyCmd, HasKey: conf.models.HasKey(p)}))
		}
	}
	if v.Fault != "" || !v.OK && v.Usage == nil && v.Served == "" && v.Pieces == 0 {
		row("failed", "after %s: %s", view.Milliseconds(v.Whole), v.Error)
	} else {
		a.printAnswered(v, row)
	}
	if v.Remedy != "" {
		row("remedy", "%s", v.Remedy)
	}
}

func (a *commandLine) printAnswered(v view.Check, row func(name, format string, args ...any)) {
	if v.Served != "" && v.Served != v.Model[strings.IndexByte(v.Model, '/')+1:] {
		row("served by", "%s", v.Served)
	}
	row("answered", "first byte after %s, whole after %s", view.Milliseconds(v.FirstByte), view.Milliseconds(v.Whole))
	switch {
	case v.Streams:
		row("streams", "yes: the text came in %s, the first after %s", view.Count(v.Pieces, "piece"), view.Milliseconds(v.FirstWord))
	case v.Pieces == 1:
		row("streams", "no: the text came in one piece")
	default:
		row("streams", "not seen: no text came beside the call")
	}
	if v.Tools {
		row("tools", "yes: it called the tool")
	} else {
		row("tools", "no: %s", v.Error)
	}
	if u := v.Usage; u == nil {
		row("usage", "the server does not say; tokens are estimated")
	} else {
		row("usage", "%d tokens read, %d written%s", u.Input, u.Output, view.CostText(v.Cost))
	}
}

// modelNames are the names that --model may have, with what is known of each: usable ones only.
func (s *settings) modelNames() [][2]string {
	out := [][2]string{{"runbook", "carries out Markdown"}}
	if s.Model != "" {
		out = append(out, [2]string{s.Model, "the configuration's"})
	}
	for _, m := range s.known() {
		if m.Usable && m.Name != s.Model {
			about := ""
			if m.Window > 0 {
				about = "takes " + view.Tokens(m.Window) + " tokens"
			}
			out = append(out, [2]string{m.Name, about})
		}
	}
	return append(out, [2]string{catalog.Replay, "followed by a file that --record wrote"})
}
