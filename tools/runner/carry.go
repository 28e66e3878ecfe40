//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package runner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"agent/recovery/fault"
)

// carryOut begins the call, unless a stop was asked for, and sees it through. An error means that
// nothing was started and that no record says otherwise. The command is nil if there was none.
func (k *keeper) carryOut() (*command, Exit, error) {
	if yes, why := cancelled(k.folder); yes {
		return nil, k.neverRan(CauseCancelled, why), nil
	}
	k.hit(fault.RunnerBegins)
	c, unable := k.ready() // that it cannot be started is news only of a call that began
	k.hit(fault.RunnerReady)
	drop := func() {
		if unable == nil {
			c.drop()
		}
	}
	if err := k.writeBegan(); err != nil {
		drop()
		return nil, Exit{}, err
	}
	k.hit(fault.RunnerBegan)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	asked := k.watchCancel(ctx)
	if yes, why := cancelled(k.folder); yes {
		drop()
		return nil, k.neverRan(CauseCancelled, why), nil
	}
	if unable == nil {
		unable = c.begin()
	}
	if unable != nil {
		return nil, k.neverRan(CauseStartError, unable.Error()), nil
	}
	k.hit(fault.RunnerRunning)
	go c.buryOrphans()
	cause, message := k.attend(c, asked)
	c.out.finish()
	planted := putBack(k.spec.Before)
	exit := k.conclude(c, cause, message)
	if exit.PutBack = brief(planted); len(planted) > 0 {
		_ = note(k.folder, planted) // the exit record has the beginning of it
	}
	k.hit(fault.RunnerCommand)
	return c, exit, nil
}

// neverRan is the record of a command that was not started.
func (k *keeper) neverRan(cause Cause, message string) Exit {
	e := Exit{Identity: k.spec.Identity, Status: -1, Cause: cause, Message: clip(message), Ended: fault.Now()}
	e.Digest, _ = digest(k.folder) // of nothing: it cannot tell a thing
	return e
}

// attend waits until the command has ended, and ends it when its limits or a person say so.
func (k *keeper) attend(c *command, asked <-chan string) (Cause, string) {
	var late <-chan time.Time
	if k.spec.Timeout > 0 {
		timer := time.NewTimer(time.Until(c.begun.Add(k.spec.Timeout)))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-c.ended:
		return "", ""
	case why := <-asked:
		return k.stop(c, CauseCancelled, why)
	case <-late:
		return k.stop(c, CauseTimeout, fmt.Sprintf("stopped after %s", k.spec.Timeout))
	}
}

// stop ends the command and everything that it started: politely, and after the grace time by
// force. A command that had ended by itself keeps its own end.
func (k *keeper) stop(c *command, cause Cause, message string) (Cause, string) {
	select {
	case <-c.ended:
		return "", ""
	default:
	}
	left, err := k.end(c)
	if err != nil {
		message += fmt.Sprintf("; something that it started may still be running: %v", err)
	}
	// Its record must not be written while it runs, however long a kill takes.
	<-c.ended
	var alive []string
	for _, p := range left {
		if p.Pid != c.cmd.Process.Pid {
			alive = append(alive, p.brief())
		}
	}
	if len(alive) > 0 {
		message += "; may still be running: " + strings.Join(alive, ", ")
	}
	return cause, message
}

// conclude makes the exit record of a command that has ended, and the spool durable.
func (k *keeper) conclude(c *command, cause Cause, message string) Exit {
	e := Exit{Identity: k.spec.Identity, Cause: cause, Started: c.date, Ended: fault.Now(), Took: time.Since(c.begun)}
	var own Cause
	e.Status, e.Signal, own = c.status()
	if cause == "" {
		e.Cause = own
	}
	trouble := k.spool.trouble
	if err := k.spool.end(); trouble == nil {
		trouble = err
	}
	var err error
	if e.Digest, err = digest(k.folder); trouble == nil {
		trouble = err
	}
	e.Output, e.Kept = k.spool.total, k.spool.kept
	e.Truncated = e.Kept < e.Output
	if trouble != nil {
		if message != "" {
			message += "; "
		}
		e.Truncated = true
		message += fmt.Sprintf("the record of the output ends after %d of %d bytes: %v", e.Kept, e.Output, trouble)
	}
	e.Message = clip(message)
	return e
}
