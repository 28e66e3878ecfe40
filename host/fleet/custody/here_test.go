package custody_test

import (
	"context"
	"testing"
	"time"

	"agent/fleet/custody"
)

func TestTheHostAtHandTakesARun(t *testing.T) {
	f := newFleet(t)
	f.takes = func(o custody.Offer) custody.Taken {
		if o.Run != run.ID {
			t.Errorf("it is offered %+v", o)
		}
		return custody.Taken{Host: "h-5", Queue: custody.HostQueue + "h-5"}
	}
	f.script(done)
	if out := f.run(run); out.Host != "h-5" {
		t.Errorf("it ended as %+v", out)
	}
	f.want("host/h-5 start")
}

// The host at hand is asked each time that any host may have the run, and hears which ones may not.
func TestARunThatLostItsHostIsTakenByTheNext(t *testing.T) {
	f := newFleet(t)
	var not [][]string
	f.takes = func(o custody.Offer) custody.Taken {
		not = append(not, o.Not)
		if len(not) == 1 {
			return custody.Taken{}
		}
		return custody.Taken{Host: "h-6"}
	}
	f.script(lost(custody.Progress{Facts: 7, Log: 2, Turn: 1}), done)
	r := run
	r.Away = -1
	f.run(r)
	f.want("offer pool/ []", "host/h-1 start", "host/h-6 resume")
	if len(not) != 2 || len(not[0]) != 0 || len(not[1]) != 1 || not[1][0] != "h-1" {
		t.Errorf("it was offered without %v", not)
	}
}

// A host that a person named is asked itself, whoever is at hand.
func TestAMoveToAHostPassesTheOneAtHand(t *testing.T) {
	f := newFleet(t)
	f.takes = func(custody.Offer) custody.Taken { return custody.Taken{Host: "h-5"} }
	f.offers = func(int, custody.Offer) (custody.Taken, error) { return custody.Taken{Host: "h-7"}, nil }
	f.drives = f.untilToldOtherwise(handed)
	f.at(time.Minute, func() { f.update(custody.UpdateMove, "1", custody.Move{To: "h-7", By: "ada"}) })
	f.run(run)
	f.want("host/h-5 start", "host/h-5 hand", "offer host/h-7 []", "host/h-7 resume")
}

func TestARunIsCancelledWhileItIsTaken(t *testing.T) {
	f := newFleet(t)
	f.takes = func(custody.Offer) custody.Taken { return custody.Taken{Host: "h-5"} }
	f.at(0, f.CancelWorkflow)
	f.drives = func(_ context.Context, _ int, d custody.Drive) (custody.Report, error) {
		if !d.Step.Cancel {
			t.Errorf("it is asked for %+v", d.Step)
		}
		return ended, nil
	}
	if out := f.run(run); out.Status != "cancelled" {
		t.Errorf("it ended as %+v", out)
	}
}
