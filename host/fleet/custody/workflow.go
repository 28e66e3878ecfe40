package custody

import (
	"errors"
	"reflect"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// longHistory is how many events a history may have before it is begun anew.
	longHistory = 2000
	// forever stands for no limit, where the engine wants one.
	forever = 10 * 365 * 24 * time.Hour
)

// The search attributes of a custody.
var (
	AttrStatus   = temporal.NewSearchAttributeKeyKeyword("AgentStatus")
	AttrHost     = temporal.NewSearchAttributeKeyKeyword("AgentHost")
	AttrRepo     = temporal.NewSearchAttributeKeyKeyword("AgentRepo")
	AttrUser     = temporal.NewSearchAttributeKeyKeyword("AgentUser")
	AttrQuestion = temporal.NewSearchAttributeKeyKeywordList("AgentQuestion") // ids of all its questions
)

// Custody is the workflow that keeps a run: it finds a host for it, keeps its question and its
// answer, and follows it until it has ended. It only carries out what [State] decides.
func Custody(ctx workflow.Context, r Run) (Outcome, error) {
	c := &keeping{state: New(r, workflow.Now(ctx)), changed: workflow.NewBufferedChannel(ctx, 100)}
	if err := c.listen(ctx); err != nil {
		return Outcome{}, err
	}
	for c.state.Phase != Ended {
		if workflow.GetInfo(ctx).GetCurrentHistoryLength() > longHistory || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			r.Was, r.Sent = &c.state, nil
			c.state.Run.Was = nil
			if c.state.Begun {
				c.state.Run.Sent = nil
			}
			return Outcome{}, workflow.NewContinueAsNewError(ctx, Custody, r)
		}
		if err := c.act(ctx); err != nil {
			return Outcome{}, err
		}
	}
	if err := c.publish(ctx); err != nil {
		return Outcome{}, err
	}
	return Outcome{Report: *c.state.Report, Host: c.state.Host}, nil
}

// keeping is a custody at work.
type keeping struct {
	state     State
	changed   workflow.Channel // by an update
	published Where
}

func (c *keeping) apply(ctx workflow.Context, e Event) {
	e.At = workflow.Now(ctx)
	c.state = c.state.On(e)
}

// listen has queries and updates answered.
func (c *keeping) listen(ctx workflow.Context) error {
	err := workflow.SetQueryHandler(ctx, QueryWhere, func() (Where, error) { return c.state.Where(), nil })
	answer := func(ctx workflow.Context, a Answer) (Answer, error) {
		a.At = workflow.Now(ctx)
		c.apply(ctx, Event{Answer: &a})
		c.changed.SendAsync(true)
		first, _ := c.state.first(a.Request)
		return first, nil
	}
	move := func(ctx workflow.Context, m Move) (Where, error) {
		c.apply(ctx, Event{Move: &m})
		c.changed.SendAsync(true)
		return c.state.Where(), nil
	}
	resume := func(ctx workflow.Context) (Where, error) {
		c.apply(ctx, Event{Resume: true})
		c.changed.SendAsync(true)
		return c.state.Where(), nil
	}
	return errors.Join(err,
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateAnswer, answer, workflow.UpdateHandlerOptions{
			Validator: func(a Answer) error { return refusal(c.state.RefuseAnswer(a)) }}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateMove, move, workflow.UpdateHandlerOptions{
			Validator: func(m Move) error { return refusal(c.state.RefuseMove(m)) }}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateResume, resume, workflow.UpdateHandlerOptions{
			Validator: func() error { return refusal(c.state.RefuseResume()) }}))
}

// ErrorRefused is the type of the error with which an update is refused.
const ErrorRefused = "refused"

func refusal(err error) error {
	if err == nil {
		return nil
	}
	return temporal.NewNonRetryableApplicationError(err.Error(), ErrorRefused, nil)
}

// act carries out one action, until the state has another one. What it began is cancelled then: a
// cancelled workflow acts by contexts of its own, and lets go only of what is at hand.
func (c *keeping) act(ctx workflow.Context) error {
	act, a := c.state.Act, c.state.Action(workflow.Now(ctx))
	if c.take(ctx, a) {
		return nil
	}
	own, cancel := workflow.WithCancel(disconnected(ctx))
	defer cancel()
	done, event := c.begin(own, a)
	var timer workflow.Future
	if !a.Until.IsZero() {
		timer = workflow.NewTimer(own, max(a.Until.Sub(workflow.Now(ctx)), 0))
	}
	for c.state.Act == act {
		if err := c.publish(ctx); err != nil {
			return err
		}
		s := workflow.NewSelector(ctx)
		s.AddReceive(c.changed, func(from workflow.ReceiveChannel, _ bool) { from.Receive(ctx, nil) })
		if done != nil {
			s.AddFuture(done, func(workflow.Future) { c.apply(ctx, event(ctx)) })
		}
		if timer != nil {
			s.AddFuture(timer, func(workflow.Future) { timer = nil; c.apply(ctx, Event{Timer: true}) })
		}
		if !c.state.Cancel {
			s.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { c.apply(ctx, Event{Cancel: true}) })
		}
		s.Select(ctx)
	}
	return nil
}

