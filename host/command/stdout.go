package command

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"agent/host/view"
)

// watched remembers why something could not be written. A reader that went away did not get it either.
type watched struct {
	io.Writer
	err error
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}

// missed says that what a command printed is not whole, and returns the exit code: what is done and was not delivered has
// failed for whoever called. A run that ended otherwise keeps its own.
func (a *app) missed(code int) int {
	w, ok := a.Out.(*watched)
	if !ok || w.err == nil {
		return code
	}
	if !errors.Is(w.err, syscall.EPIPE) { // else whoever read it has closed it, as head does, and knows
		fmt.Fprintf(a.Err, "agent: write to stdout: %v\n", w.err)
	}
	if a.drove {
		fmt.Fprintln(a.Err, "the run's answer is kept: agent show last")
	}
	if code == view.ExitDone {
		return view.ExitFailed
	}
	return code
}
