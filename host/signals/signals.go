// Package signals has the process end what it does when a signal asks it to.
package signals

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"agent/host"
)

// sameSignal is how long a second signal counts as the first: timeout(1) sends one to the process
// and one to its group.
const sameSignal = 100 * time.Millisecond

// Stops are the signals that ask a command to stop.
type Stops struct {
	caught chan os.Signal
	cancel context.CancelCauseFunc
}

// Watch gives a context that the first signal to stop ends, once they are caught; a second one
// takes its default action and ends the process, which is safe too, but for SIGQUIT, whose default
// action is a dump of every goroutine. A closed stdout stops showing, not running: SIGPIPE is
// caught, and unlike an ignored signal a caught one is not passed on to the commands that are
// started.
func Watch(parent context.Context) (context.Context, *Stops) {
	ctx, cancel := context.WithCancelCause(parent)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return ctx, &Stops{caught: make(chan os.Signal, 1), cancel: cancel}
}

// Catch begins to catch them. It is for commands that do something: until then, and in one that
// only prints a few lines, a signal to stop ends the process. Each one that is caught costs such a
// command a twentieth of its time, for two changes of the thread. A nil Stops catches nothing: the
// process is another's.
func (s *Stops) Catch() {
	if s == nil {
		return
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(sig) { // nohup, and a shell's & without job control, mean it
			signal.Notify(s.caught, sig)
		}
	}
	go func() {
		if sig, ok := <-s.caught; ok {
			s.cancel(fmt.Errorf("%w by %s", host.ErrShutdown, sig))
			time.Sleep(sameSignal)
			signal.Notify(make(chan os.Signal, 1), syscall.SIGQUIT)
			signal.Stop(s.caught)
		}
	}()
}

// End lets go of them.
func (s *Stops) End() {
	signal.Stop(s.caught)
	s.cancel(nil)
}

// Again says whether an interrupt comes within a time after offer, which says that one is waited
// for. From before that none ends the process: who reads the offer is quick.
func Again(within time.Duration, offer func()) bool {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	defer signal.Stop(caught)
	offer()
	over := time.NewTimer(within)
	defer over.Stop()
	select {
	case <-caught:
		return true
	case <-over.C:
		return false
	}
}
