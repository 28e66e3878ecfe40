package drive

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools"
)

// Witness takes the facts of runs before what they announce begins. Whoever drives a run at another
// time, on another machine, learns of it there, and is the only one that the witness lets act.
type Witness interface {
	// Name is its address.
	Name() string
	// Reach says whether anybody listens there, before a run is recorded that would wait for it.
	Reach(ctx context.Context) error
	// Tell returns once the witness has all facts of the run, and those of its family that were
	// named to Soon. *FencedError says that another host has the family, *WitnessError that the
	// witness did not take the facts, for longer than is waited for or at all.
	Tell(ctx context.Context, c journal.RunCreated, why string) error
	// Soon has the facts of the run said within a few seconds, beside whatever goes on.
	Soon(c journal.RunCreated)
	// Still asks the witness once more where it said a while ago that the run is driven here.
	Still(ctx context.Context, c journal.RunCreated) error
	// Close lets go of it once what is under way is said.
	Close() error
}

// FencedError says that another host drives a run.
type FencedError struct {
	Run   string
	By    string // the host; "" where the witness did not say
	Epoch int64
	At    time.Time
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("run %s went %s: nothing more of it is started here", e.Run, e.Where())
}

// Where names the host, as the end of a sentence that begins with went.
func (e *FencedError) Where() string {
	if e.By == "" {
		return "to another host"
	}
	text := "to host " + strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, e.By)
	if !e.At.IsZero() {
		text += " at " + e.At.Local().Format("2006-01-02 15:04:05")
	}
	return text
}

// WitnessError says that the witness of a run did not take what it heard.
type WitnessError struct{ Run, Why string }

func (e *WitnessError) Error() string {
	return fmt.Sprintf("the witness of run %s: %s", e.Run, e.Why)
}

// CustodyError says that a run has a witness, and this process was given none.
type CustodyError struct{ Run, Witness string }

func (e *CustodyError) Error() string {
	return fmt.Sprintf("run %s belongs to a fleet: answer, resume and cancel it with agent-fleet; "+
		"without one, name its witness in config.toml ([witness] address = %q) or in AGENT_WITNESS", e.Run, e.Witness)
}

// InCustody is *CustodyError for a run that may not be driven, and not be decided on, by a process
// that has no witness.
func (p *Process) InCustody(c journal.RunCreated) error {
	if c.Witness == "" || p.Witness != nil {
		return nil
	}
	return &CustodyError{c.Run, c.Witness}
}

// WitnessedEnd is what a witness hears with the end of a run.
const WitnessedEnd = "end"

// lastWord is how long a witness may take that is that hears how a run was left.
const lastWord = 5 * time.Second

// announced says what the facts of a commit announce that a witness has to know of first, in a few
// words; "" for nothing.
func announced(s *recovery.State, facts []journal.Event) (why string) {
	for _, f := range facts {
		switch b := f.Body.(type) {
		case journal.RunClaimed:
			why = "claim"
		case journal.CallStarted:
			if c, err := s.Call(b.Place); err != nil || c.Effect != journal.EffectRead {
				why = fmt.Sprintf("start of call %d.%d", b.Place.Turn, b.Place.Index)
				if err == nil {
					why += " " + c.Tool
				}
			}
		case journal.RequestOpened:
			why = "question " + b.Request.ID
		case journal.RunInterrupted:
			why = "interrupted: " + string(b.Cause)
		case journal.RunCompleted, journal.RunFailed, journal.RunCancelled:
			why = WitnessedEnd
		}
	}
	return why
}

// tell has the witness of the run, if it has one, take what was recorded, and waits for that where
// something is announced.
func (cl *caller) tell(ctx context.Context, why string) error {
	c, w := cl.state.Created, cl.p.Witness
	if c.Witness == "" || w == nil || cl.alone {
		return nil
	}
	if why == "" {
		w.Soon(c)
		return nil
	}
	ended := cl.state.Status.Terminal()
	if left := cl.state.Status == recovery.StatusInterrupted; left || ended && ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastWord)
		defer cancel()
		ended = true
	}
	fault.Hit(fault.BeforeWitness)
	err := w.Tell(ctx, c, why)
	if err == nil {
		fault.Hit(fault.AfterWitness)
	} else if ended {
		cl.p.Warn(c.Run, "its last facts are not in the log: %v", err)
		return nil
	}
	return err
}

// still has the witness asked once more before a call begins.
func (cl *caller) still(ctx context.Context, p journal.Place) error {
	c, w := cl.state.Created, cl.p.Witness
	if c.Witness == "" || w == nil || cl.alone {
		return nil
	}
	if call, err := cl.state.Call(p); err == nil && call.Effect == journal.EffectRead {
		return nil
	}
	return w.Still(ctx, c)
}

// unwitnessed leaves a run whose witness did not take what was announced: nothing that waited for
// it begins. Where another host has the run, its commands here are ended.
func (cl *caller) unwitnessed(ctx context.Context, why error) error {
	var fenced *FencedError
	stopped := ctx.Err() != nil && !errors.As(why, &fenced)
	cl.alone = !stopped // one that is asked to stop still says how it left the run
	for _, l := range cl.pending {
		if l.fresh {
			cl.abortStart(l.place, why)
			if c, err := cl.state.Call(l.place); stopped && err == nil && c.Phase == journal.PhaseStarted {
				cl.record(journal.CallJudged{Place: c.Place, Verdict: journal.VerdictRun, Reason: "it was not started: the host was asked to stop"})
			}
		} else if cancel := cl.flying[l.place.Index]; cancel != nil {
			cancel()
			delete(cl.flying, l.place.Index)
		}
	}
	cl.pending = nil
	switch {
	case errors.As(why, &fenced):
		where := fenced.Where() + cl.stopFenced()
		if _, err := cl.inbox.takeAnswer(ctx); err != nil { // somebody may have answered what is open
			return err
		}
		if o := cl.state.Open; o != nil {
			cl.record(journal.RunInterrupted{Cause: journal.CauseMoved, Detail: where},
				journal.RequestClosed{ID: o.ID, Status: "cancelled", Reason: "the run went " + fenced.Where() + ", where it is asked", Again: true})
			return errors.Join(cl.flush(ctx), errLeave)
		}
		return cl.interrupt(ctx, journal.CauseMoved, where)
	case ctx.Err() != nil:
		return nil // the loop looks at the context before anything else begins
	case cl.state.Status == recovery.StatusWaiting:
		cl.p.Warn(cl.state.Created.Run, "%v", why)
		return errLeave
	}
	return cl.interrupt(ctx, journal.CauseLog, why.Error())
}

// stopFenced ends the commands of a run that another host has, and names them for the record.
func (cl *caller) stopFenced() (ended string) {
	j := cl.judge()
	for _, c := range cl.state.Turns.Unsettled() {
		if c.Phase != journal.PhaseStarted || !j.goesOn(cl.state, c) {
			continue
		}
		t, err := j.tools.Get(c.Tool)
		a, ok := t.(tools.Process)
		if ok && err == nil {
			if err = a.Stop(callFor(cl.state, c), "another host has the run"); err == nil {
				ended += fmt.Sprintf("; ended here: call %s %s", c.Place, c.Tool)
			}
		}
		if err != nil {
			cl.p.Warn(cl.state.Created.Run, "end call %s, since another host has the run: %v", c.ID, err)
		}
	}
	return ended
}
