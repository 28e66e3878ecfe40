// Package carry has runs go on in processes of their own: those that a person hands over, those
// whose question has its answer, and those that go on by themselves after a crash or a restart of
// the machine.
package carry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"agent/host"
	"agent/host/app"
	"agent/host/launch"
	"agent/host/owner"
	"agent/recovery"
	"agent/recovery/fault"
)

// Start has a process of its own carry out a command line in the folder dir, and waits until it has
// claimed its run. in is what it reads; nil for nothing.
func Start(ctx context.Context, dir string, in *os.File, job launch.Job) (launch.Answer, error) {
	exe, err := app.Binary()
	if err != nil {
		return launch.Answer{}, fmt.Errorf("find this binary: %v", err)
	}
	job.Dir = dir
	return launch.Start(ctx, exe, append(os.Environ(), fault.DriverEnv()...), in, job)
}

// EndedError says that a process that was to drive a run ended without that. Its exit status is
// Code; what it printed was passed on.
type EndedError struct{ Code int }

func (e *EndedError) Error() string {
	return fmt.Sprintf("the process that was to drive the run ended with status %d", e.Code)
}

// LostError says that a process that was to drive a run ended without an answer. Where the run
// stands, the record says: Status.
type LostError struct {
	Run    string
	Status recovery.Status
}

func (e *LostError) Error() string {
	next := "agent show " + e.Run
	if e.Status == recovery.StatusInterrupted {
		next = "agent resume " + e.Run
	}
	return fmt.Sprintf("the process that was to drive run %s ended; what it recorded is kept, and the run is %s: %s", e.Run, e.Status, next)
}

// Lost looks what became of a run whose process, with the number ended, gave no answer: it is
// driven by another process, or the error is a *LostError.
func Lost(ctx context.Context, f *app.Folder, run string, ended int) (*launch.Accepted, error) {
	if f.CanWrite() {
		if _, err := f.Reconcile(ctx, true); err != nil {
			return nil, err
		}
	}
	row, err := f.Store.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	if held := (Carrier{Folder: f}).other(run, ended); held != nil {
		return &launch.Accepted{Run: run, Thread: row.Thread, Process: held.Holder.PID}, nil
	}
	return nil, &LostError{run, row.Status}
}

// Carrier has the runs of a state folder go on.
type Carrier struct {
	Folder *app.Folder
	Dir    string            // the current folder of what is started
	Say    func(line string) // tells the person
}

// Start has a process of its own carry out a job.
func (c Carrier) Start(ctx context.Context, job launch.Job) (launch.Answer, error) {
	return Start(ctx, c.Dir, nil, job)
}

// GoOn has a run go on that has its answer, and notes the process in at.
func (c Carrier) GoOn(at **launch.Accepted) host.GoOn {
	return func(ctx context.Context, run string) (host.Outcome, error) {
		if who, held, err := c.Folder.Owner(run); err != nil || held {
			return host.Outcome{}, errors.Join(err, &owner.HeldError{Run: run, Holder: who})
		}
		ctx = context.WithoutCancel(ctx) // the answer is given: the run goes on whoever leaves now
		answer, err := Start(ctx, c.Dir, nil, launch.Job{Args: []string{"resume", "--no-recover", run}})
		lost := errors.Is(err, launch.ErrNoAnswer)
		if err != nil && !lost {
			return host.Outcome{}, fmt.Errorf("go on with run %s in the background: %w", run, err)
		}
		if *at = answer.Accepted; *at != nil {
			return host.Outcome{}, nil
		}
		row, err := c.Folder.Store.Run(ctx, run)
		if err == nil && row.Status.Terminal() {
			return host.Outcome{}, &host.FinishedError{} // its owner took the answer, and ended
		}
		if held := c.other(run, answer.PID); held != nil { // else the command that failed has the last word
			return host.Outcome{}, held
		}
		if lost {
			*at, err = Lost(ctx, c.Folder, run, answer.PID)
			return host.Outcome{}, err
		}
		for _, line := range answer.Notes {
			c.Say(line)
		}
		return host.Outcome{}, errors.Join(err, &EndedError{answer.Ended.Code})
	}
}

