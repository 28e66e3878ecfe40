package command

import (
	"bytes"
	"cmp"
	"os"
	"strings"
	"sync"

	"agent/host/app"
	"agent/host/launch"
	"agent/host/terminal"
	"agent/host/view"
)

// driver is this process where it carries out a command for one that does not wait for its end.
type driver struct {
	job   launch.Job
	gone  <-chan struct{} // closed when nobody waits for the answer
	reply *launch.Reply
	notes notes
}

// accepted answers that a run is recorded and claimed.
func (d *driver) accepted(run, thread string) {
	d.reply.Send(launch.Answer{Accepted: &launch.Accepted{Run: run, Thread: thread, Process: os.Getpid()}, Notes: d.notes.take()})
}

// drives has what is driven in a session be recorded as driven in the background.
func (d *driver) drives(f *app.Folder) {
	f.Detached, f.Why, f.Claimed = true, d.job.Why, d.accepted
	f.Who = cmp.Or(d.job.By, f.Who)
}

// driveMain carries out what a launcher asks for. What is not in its answer, the log has.
func driveMain(std IO, warning string) int {
	d := &driver{reply: launch.OpenReply()}
	job, gone, err := launch.Receive()
	if err == nil {
		err = os.Chdir(job.Dir)
	}
	if err != nil {
		d.reply.Send(launch.Answer{Ended: &launch.Ended{Code: view.ExitFailed}, Notes: []string{"agent: " + err.Error()}})
		return view.ExitFailed
	}
	d.job, d.gone = job, gone
	var out bytes.Buffer
	code := carryOut(append([]string{"agent"}, job.Args...), IO{
		Terminal: terminal.Terminal{In: std.In, Out: &out, Err: &d.notes, Getenv: std.Getenv},
		Dir:      func() (string, error) { return job.Dir, nil },
	}, warning, d)
	d.reply.Send(launch.Answer{Ended: &launch.Ended{Code: code, Out: out.String()}, Notes: d.notes.take()})
	return code
}

// notes are what a driver prints until it is heard no more.
type notes struct {
	mu   sync.Mutex
	text strings.Builder
	over bool
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.over {
		n.text.Write(p) // never fails
	}
	return len(p), nil
}

// take returns the lines that were printed so far; what follows is dropped.
func (n *notes) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.over = true
	return strings.FieldsFunc(n.text.String(), func(r rune) bool { return r == '\n' })
}
