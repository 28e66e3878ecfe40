package custody_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"agent/fleet/custody"
)

// fleet is the hosts of a test: what they are asked is written down, and scripts say what they do.
type fleet struct {
	*testsuite.TestWorkflowEnvironment
	t *testing.T

	mu     sync.Mutex
	asked  []string // what the workflow asked of whom
	offers func(n int, o custody.Offer) (custody.Taken, error)
	takes  func(o custody.Offer) custody.Taken // of the host that carries out the workflow
	drives func(ctx context.Context, n int, d custody.Drive) (custody.Report, error)
	fences func(f custody.Fence) error
	offer  int
	drive  int
}

func newFleet(t *testing.T) *fleet {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	f := &fleet{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), t: t}
	f.SetTestTimeout(30 * time.Second)
	f.RegisterWorkflow(custody.Custody)
	f.offers = func(n int, o custody.Offer) (custody.Taken, error) {
		host := fmt.Sprintf("h-%d", n)
		return custody.Taken{Host: host, Queue: custody.HostQueue + host}, nil
	}
	f.fences = func(custody.Fence) error { return nil }
	f.takes = func(custody.Offer) custody.Taken { return custody.Taken{} }
	f.RegisterActivityWithOptions(func(_ context.Context, o custody.Offer) (custody.Taken, error) { return f.takes(o), nil },
		activity.RegisterOptions{Name: custody.ActivityTake})
	f.RegisterActivityWithOptions(f.onOffer, activity.RegisterOptions{Name: custody.ActivityOffer})
	f.RegisterActivityWithOptions(f.onDrive, activity.RegisterOptions{Name: custody.ActivityDrive})
	f.RegisterActivityWithOptions(f.onFence, activity.RegisterOptions{Name: custody.ActivityFence})
	return f
}

func (f *fleet) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprintf(format, args...))
}

func (f *fleet) onOffer(ctx context.Context, o custody.Offer) (custody.Taken, error) {
	f.mu.Lock()
	f.offer++
	n := f.offer
	f.mu.Unlock()
	f.note("offer %s %v", activity.GetInfo(ctx).TaskQueue, o.Not)
	return f.offers(n, o)
}

func (f *fleet) onDrive(ctx context.Context, d custody.Drive) (custody.Report, error) {
	f.mu.Lock()
	f.drive++
	n := f.drive
	f.mu.Unlock()
	f.note("%s %s", activity.GetInfo(ctx).TaskQueue, step(d.Step))
	return f.drives(ctx, n, d)
}

func (f *fleet) onFence(_ context.Context, x custody.Fence) error {
	f.note("fence cancel=%v", x.Cancel)
	return f.fences(x)
}

func step(s custody.Step) string {
	switch {
	case s.Start != nil:
		return "start"
	case s.Resume:
		return "resume"
	case s.Answer != nil:
		return "answer " + s.Answer.Text
	case s.Hand:
		return "hand"
	}
	return "cancel"
}

// run carries the workflow out, and gives its outcome.
func (f *fleet) run(r custody.Run) custody.Outcome {
	f.t.Helper()
	f.ExecuteWorkflow(custody.Custody, r)
	var out custody.Outcome
	if !f.IsWorkflowCompleted() {
		f.t.Fatalf("it has not ended; asked: %q", f.asked)
	}
	if err := f.GetWorkflowResult(&out); err != nil {
		f.t.Fatalf("it failed: %v; asked: %q", err, f.asked)
	}
	return out
}

func (f *fleet) want(lines ...string) {
	f.t.Helper()
	if !slices.Equal(f.asked, lines) {
		f.t.Errorf("asked\n %q\nand not\n %q", f.asked, lines)
	}
}

func (f *fleet) where() (w custody.Where) {
	f.t.Helper()
	v, err := f.QueryWorkflow(custody.QueryWhere)
	if err == nil {
		err = v.Get(&w)
	}
	if err != nil {
		f.t.Error(err)
	}
	return w
}

// at has something done at a time of the workflow.
func (f *fleet) at(after time.Duration, do func()) { f.RegisterDelayedCallback(do, after) }

// updated is what came of an update.
type updated struct {
	rejected, failed error
	result           any
}

func (f *fleet) update(name, id string, args ...any) *updated {
	u := new(updated)
	f.UpdateWorkflow(name, id, &testsuite.TestUpdateCallback{
		OnReject:   func(err error) { u.rejected = err },
		OnComplete: func(v any, err error) { u.result, u.failed = v, err },
	}, args...)
	return u
}

var (
	run     = custody.Run{ID: "r-00000001", By: "ada", Prompt: "do it"}
	done    = custody.Report{Status: "completed", Facts: 40, Place: 9, Turn: 4, Text: "done"}
	publish = custody.Report{Status: "waiting", Facts: 20, Place: 5, Turn: 2, Exit: 3,
		Request: &custody.Request{ID: "p-aaaa1111", Kind: "confirm_action", Text: "Publish?", Choices: []string{"yes", "no"}}}
	handed = custody.Report{Status: "interrupted", Facts: 30, Place: 7, Turn: 3, Handed: true}
	ended  = custody.Report{Status: "cancelled", Facts: 12, Place: 4, Exit: 6}
)

// gone is what the engine says of a host that does not take a Drive up.
func gone() error { return temporal.NewTimeoutError(scheduleToStart, nil) }

// lost is what it says when the heartbeats end.
func lost(last custody.Progress) error { return temporal.NewHeartbeatTimeoutError(last) }

func (f *fleet) script(steps ...any) {
	f.drives = func(_ context.Context, n int, _ custody.Drive) (custody.Report, error) {
		if n > len(steps) {
			return custody.Report{}, errors.New("it is asked once too often")
		}
		switch s := steps[n-1].(type) {
		case custody.Report:
			return s, nil
		case error:
			return custody.Report{}, s
		}
		panic("a step is a report or an error")
	}
}
