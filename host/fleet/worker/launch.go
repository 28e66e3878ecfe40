package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// launchVersion is that of what is said to a driver that is started.
const launchVersion = 1

// job is what a driver carries out, as agent says it to the one that it starts for --detach.
type job struct {
	Version int      `json:"version"`
	Args    []string `json:"args"`
	Dir     string   `json:"dir"`
	Run     string   `json:"run,omitempty"` // that begins
}

// launched is what the driver answers: it has its run, or it ended without one.
type launched struct {
	Version  int       `json:"version"`
	Accepted *struct{} `json:"accepted"`
	Ended    *struct {
		Out string `json:"out"` // what the command printed
	} `json:"ended"`
}

// noAnswer is the code of the refusal by a driver that ended before it said that it has its run.
const noAnswer = "no_answer"

// drive has a process of its own carry out a command that drives a run, and waits until that has
// the run. It is what agent --detach does, without the process in between; where the program says
// it in another way, that one is asked. A driver that is not waited for any more goes on.
func (a Agent) drive(ctx context.Context, run string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	text, err := json.Marshal(job{Version: launchVersion, Args: args, Dir: "/", Run: run})
	if err != nil {
		return err
	}
	what := "agent " + args[0]
	said, err := a.launch(ctx, text)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", what, ctx.Err())
	case errors.As(err, new(*RefusedError)):
		return err
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	}
	var x launched
	if json.Unmarshal(said, &x) != nil || x.Version != launchVersion {
		return a.call(ctx, new(struct{}), args...)
	}
	if x.Accepted != nil {
		return nil
	}
	var r refusal
	if x.Ended == nil || json.Unmarshal([]byte(x.Ended.Out), &r) != nil {
		return a.call(ctx, new(struct{}), args...) // which says why
	}
	if r.Status == "refused" {
		return &RefusedError{Code: r.Code, Text: r.Error, Exit: r.Exit}
	}
	return nil
}

// launch starts a driver and gives what it answers. The end of its job says that nobody waits.
func (a Agent) launch(ctx context.Context, job []byte) ([]byte, error) {
	heard, said, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer heard.Close() // it was read, or nobody waits
	got, give, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, said.Close())
	}
	defer give.Close() // a write that counts said what went wrong
	cmd := exec.Command(a.Path, "__drive")
	cmd.Env = a.environ(true)
	cmd.ExtraFiles, cmd.SysProcAttr = []*os.File{got, said}, &syscall.SysProcAttr{Setsid: true}
	if err := errors.Join(cmd.Start(), got.Close(), said.Close()); err != nil {
		return nil, err
	}
	go func() { _ = cmd.Wait() }() // how it ends is on record
	// Its end ends the read below; what it says of itself is of no use.
	defer context.AfterFunc(ctx, func() { _ = heard.Close() })()
	if _, err := give.Write(append(job, '\n')); err != nil && !errors.Is(err, syscall.EPIPE) { // else it ended
		return nil, err
	}
	line, err := bufio.NewReader(heard).ReadBytes('\n')
	if err != nil {
		return nil, &RefusedError{Code: noAnswer, Text: "its process ended before it could say that it has the run"}
	}
	return line, nil
}
