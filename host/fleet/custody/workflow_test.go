package custody_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"agent/fleet/custody"
)

func TestItIsCarriedOut(t *testing.T) {
	f := newFleet(t)
	f.script(done)
	out := f.run(run)
	if out.Status != "completed" || out.Host != "h-1" || out.Text != "done" {
		t.Errorf("it ended as %+v", out)
	}
	f.want("offer pool/ []", "host/h-1 start")
}

func TestAQueuedRunWaitsForItsLabels(t *testing.T) {
	f := newFleet(t)
	f.script(done)
	f.offers = func(n int, _ custody.Offer) (custody.Taken, error) {
		if n < 5 {
			return custody.Taken{}, errors.New("no slot")
		}
		return custody.Taken{Host: "h-9"}, nil
	}
	r := run
	r.Labels = []string{"linux", "gpu=yes"}
	f.at(time.Second, func() {
		if w := f.where(); w.Status != "queued" || w.Reason != "waits for a host with a free slot and the labels linux gpu=yes" {
			t.Errorf("it is %+v", w)
		}
	})
	f.run(r)
	f.want("offer pool/gpu=yes,linux []", "offer pool/gpu=yes,linux []", "offer pool/gpu=yes,linux []",
		"offer pool/gpu=yes,linux []", "offer pool/gpu=yes,linux []", "host/h-9 start")
}

func TestAQuestionIsAnsweredOnce(t *testing.T) {
	f := newFleet(t)
	f.script(publish, done)
	var other, first, second *updated
	f.at(time.Hour, func() {
		if w := f.where(); w.Status != "waiting" || w.Request.ID != "p-aaaa1111" || w.Next != "agent-fleet answer p-aaaa1111" {
			t.Errorf("it is %+v", w)
		}
		other = f.update(custody.UpdateAnswer, "p-bbbb2222", custody.Answer{Request: "p-bbbb2222", Text: "yes", By: "eve"})
		first = f.update(custody.UpdateAnswer, "p-aaaa1111", custody.Answer{Request: "p-aaaa1111", Text: "yes", By: "ada"})
		second = f.update(custody.UpdateAnswer, "another id", custody.Answer{Request: "p-aaaa1111", Text: "no", By: "bob"})
	})
	f.run(run)
	f.want("offer pool/ []", "host/h-1 start", "host/h-1 answer yes")
	if other.rejected == nil {
		t.Error("an answer to another question was accepted")
	}
	for _, u := range []*updated{first, second} {
		a, _ := u.result.(custody.Answer)
		if u.rejected != nil || u.failed != nil || a.Text != "yes" || a.By != "ada" || a.At.IsZero() {
			t.Errorf("an answer gave %+v", u)
		}
	}
}

func TestAQuestionExpires(t *testing.T) {
	f := newFleet(t)
	asked := publish
	q := *publish.Request
	expires := f.Now().Add(time.Hour)
	q.Expires, asked.Request = &expires, &q
	f.script(asked, done)
	f.run(run)
	f.want("offer pool/ []", "host/h-1 start", "host/h-1 resume")
}

func TestALostDispatchIsRepeated(t *testing.T) {
	f := newFleet(t)
	f.script(temporal.NewHeartbeatTimeoutError(), lost(custody.Progress{Facts: 7, Log: 2, Turn: 1}), done)
	f.run(run)
	f.want("offer pool/ []", "host/h-1 start", "host/h-1 start", "host/h-1 resume")
}

func TestASilentHostLosesTheRun(t *testing.T) {
	f := newFleet(t)
	f.script(lost(custody.Progress{Facts: 7, Log: 2, Turn: 1}), done)
	r := run
	r.Away = -1
	f.run(r)
	f.want("offer pool/ []", "host/h-1 start", "offer pool/ [h-1]", "host/h-2 resume")
}

// A heartbeat that did not come may say that the engine was away.
func TestASilentHostIsAskedOnceMore(t *testing.T) {
	f := newFleet(t)
	f.script(lost(custody.Progress{Facts: 7, Log: 2, Turn: 1}), done)
	r := run
	r.Away = 20 * time.Second // what one silence is worth
	f.run(r)
	f.want("offer pool/ []", "host/h-1 start", "host/h-1 resume")
}

