package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"agent/host"
	"agent/host/stream"
	"agent/recovery"
)

// renderer shows what happens in a run on stderr, as one observer among others.
type renderer struct {
	app   *app
	tools map[string]*recovery.Proposal // by run and place, to name calls when they start and end
	done  chan struct{}
}

func newRenderer(a *app, hub *stream.Hub) *renderer {
	r := &renderer{app: a, tools: map[string]*recovery.Proposal{}, done: make(chan struct{})}
	obs := hub.Observe(4096)
	go func() {
		defer close(r.done)
		for {
			e, err := obs.Next(context.Background())
			if err != nil {
				var over *stream.OverflowError
				if errors.As(err, &over) {
					r.line("! this terminal was too slow: some activity was not shown (agent show has all of it)")
				}
				return
			}
			r.event(e)
		}
	}()
	return r
}

func (r *renderer) wait() { <-r.done }

func (r *renderer) line(format string, args ...any) {
	// An error of stderr stops showing, not running.
	_, _ = fmt.Fprintln(r.app.Err, stream.Sanitize(fmt.Sprintf(format, args...)))
}

func (r *renderer) event(e stream.Event) {
	switch {
	case e.Note != "" && e.Warn:
		r.line("! %s", e.Note)
	case e.Note != "":
		r.line("  %s", e.Note)
	case len(e.Output) > 0:
		r.output(e.Output)
	case e.Fact != nil:
		r.fact(e.Run, *e.Fact)
	}
}

func (r *renderer) output(p []byte) {
	text := strings.TrimRight(stream.Sanitize(string(p)), "\n")
	for _, l := range strings.Split(text, "\n") {
		r.line("  | %s", l)
	}
}

func key(run string, p recovery.Place) string { return fmt.Sprintf("%s/%d.%d", run, p.Turn, p.Index) }

func (r *renderer) name(run string, p recovery.Place) string {
	if c := r.tools[key(run, p)]; c != nil {
		return c.Tool + ": " + host.Words(c.Tool, c.Args)
	}
	return "call"
}

func (r *renderer) fact(run string, e recovery.Event) {
	switch b := e.Body.(type) {
	case recovery.RunCreated:
		r.line("run %s  model %s  in %s", b.Run, b.Model, b.Folder)
	case recovery.RunNoted:
		r.line("! %s", b.Text)
	case recovery.ModelAnswered:
		r.answered(run, e.Turn, b)
	case recovery.CallStarted:
		r.line("> %s %s", b.Place, r.name(run, b.Place))
	case recovery.CallSettled:
		r.settled(run, b)
	case recovery.CallJudged:
		r.line("~ %s %s: %s (%s)", b.Place, r.name(run, b.Place), b.Verdict, b.Reason)
	case recovery.CallRuled:
		r.line("~ %s %s: a person says: %s", b.Place, r.name(run, b.Place), b.Word)
	case recovery.RequestAnswered:
		r.line("? %s answered: %s", b.ID, recovery.Text(b.Answer))
	case recovery.RequestClosed:
		r.line("? %s %s: %s", b.ID, b.Status, b.Reason)
	case recovery.RunStopping:
		r.line("! stopping: %s", b.Reason)
	}
}

func (r *renderer) answered(run string, turn int, b recovery.ModelAnswered) {
	for i := range b.Calls {
		r.tools[key(run, recovery.Place{Turn: turn, Index: i})] = &b.Calls[i]
	}
	if len(b.Calls) == 0 {
		return // the last words go to stdout
	}
	for _, bl := range b.Blocks {
		if bl.Kind == recovery.BlockText {
			r.line("%s", bl.Text)
		}
	}
}

func (r *renderer) settled(run string, b recovery.CallSettled) {
	res := b.Result
	took := ""
	if res.Took > 0 {
		took = ", " + res.Took.Round(time.Millisecond).String()
	}
	r.line("< %s %s: %s%s", b.Place, r.name(run, b.Place), res.Outcome, took)
	if res.Outcome != recovery.OutcomeOK {
		r.output([]byte(res.Content))
	}
}
