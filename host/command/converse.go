package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"agent/host"
	"agent/host/app"
	"agent/host/talk"
	"agent/host/view"
)

// converses says whether a command line without a command is to begin a conversation: where a
// person sits at a terminal for all that is read and written.
func converses(args []string, std IO) bool {
	if len(args) != 1 || !std.Interactive() || !std.SameTerminal() {
		return false
	}
	in, ok := std.In.(*os.File)
	return ok && term.IsTerminal(int(in.Fd()))
}

// converse is a conversation in the current folder.
func converse(std IO, warning string) int {
	a := newCommandLine(std)
	if warning != "" {
		fmt.Fprintf(std.Err, "agent: %s\n", warning)
	}
	c := &talk.Conversation{
		Say: func(format string, args ...any) { a.Say(a.Err, format, args...) },
		Carry: func(args []string, d *talk.Desk) int {
			at := std
			at.Desk = d
			return carryOut(append([]string{"agent"}, args...), at, "", nil)
		},
	}
	folder, err := a.folder("")
	if err == nil {
		err = a.earlier(context.Background(), folder, c)
	}
	if err != nil {
		return a.exit(err)
	}
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return a.exit(fmt.Errorf("converse: open the terminal: %v", err))
	}
	defer f.Close()
	defer restoring(f)()
	c.Say("%s", c.Greeting(Version, a.Tilde(folder)))
	return c.Run(f)
}

// restoring gives the terminal back as it was when a signal ends the process.
func restoring(f *os.File) (stop func()) {
	was, err := term.GetState(int(f.Fd()))
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // Ctrl-C is for what goes on, and not for the conversation
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		if sig, ok := <-caught; ok && err == nil {
			_ = term.Restore(int(f.Fd()), was)
			signal.Reset(sig)
			if p, err := os.FindProcess(os.Getpid()); err == nil {
				_ = p.Signal(sig)
			}
		}
	}()
	return func() { signal.Stop(caught); close(caught) }
}

// earlier finds the newest thread of the folder, with what was said in it.
func (a *commandLine) earlier(ctx context.Context, folder string, c *talk.Conversation) error {
	s, err := a.open(ctx, app.Read)
	if errors.Is(err, app.ErrNoState) {
		return nil
	}
	if err != nil {
		return err
	}
	row, err := s.Store.LatestRun(ctx, folder)
	if err == nil && row != nil {
		c.Thread = row.Thread
		var rows []app.RunRow
		if rows, err = s.Store.ThreadRuns(ctx, row.Thread); err == nil {
			for _, r := range rows {
				c.Before = append(c.Before, view.PromptStart(r.Prompt))
			}
		}
	}
	return errors.Join(err, s.close())
}

// hearTyped has what is typed while the run goes on go to its model.
func (s *session) hearTyped() {
	desk := s.app.Desk
	if desk == nil {
		return
	}
	ctx := context.Background() // what was typed is kept, also where the run is asked to stop
	s.Process.Claimed = func(run, thread string) {
		desk.Begin(run, thread, func(text string) bool {
			release, err := s.show.Alone(ctx)
			if err != nil {
				return false
			}
			defer release()
			if talk.IsCommand(text) {
				s.app.Say(s.app.Err, "· that waits until the run has ended; Ctrl-C interrupts it")
				return false
			}
			if _, err := host.Tell(ctx, s.Host, run, text); err != nil {
				s.app.Say(s.app.Err, "· the model of run %s takes no message any more: that is said next", run)
				return false
			}
			s.app.Say(s.app.Err, "· the model gets that with its next request")
			return true
		})
	}
}