func TestAPlannedMove(t *testing.T) {
	f := newFleet(t)
	f.drives = f.untilToldOtherwise(handed)
	f.offers = func(n int, _ custody.Offer) (custody.Taken, error) {
		return custody.Taken{Host: []string{"h-1", "h-7"}[n-1]}, nil
	}
	var here, moved *updated
	f.at(time.Minute, func() {
		here = f.update(custody.UpdateMove, "1", custody.Move{To: "h-1", By: "ada"})
		moved = f.update(custody.UpdateMove, "2", custody.Move{To: "h-7", By: "ada"})
	})
	out := f.run(run)
	f.want("offer pool/ []", "host/h-1 start", "host/h-1 hand", "offer host/h-7 []", "host/h-7 resume")
	if here.rejected == nil || moved.rejected != nil {
		t.Errorf("the moves gave %+v and %+v", here, moved)
	}
	if out.Host != "h-7" {
		t.Errorf("it ended on %s", out.Host)
	}
}

// untilToldOtherwise drives a run until the workflow lets go of it, and then does what it is asked.
func (f *fleet) untilToldOtherwise(report custody.Report) func(context.Context, int, custody.Drive) (custody.Report, error) {
	return func(ctx context.Context, n int, _ custody.Drive) (custody.Report, error) {
		switch n {
		case 1:
			return custody.Report{}, activity.ErrResultPending
		case 2:
			return report, nil
		}
		return done, nil
	}
}

func TestAMoveFromAHostThatIsGone(t *testing.T) {
	f := newFleet(t)
	f.script(lost(custody.Progress{Facts: 7, Log: 2, Turn: 1}), activity.ErrResultPending, done)
	f.at(time.Minute, func() {
		if w := f.where(); w.Status != "unreachable" || w.Host != "h-1" || w.Next != "agent-fleet move r-00000001 --host-is-gone" {
			t.Errorf("it is %+v", w)
		}
		f.update(custody.UpdateMove, "1", custody.Move{Gone: true, By: "ada"})
	})
	f.run(run)
	f.want("offer pool/ []", "host/h-1 start", "host/h-1 resume", "fence cancel=false", "offer pool/ [h-1]", "host/h-2 resume")
}

func TestAHostThatCameBackIsNotUnreachable(t *testing.T) {
	f := newFleet(t)
	f.script(lost(custody.Progress{Facts: 7, Log: 2, Turn: 1}), activity.ErrResultPending, handed, done)
	f.at(time.Hour, func() {
		if w := f.where(); w.Status != "running" || w.Host != "h-1" {
			t.Errorf("it is %+v", w)
		}
		f.update(custody.UpdateMove, "1", custody.Move{By: "ada"})
	})
	f.run(run)
}

func TestCancelledOnItsHost(t *testing.T) {
	f := newFleet(t)
	f.drives = f.untilToldOtherwise(ended)
	f.at(time.Minute, f.CancelWorkflow)
	out := f.run(run)
	f.want("offer pool/ []", "host/h-1 start", "host/h-1 cancel")
	if out.Status != "cancelled" || out.Exit != 6 {
		t.Errorf("it ended as %+v", out)
	}
}

func TestCancelledWithItsHostGone(t *testing.T) {
	f := newFleet(t)
	f.script(publish, lost(custody.Progress{}), gone(), gone(), gone())
	tries := 0
	f.fences = func(x custody.Fence) error {
		if tries++; tries < 3 {
			return errors.New("the log cannot be reached")
		}
		return nil
	}
	f.at(time.Minute, f.CancelWorkflow)
	out := f.run(run)
	if out.Status != "cancelled" || tries != 3 || f.asked[len(f.asked)-1] != "fence cancel=true" {
		t.Errorf("it ended as %+v after %q", out, f.asked)
	}
}

func TestCancelledBeforeAHostHasIt(t *testing.T) {
	f := newFleet(t)
	f.offers = func(int, custody.Offer) (custody.Taken, error) { return custody.Taken{}, errors.New("no slot") }
	f.at(time.Minute, f.CancelWorkflow)
	if out := f.run(run); out.Status != "cancelled" || out.Host != "" {
		t.Errorf("it ended as %+v", out)
	}
}

