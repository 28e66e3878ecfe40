package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"agent/fleet/client"
	"agent/fleet/custody"
	fleetlog "agent/fleet/log"
	"agent/fleet/log/replay"
	"agent/fleet/seal"
)

const (
	oneStep  = "---\nagent: runbook\n---\n# One\n\n```sh\ntrue\n```\n"
	question = "---\nagent: runbook\n---\n# One\n\n- confirm_action \"Go on?\"\n"

	bareQueue  = "bare"
	emptyQueue = "bare/nothing" // as in a fleet, an activity is asked for by another queue than its workflow
)

// Bare is the workflow beside a run: it has one activity carried out, and gives when that began.
func Bare(ctx workflow.Context) (at time.Time, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: emptyQueue, StartToCloseTimeout: 20 * time.Second})
	return at, workflow.ExecuteActivity(ctx, Nothing).Get(ctx, &at)
}

// Nothing is the activity.
func Nothing(context.Context) (time.Time, error) { return time.Now(), nil }

// meter has the connections, and the workers of the bare engine.
type meter struct {
	settings
	fleet  *client.Client
	bare   sdk.Client // nothing is sealed on it
	record fleetlog.Log
	up     []worker.Worker
}

func newMeter(ctx context.Context, s settings) (m *meter, err error) {
	m = &meter{settings: s}
	if m.fleet, err = client.Connect(ctx, client.Options{Address: s.engine, Namespace: namespace, Key: s.key, Identity: "figures"}); err != nil {
		return nil, err
	}
	if m.bare, err = m.dial(); err != nil {
		return nil, err
	}
	if m.record, err = fleetlog.Open(ctx, s.log, namespace); err != nil {
		return nil, err
	}
	for range s.workers {
		c, err := m.dial()
		if err != nil {
			return nil, err
		}
		for _, queue := range []string{bareQueue, emptyQueue} {
			w := worker.New(c, queue, worker.Options{})
			w.RegisterWorkflow(Bare)
			w.RegisterActivity(Nothing)
			if err := w.Start(); err != nil {
				return nil, err
			}
			m.up = append(m.up, w)
		}
	}
	return m, nil
}

