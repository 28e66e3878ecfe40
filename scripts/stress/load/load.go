// Package load keeps a machine busy: processes that do nothing but count, children of the one that
// starts them, of the same priority.
//
// Each child reads its standard input, a pipe whose other end the parent holds alone, and ends with
// it. So the load ends with its parent, whichever way that ends.
package load

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Argument makes a program that calls Spin a busy loop: a child has no other argument.
const Argument = "-busy-loop"

// ready is what a child writes once it counts.
const ready = "r"

// startLimit is how long a child may take to begin. It is for a machine on which hundreds of
// processes are ahead of it.
const startLimit = 5 * time.Minute

// Spin counts until standard input ends, and then ends this process.
func Spin() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // an error is an end, too
		os.Exit(0)
	}()
	if _, err := os.Stdout.WriteString(ready); err != nil {
		os.Exit(1)
	}

	for n := uint(0); ; n++ {
		if n == ^uint(0) {
			n = 0
		}
	}
}

// Load is a number of busy loops.
type Load struct {
	lifeline *os.File // the end of the pipe that keeps them alive
	loops    []*loop
}

type loop struct {
	command *exec.Cmd
	ended   chan struct{} // closed once the process was reaped
}

// Start starts n busy loops of a program that calls Spin, and returns when all of them count.
func Start(program string, n int) (*Load, error) {
	input, lifeline, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the load generator: %w", err)
	}
	defer input.Close()

	l := &Load{lifeline: lifeline}
	for range n {
		if err := l.add(program, input); err != nil {
			_, err2 := l.Stop()
			return nil, fmt.Errorf("start the load generator: %w", errors.Join(err, err2))
		}
	}
	return l, nil
}

// add starts one more busy loop and waits until it counts.
func (l *Load) add(program string, input *os.File) error {
	sign, output, err := os.Pipe()
	if err != nil {
		return err
	}
	defer sign.Close()

	c := exec.Command(program, Argument)
	c.Stdin, c.Stdout, c.Stderr = input, output, os.Stderr
	// One thread counts, another waits for the end.
	c.Env = append(os.Environ(), "GOMAXPROCS=2")
	err = c.Start()
	output.Close()
	if err != nil {
		return err
	}

	one := &loop{command: c, ended: make(chan struct{})}
	l.loops = append(l.loops, one)
	go func() {
		_ = c.Wait() // how it ended is in c.ProcessState
		close(one.ended)
	}()

	if err := sign.SetReadDeadline(time.Now().Add(startLimit)); err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(sign, int64(len(ready))))
	if err == nil && string(text) != ready {
		err = errors.New("it ended before it counted")
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", program, Argument, err)
	}
	return nil
}

// Stop ends the load and returns the processor time that it used. It is an error if one of the
// loops had ended before: what ran beside them had less load than it was to have.
func (l *Load) Stop() (time.Duration, error) {
	alive := 0
	for _, one := range l.loops {
		select {
		case <-one.ended:
		default:
			alive++
		}
	}

	var used time.Duration
	for _, one := range l.loops {
		_ = one.command.Process.Kill() // it fails for what has ended already
		<-one.ended
		used += one.command.ProcessState.UserTime() + one.command.ProcessState.SystemTime()
	}
	if err := l.lifeline.Close(); err != nil {
		return used, fmt.Errorf("end the load: %w", err)
	}

	if alive < len(l.loops) {
		return used, fmt.Errorf("%d of %d busy loops were alive at the end: what ran beside them had too little load", alive, len(l.loops))
	}
	return used, nil
}