// other says that a process drives a run which is not the one that has ended without doing so. Its
// lock may be held for a moment more: by itself, or by what it started and was on its way to
// another program. nil is for nobody.
func (c Carrier) other(run string, ended int) *owner.HeldError {
	who, held, err := c.Folder.Owner(run)
	if err != nil || !held || who.PID == ended {
		return nil
	}
	return &owner.HeldError{Run: run, Holder: who}
}

// Patience is how long is waited for the answer of a process before the person learns of that.
const Patience = 3 * time.Second

// Recover has runs go on that a crash or a restart of the machine interrupted, and that their
// person handed over or the machine took from them. Runs that except names are left to whoever is
// about them.
func (c Carrier) Recover(ctx context.Context, how host.Carry, except func(app.RunRow) bool) error {
	all, err := c.Folder.CarryOn(ctx, how, 0, except)
	if err != nil {
		return err
	}
	for _, r := range all.Left {
		c.Folder.Hooks.LeftAlone(r, "")
	}
	lines := make(chan string, len(all.On))
	for _, r := range all.On {
		go func() { lines <- c.One(ctx, r).Line() }()
	}
	c.report(lines, len(all.On), time.After(Patience))
	if all.More > 0 {
		c.Say(fmt.Sprintf("agent: %d more can go on in the background once one of those has ended", all.More))
	}
	return nil
}

// report tells the person what comes of starting n runs, and of those without a result once it is
// late, how many they are.
func (c Carrier) report(lines <-chan string, n int, late <-chan time.Time) {
	for ; n > 0; n-- {
		select {
		case line := <-lines:
			if line != "" {
				c.Say("agent: " + line)
			}
		case <-late:
			what := "1 run is"
			if n > 1 {
				what = fmt.Sprintf("%d runs are", n)
			}
			c.Say(fmt.Sprintf("agent: %s still being started in the background: agent ls", what))
			return
		}
	}
}

// Result is what came of having a run go on.
type Result struct {
	Run    string
	Why    string // it goes on
	Failed string // why it does not; "" where it does, or where another process was first
	Goes   bool
	Ends   bool // somebody asked for its end, to which it goes on
}

// Line tells a person; "" where another process was first, which tells its own.
func (r Result) Line() string {
	switch {
	case r.Goes && r.Ends:
		return fmt.Sprintf("run %s is ended in the background, as somebody asked before: agent show %s", r.Run, r.Run)
	case r.Goes:
		return fmt.Sprintf("run %s goes on in the background (%s): agent attach %s", r.Run, r.Why, r.Run)
	case r.Failed != "":
		return fmt.Sprintf("run %s could not go on in the background (%s): agent resume %s", r.Run, r.Failed, r.Run)
	}
	return ""
}

// One has one run go on.
func (c Carrier) One(ctx context.Context, r host.Carried) Result {
	fault.Hit(fault.BeforeRecovery)
	ctx = context.WithoutCancel(ctx) // who stops this process does not mean that run
	ends, err := c.Folder.CancelKept(ctx, r.ID)
	if err != nil {
		return Result{Run: r.ID, Why: r.Why, Failed: err.Error()}
	}
	answer, err := Start(ctx, c.Dir, nil, launch.Job{Args: []string{"resume", "--no-recover", r.ID}, Why: r.Why})
	if err == nil && answer.Accepted != nil {
		return Result{Run: r.ID, Why: r.Why, Goes: true, Ends: ends}
	}
	held := c.other(r.ID, answer.PID) != nil
	row, rowErr := c.Folder.Store.Run(ctx, r.ID)
	if rowErr == nil && (held || row.Status.Terminal() || row.Status == recovery.StatusWaiting) {
		return Result{Run: r.ID} // another process was first
	}
	return Result{Run: r.ID, Why: r.Why, Failed: whyNot(answer, err)}
}

// whyNot is the reason why nothing is driven, as the process that was to drive gave it.
func whyNot(answer launch.Answer, err error) string {
	for _, line := range answer.Notes {
		if text, ok := strings.CutPrefix(line, "agent: "); ok {
			return text
		}
	}
	if err == nil {
		err = launch.ErrNoAnswer
	}
	return err.Error()
}