func (m *meter) dial() (sdk.Client, error) {
	return sdk.Dial(sdk.Options{HostPort: m.engine, Namespace: namespace, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
}

func (m *meter) close() {
	for _, w := range m.up {
		w.Stop()
	}
	_ = m.record.Close() // it was only read
	m.bare.Close()
	m.fleet.Close()
}

// nothing has the bare engine carry out one activity, and gives how long it took to begin.
func (m *meter) nothing(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	w, err := m.bare.ExecuteWorkflow(ctx, sdk.StartWorkflowOptions{TaskQueue: bareQueue}, Bare)
	if err != nil {
		return 0, err
	}
	var at time.Time
	err = w.Get(ctx, &at)
	return at.Sub(begun), err
}

// begin begins a run of the fleet. With a key it may be given again.
func (m *meter) begin(ctx context.Context, key, book string) (string, error) {
	s, err := m.fleet.Start(ctx, custody.Run{
		Key: key, By: "figures", Args: []string{"--runbook", "--mode=yolo"}, Prompt: book, File: "book.md",
	})
	return s.Run, err
}

// whole has the fleet carry out a run of one step.
func (m *meter) whole(ctx context.Context) (run string, err error) {
	if run, err = m.begin(ctx, "", oneStep); err != nil {
		return run, err
	}
	var out custody.Outcome
	err = m.fleet.Engine().GetWorkflow(ctx, custody.RunWorkflow+run, "").Get(ctx, &out)
	if err == nil && out.Status != "completed" {
		err = fmt.Errorf("run %s ended as %+v", run, out)
	}
	return run, err
}

// claimed is how long a run took to be claimed, by the log's first entry.
func (m *meter) claimed(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	run, err := m.whole(ctx)
	if err != nil {
		return 0, err
	}
	e, err := replay.One(ctx, m.record, m.key.Sealer(namespace, run), 1)
	if err == nil && e.Why != "claim" {
		err = fmt.Errorf("the log of run %s begins with %s", run, e.Why)
	}
	return e.At.Sub(begun), err
}

// dispatch compares the time until a run is claimed with that until an activity begins, and with
// that until agent alone has claimed a run in the background.
func (m *meter) dispatch(ctx context.Context) (any, error) {
	var bare, fleet, alone []time.Duration
	shell, err := newShell(m.agent)
	if err != nil {
		return nil, err
	}
	defer shell.remove()
	for i := range m.n + 1 {
		a, err := shell.run(ctx, 0, "--detach")
		if err != nil {
			return nil, err
		}
		b, err := m.nothing(ctx)
		if err != nil {
			return nil, err
		}
		f, err := m.claimed(ctx)
		if err != nil {
			return nil, err
		}
		if i > 0 { // the first one warms up
			bare, fleet, alone = append(bare, b), append(fleet, f), append(alone, a)
		}
	}
	return map[string]float64{"bare_ms": median(bare), "fleet_ms": median(fleet), "alone_ms": median(alone)}, nil
}

// rates compares how fast runs of one step are with how fast activities are, all begun at once, and
// with how fast loops of agent alone are, one for each worker.
func (m *meter) rates(ctx context.Context) (any, error) {
	shell, err := newShell(m.agent)
	if err != nil {
		return nil, err
	}
	defer shell.remove()
	bare, err := m.atOnce(func() error { _, err := m.nothing(ctx); return err })
	if err != nil {
		return nil, err
	}
	fleet, err := m.atOnce(func() error { _, err := m.whole(ctx); return err })
	if err != nil {
		return nil, err
	}
	alone, err := shell.loops(ctx, m.settings.workers, m.n)
	return map[string]float64{
		"bare": float64(m.n) / bare.Seconds(), "fleet": float64(m.n) / fleet.Seconds(), "alone": float64(m.n) / alone.Seconds(),
	}, err
}

func (m *meter) atOnce(one func() error) (time.Duration, error) {
	var all sync.WaitGroup
	errs := make([]error, m.n)
	begun := time.Now()
	for i := range errs {
		all.Go(func() { errs[i] = one() })
	}
	all.Wait()
	return time.Since(begun), errors.Join(errs...)
}

// ahead is how many runs are begun of a crowd that do not wait yet: some for every slot.
const ahead = 32

// crowd begins runs that ask something, as fast as the hosts carry them, until all of them wait or
// the time is over.
func (m *meter) crowd(ctx context.Context) (any, error) {
	t := time.NewTicker(200 * time.Millisecond)
	defer t.Stop()
	began, begun, waiting := time.Now(), 0, 0
	for ; waiting < m.n && time.Since(began) < m.limit; <-t.C {
		count, err := m.fleet.Engine().CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: namespace, Query: "WorkflowType = 'Custody' AND AgentStatus = 'waiting'",
		})
		if err != nil {
			return nil, err
		}
		waiting = int(count.GetCount())
		for ; begun < min(m.n, waiting+ahead); begun++ {
			if err := m.asking(ctx, begun); err != nil {
				return nil, err
			}
		}
	}
	return map[string]float64{"seconds": time.Since(began).Seconds(), "waiting": float64(waiting)}, nil
}

// asking begins a run that asks something, unless it was begun before.
func (m *meter) asking(ctx context.Context, i int) (err error) {
	for range 10 { // an engine that is busy lets some wait for too long
		if _, err = m.begin(ctx, fmt.Sprintf("figures-%d", i), question); err == nil {
			return nil
		}
	}
	return err
}

// takeover says when the engine took a run's host for lost, and when the next one claimed the run.
func (m *meter) takeover(ctx context.Context) (any, error) {
	var out struct {
		Silent  time.Time `json:"silent"`
		Claimed time.Time `json:"claimed"`
		By      string    `json:"by"`
	}
	events := m.fleet.Engine().GetWorkflowHistory(ctx, custody.RunWorkflow+m.run, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return nil, err
		}
		if e.GetEventType() == enums.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT {
			out.Silent = e.GetEventTime().AsTime()
		}
	}
	err := replay.NewState(m.run).CatchUp(ctx, m.record, m.key.Sealer(namespace, m.run), func(_ int64, e seal.Entry) error {
		if e.Why == "claim" {
			out.Claimed, out.By = e.At, e.By
		}
		return nil
	})
	return out, err
}