func disconnected(ctx workflow.Context) workflow.Context {
	own, _ := workflow.NewDisconnectedContext(ctx)
	return own
}

// begin begins the activity of an action. Its result is an event.
func (c *keeping) begin(ctx workflow.Context, a Action) (workflow.Future, func(workflow.Context) Event) {
	began := workflow.Now(ctx)
	opts := workflow.ActivityOptions{TaskQueue: a.Queue}
	switch {
	case a.Offer != nil:
		opts.StartToCloseTimeout, opts.ScheduleToCloseTimeout = 30*time.Second, a.Limit
		opts.RetryPolicy = &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 1.5, MaximumInterval: 10 * time.Second}
		f := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), ActivityOffer, *a.Offer)
		return f, func(ctx workflow.Context) Event { return offered(ctx, f) }
	case a.Drive != nil:
		opts.StartToCloseTimeout, opts.ScheduleToStartTimeout, opts.HeartbeatTimeout = forever, a.Limit, beatLimit
		opts.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 1}
		f := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), ActivityDrive, *a.Drive)
		return f, func(ctx workflow.Context) Event { return driven(ctx, f, began) }
	case a.Fence != nil:
		opts.StartToCloseTimeout = time.Minute
		opts.RetryPolicy = &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute}
		f := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), ActivityFence, *a.Fence)
		return f, func(ctx workflow.Context) Event { return fenced(ctx, f) }
	}
	return nil, nil
}

func offered(ctx workflow.Context, f workflow.Future) Event {
	var taken Taken
	if err := f.Get(ctx, &taken); err != nil {
		return Event{Untaken: said(err)}
	}
	if taken.Host == "" {
		return Event{Untaken: "a worker without a name took it"}
	}
	return Event{Taken: &taken}
}

func driven(ctx workflow.Context, f workflow.Future, began time.Time) Event {
	var r Report
	err := f.Get(ctx, &r)
	if err == nil {
		return Event{Report: &r}
	}
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		s := Silent{Began: timeout.TimeoutType() == enums.TIMEOUT_TYPE_HEARTBEAT, Elapsed: workflow.Now(ctx).Sub(began)}
		var p Progress
		if timeout.HasLastHeartbeatDetails() && timeout.LastHeartbeatDetails(&p) == nil {
			s.Last = &p
		}
		return Event{Silent: &s}
	}
	app, _ := errors.AsType[*temporal.ApplicationError](err)
	return Event{Failed: &Failed{Why: said(err), Stopping: app != nil && app.Type() == ErrorStopping}}
}

func fenced(ctx workflow.Context, f workflow.Future) Event {
	if err := f.Get(ctx, nil); err != nil {
		return Event{Untaken: said(err)}
	}
	return Event{Fenced: true}
}

// said is the innermost of the engine's errors: what an activity gave, without where it ran.
func said(err error) string {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return app.Message()
	}
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		switch timeout.TimeoutType() {
		case enums.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, enums.TIMEOUT_TYPE_SCHEDULE_TO_START:
			return "no host answered in time"
		}
		return "it did not answer in time"
	}
	return err.Error()
}

// publish has lists show where the run is.
func (c *keeping) publish(ctx workflow.Context) error {
	w := c.state.Where()
	if reflect.DeepEqual(w, c.published) {
		return nil
	}
	host := AttrHost.ValueUnset()
	if w.Host != "" {
		host = AttrHost.ValueSet(w.Host)
	}
	attributes := []temporal.SearchAttributeUpdate{AttrStatus.ValueSet(w.Status), host}
	if len(c.state.Asked) > 0 {
		attributes = append(attributes, AttrQuestion.ValueSet(c.state.Asked))
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, attributes...); err != nil {
		return err
	}
	c.published = w
	return workflow.UpsertMemo(ctx, map[string]any{MemoWhere: brief(w)})
}

// brief is what a list needs: long texts stay in the history.
func brief(w Where) Where {
	if w.Report != nil {
		r := *w.Report
		r.Text, r.Detail = cut(r.Text), cut(r.Detail)
		w.Report = &r
	}
	w.Reason = cut(w.Reason)
	return w
}

func cut(text string) string {
	const most = 2000
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
