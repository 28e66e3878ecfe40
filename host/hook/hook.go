// Package hook calls the person's own commands when a run waits for an answer, has ended, or is
// left alone: the [[hook]] tables of their config.toml.
//
// A hook is a notification, outside of the journal: no fact records it, nothing waits for it but
// the end of the process, and what becomes of it is one line of the log. So it has no fault point.
// It is called at most once for each event. Who writes the fact of a question or of an end calls
// it, after the commit; a process that carries the run on after a crash does not call again. Of a
// run that is left alone many processes learn, and the first to make the event's file in the folder
// left of the state folder calls.
//
// A hook before a call is none of this: see [Caller.Before].
//
// The command is the person's, as an alias of their shell is: it runs outside of every sandbox, in
// a session of its own without a terminal, in the person's home folder. It gets one [Event] or
// [Call] as a line of JSON on its standard input, and of the environment what [Environ] lets
// through. At its time limit it is killed with its process group. What it leaves running when it
// ends may go on, unless that keeps its output open. When the host is killed, a hook goes on to its
// own end.
package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"agent/db"
	"agent/host/config"
	"agent/host/stream"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

const (
	most     = 16              // at a time; what comes beyond is not called
	kept     = 2 << 10         // bytes of its output, for the log
	lateEnd  = time.Second     // for what a hook started and left behind with its output
	slowWait = 2 * time.Second // before a person learns why the process has not ended yet
)

// Options say for whom hooks are called.
type Options struct {
	Home    string                                                   // the state folder
	Environ []string                                                 // of this process
	Hooks   func() ([]config.Hook, error)                            // asked for once, with the first event
	Run     func(ctx context.Context, run string) (db.RunRow, error) // its row, without secrets
	Redact  func(text string) string                                 // takes secrets out of what a hook prints
	Clean   func(Call) Call                                          // takes secrets out of what a hook reads of a call
	OpenLog func(home string) (*slog.Logger, io.Closer, error)       // asked for once, with the first line
}

// Caller calls hooks. A nil Caller calls none.
type Caller struct {
	o       Options
	log     func() *slog.Logger
	logFile io.Closer
	seen    chan struct{} // closed when the hub has, and everything was seen
	places  chan struct{}
	guards  func() ([]config.Hook, error) // those before a call, read once
	running sync.WaitGroup
	given   sync.WaitGroup // those that do not have their event yet
}

// Watch calls hooks for what is published from now on until the hub closes.
func Watch(hub *stream.Hub, o Options) *Caller {
	c := &Caller{o: o, seen: make(chan struct{}), places: make(chan struct{}, most)}
	c.log = sync.OnceValue(c.openLog)
	c.guards = sync.OnceValues(func() ([]config.Hook, error) {
		all, err := o.Hooks()
		return slices.DeleteFunc(all, func(h config.Hook) bool { return !slices.Contains(h.On, config.OnCall) }), err
	})
	obs := hub.ObserveOnly(func(e *stream.Event) bool { return e.Fact != nil && eventOf(e.Fact.Body) != "" })
	go func() {
		defer close(c.seen)
		for {
			e, err := obs.Next(context.Background())
			if err != nil {
				return
			}
			c.fact(e.Run, *e.Fact)
		}
	}()
	return c
}

// hooks are those that an event calls. A configuration that cannot be read is reported where a run
// begins.
func (c *Caller) hooks(on string) []config.Hook {
	all, err := c.o.Hooks()
	if err != nil {
		c.log().Warn("hook", "event", on, "reason", c.o.Redact(err.Error()))
	}
	return slices.DeleteFunc(all, func(h config.Hook) bool { return !slices.Contains(h.On, on) })
}

func (c *Caller) openLog() *slog.Logger {
	log, f, err := c.o.OpenLog(c.o.Home)
	if err != nil {
		return slog.New(slog.DiscardHandler) // nothing of the run depends on it
	}
	c.logFile = f
	return log
}

// eventOf is what a fact is to a hook; "" for nothing.
func eventOf(b journal.Body) string {
	switch b := b.(type) {
	case journal.RequestOpened:
		return config.OnWaiting
	case journal.RunCompleted, journal.RunFailed, journal.RunCancelled:
		return config.OnEnded
	case journal.RunInterrupted:
		if stuck(b.Cause) {
			return config.OnLeftAlone
		}
	}
	return ""
}

// fact calls for a fact that this process has written.
func (c *Caller) fact(run string, fact journal.Event) {
	on := eventOf(fact.Body)
	hooks := c.hooks(on)
	if len(hooks) == 0 {
		return
	}
	row, err := c.o.Run(context.Background(), run)
	if err != nil {
		c.log().Warn("hook", "event", on, "run", run, "reason", c.o.Redact(err.Error()))
		return
	}
	if row.Parent != "" && on != config.OnWaiting {
		return // the run above it goes on, or says what keeps it from that
	}
	if on == config.OnLeftAlone {
		c.LeftAlone(row, "")
		return
	}
	e := newEvent(on, row)
	if b, ok := fact.Body.(journal.RequestOpened); ok {
		e.asks(b.Request)
	}
	c.call(hooks, e)
}

