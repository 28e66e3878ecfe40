package command

import (
	"context"
	"errors"
	"fmt"
	"os"

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
		err = a.earlier(folder, c)
	}
	if err != nil {
		return a.exit(err)
	}
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return a.exit(fmt.Errorf("converse: open the terminal: %v", err))
	}
	defer f.Close()
	c.Say("%s", c.Greeting(Version, a.Tilde(folder)))
	return c.Run(f)
}

// earlier is the newest thread of the folder, with what was said in it.
func (a *commandLine) earlier(folder string, c *talk.Conversation) error {
	s, err := a.open(context.Background(), app.Read)
	if errors.Is(err, app.ErrNoState) {
		return nil
	}
	if err != nil {
		return err
	}
	row, err := s.Store.LatestRun(context.Background(), folder)
	var rows []app.RunRow
	if err == nil && row != nil {
		c.Thread = row.Thread
		rows, err = s.Store.ThreadRuns(context.Background(), row.Thread)
	}
	for _, r := range rows {
		c.Before = append(c.Before, view.PromptStart(r.Prompt))
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
