package command

import (
	"errors"
	"fmt"
	"syscall"

	"agent/host/view"
)

// missed says that what a command printed is not whole, and returns the exit code: what is done and
// was not delivered has failed for whoever called. A run that ended otherwise keeps its own.
func (a *commandLine) missed(code int) int {
	err := a.Undelivered()
	if err == nil {
		return code
	}
	if !errors.Is(err, syscall.EPIPE) { // else whoever read it has closed it, as head does, and knows
		fmt.Fprintf(a.Err, "agent: write to stdout: %v\n", err)
	}
	if a.drove {
		fmt.Fprintln(a.Err, "the run's answer is kept: agent show last")
	}
	if code == view.ExitDone {
		return view.ExitFailed
	}
	return code
}