// LeftAlone calls for a run that nothing has go on any more, once for each time that this comes
// about: whoever is first calls. why says what keeps it from going on; "" where its row says it. A
// run that may go on, that a person stopped, or that nobody missed for a week is none.
func (c *Caller) LeftAlone(row db.RunRow, why string) {
	if c == nil || why == "" && !alone(row) || fault.Now().Sub(row.Updated) > forgotten || marked(c.o.Home, row) {
		return
	}
	hooks := c.hooks(config.OnLeftAlone)
	if len(hooks) == 0 {
		return
	}
	first, err := mark(c.o.Home, row)
	if err != nil {
		c.log().Warn("hook", "event", config.OnLeftAlone, "run", row.ID, "reason", err.Error())
	}
	if first {
		e := newEvent(config.OnLeftAlone, row)
		e.alone(row, why)
		c.call(hooks, e)
	}
}

// call starts commands, and waits for none.
func (c *Caller) call(hooks []config.Hook, e Event) {
	text, err := json.Marshal(e)
	if err != nil { // it holds nothing that could not be encoded
		c.log().Warn("hook", "event", e.Event, "run", e.Run, "reason", err.Error())
		return
	}
	text = append(text, '\n')
	for _, h := range hooks {
		select {
		case c.places <- struct{}{}:
			c.given.Add(1)
			c.running.Go(func() {
				defer func() { <-c.places }()
				c.run(h, e, text)
			})
		default:
			c.log().Warn("hook", "event", e.Event, "run", e.Run, "command", h.Command[0], "reason", "not called: too many hooks are under way")
		}
	}
}

// run runs one command to its end, and writes what became of it into the log.
func (c *Caller) run(h config.Hook, e Event, text []byte) {
	printed, err := c.carryOut(context.Background(), h, text, c.given.Done)
	line := []any{"event", e.Event, "run", e.Run, "command", h.Command[0]}
	if printed != "" {
		line = append(line, "output", printed)
	}
	if err != nil {
		c.log().Warn("hook", append(line, "reason", c.o.Redact(err.Error()))...)
		return
	}
	c.log().Info("hook", line...)
}

// carryOut runs one command to its end, and returns what it printed, without secrets. given is
// called once the command has its event.
func (c *Caller) carryOut(ctx context.Context, h config.Hook, text []byte, given func()) (printed string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.Timeout, errSlow)
	defer cancel()
	var out head
	cmd := exec.CommandContext(ctx, h.Command[0], h.Command[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Dir, cmd.Env, cmd.WaitDelay = homeFolder(), Environ(c.o.Environ, c.o.Home), lateEnd
	apart(cmd)
	err = start(ctx, cmd, text, given)
	if err == nil {
		err = cmd.Wait()
	}
	switch {
	case errors.Is(context.Cause(ctx), errSlow):
		err = fmt.Errorf("it was killed: it %w within %s", errSlow, h.Timeout)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, exec.ErrWaitDelay):
		endGroup(cmd) // whatever keeps its output open
		err = errOpen
	}
	// In this order: what a control sequence parts is one secret without it.
	return c.o.Redact(stream.Sanitize(out.String())), err
}

var (
	errSlow = errors.New("did not end")
	errOpen = errors.New("something that it started kept its output open, and was ended")
)

// start starts a command and gives it its event, which it then has whatever becomes of this
// process.
func start(ctx context.Context, cmd *exec.Cmd, text []byte, given func()) error {
	defer given()
	in, give, err := os.Pipe()
	if err != nil {
		return err
	}
	defer give.Close() // a command that did not read all of it did not want it
	cmd.Stdin = in
	if err := errors.Join(cmd.Start(), in.Close()); err != nil {
		return err
	}
	if end, ok := ctx.Deadline(); ok {
		_ = give.SetWriteDeadline(end) // without it, the end of the command ends the wait
	}
	_, _ = give.Write(text) // as above
	return nil
}

// homeFolder is where a hook runs. The folder of the run is none: what lies there is not the
// person's alone.
func homeFolder() string {
	if home, err := os.UserHomeDir(); err == nil {
		if info, err := os.Stat(home); err == nil && info.IsDir() {
			return home
		}
	}
	return "/"
}

// Seen waits until everything that was published was seen: what is needed for the calls was read.
// The hub is closed before.
func (c *Caller) Seen() {
	if c != nil {
		<-c.seen
	}
}

// Wait waits for the commands that are under way, each at most for its time limit, and not where
// the process is asked to stop: then they go on by themselves, each with its event. slow is called
// where it takes a while.
func (c *Caller) Wait(stop <-chan struct{}, slow func()) error {
	if c == nil {
		return nil
	}
	late := time.AfterFunc(slowWait, slow)
	defer late.Stop()
	select {
	case <-done(&c.running):
	case <-stop:
		given := time.NewTimer(lateEnd)
		defer given.Stop()
		select {
		case <-done(&c.given):
		case <-given.C: // one that does not read a long event keeps nobody
		}
		if len(c.places) > 0 {
			c.log().Warn("hook", "reason", "not waited for: this process was asked to stop")
			return nil
		}
		c.running.Wait()
	}
	if c.logFile == nil {
		return nil
	}
	return c.logFile.Close()
}

// done is closed when everything that a group counts is done.
func done(g *sync.WaitGroup) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		g.Wait()
		close(over)
	}()
	return over
}

// head keeps the beginning of what is written to it, and takes all of it.
type head struct {
	mu   sync.Mutex
	text []byte
	more bool
}

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := min(len(p), kept-len(h.text))
	h.text, h.more = append(h.text, p[:n]...), h.more || n < len(p)
	return len(p), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(h.text), "\uFFFD"))
	if h.more {
		text += " … (more is not kept)"
	}
	return text
}