func TestARunThatComesToNothingIsParked(t *testing.T) {
	f := newFleet(t)
	crash := custody.Report{Status: "interrupted", Cause: "crash", Detail: "killed", Facts: 3, Turn: 0}
	f.script(crash, crash, crash, done)
	var early *updated
	f.at(500*time.Millisecond, func() {
		early = f.update(custody.UpdateAnswer, "p-aaaa1111", custody.Answer{Request: "p-aaaa1111", Text: "yes"})
	})
	f.at(24*time.Hour, func() {
		if w := f.where(); w.Status != "parked" || w.Next != "agent-fleet resume r-00000001" {
			t.Errorf("it is %+v", w)
		}
		f.update(custody.UpdateResume, "1")
	})
	f.run(run)
	f.want("offer pool/ []", "host/h-1 start", "host/h-1 resume", "host/h-1 resume", "host/h-1 resume")
	if early.rejected == nil {
		t.Error("an answer was accepted while no question was open")
	}
}

func TestBackOff(t *testing.T) {
	f := newFleet(t)
	model := custody.Report{Status: "interrupted", Cause: "model", Detail: "overloaded", Facts: 9, Turn: 1}
	f.script(model, model, model, model, model, model, done)
	began := f.Now()
	f.run(run)
	if d := f.Now().Sub(began); d < 13*time.Minute || d > 14*time.Minute {
		t.Errorf("six attempts took %s", d)
	}
}

func TestTheLogIsGoneForOneHost(t *testing.T) {
	f := newFleet(t)
	f.script(custody.Report{Status: "interrupted", Cause: "log", Facts: 9, Turn: 1}, done)
	f.run(run)
	f.want("offer pool/ []", "host/h-1 start", "offer pool/ [h-1]", "host/h-2 resume")
}

func TestAHostRefuses(t *testing.T) {
	f := newFleet(t)
	f.script(custody.Report{Status: "interrupted", Refused: "its agent is too old"}, done)
	f.run(run)
	f.want("offer pool/ []", "host/h-1 start", "offer pool/ [h-1]", "host/h-2 start")
}

func TestAnAnswerSurvivesItsHost(t *testing.T) {
	f := newFleet(t)
	f.script(publish, lost(custody.Progress{Facts: 21, Log: 6, Turn: 2}), done)
	r := run
	r.Away = -1
	f.at(time.Hour, func() {
		f.update(custody.UpdateAnswer, "p-aaaa1111", custody.Answer{Request: "p-aaaa1111", Text: "yes", By: "ada"})
	})
	f.run(r)
	if n := len(f.asked); f.asked[n-1] != "host/h-2 answer yes" {
		t.Errorf("asked %q", f.asked)
	}
}

func TestALongHistoryIsBegunAnew(t *testing.T) {
	f := newFleet(t)
	f.script(publish)
	f.at(time.Minute, func() {
		f.SetCurrentHistoryLength(5000)
		f.update(custody.UpdateMove, "1", custody.Move{By: "ada"})
	})
	f.ExecuteWorkflow(custody.Custody, run)
	err := f.GetWorkflowError()
	again, ok := errors.AsType[*temporalContinue](err)
	if !ok {
		t.Fatalf("it ended with %v", err)
	}
	var r custody.Run
	if err := defaultConverter.FromPayloads(again.Input, &r); err != nil {
		t.Fatal(err)
	}
	if r.Was == nil || r.Was.Request == nil || r.Was.Host != "h-1" || !r.Was.Moving || r.Was.Run.Prompt != "do it" {
		t.Fatalf("it goes on with %+v", r.Was)
	}
	f = newFleet(t)
	f.script(handed, done)
	f.at(time.Hour, func() {
		f.update(custody.UpdateAnswer, "p-aaaa1111", custody.Answer{Request: "p-aaaa1111", Text: "yes", By: "ada"})
	})
	f.run(r)
	f.want("host/h-1 hand", "offer pool/ [h-1]", "host/h-1 answer yes")
}

// quiet logs nothing.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
