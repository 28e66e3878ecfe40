package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/carry"
	"agent/host/input"
	"agent/host/launch"
	"agent/host/view"
)

func detachFlag() cli.Flag {
	return &cli.BoolFlag{Name: "detach", Usage: "go on in the background, also after this terminal is closed"}
}

// detached says whether the command is to be carried out by a process of the run's own, and this is
// not that process.
func (a *commandLine) detached(c *cli.Command) bool { return c.Bool("detach") && a.driver == nil }

// attended refuses what the exit code is to say of a run that goes on after the command has ended.
func attended(c *cli.Command) error {
	if c.Bool("detach") && c.Bool(failOnRefusal) {
		return app.Usage(errors.New("give --detach or --fail-on-refusal, not both: the command ends before the run does; agent show --calls says later what was refused"))
	}
	return nil
}

// currentDir is the current folder.
func (a *commandLine) currentDir() (string, error) {
	dir, err := a.Dir()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("find the current folder: it is not there any more; go to another one first, such as: cd ~")
	case err != nil:
		return "", fmt.Errorf("find the current folder: %v", err)
	}
	return dir, nil
}

// detach has the command line carried out in the background, and prints what became of it until it
// goes on without this process.
func (a *commandLine) detach(ctx context.Context, c *cli.Command, run string) error {
	var in *os.File
	if f, ok := a.In.(*os.File); ok && input.Carries(f) {
		in = f
	}
	job := launch.Job{Args: a.args[1:]}
	if c.Name == "run" || c.Name == "fork" {
		run = cmp.Or(c.String("run-id"), host.NewRunID())
		job.Run = run
	}
	slow := time.AfterFunc(carry.Patience, func() {
		a.Say(a.Err, "agent: waiting for the process that is to drive the run: it may read its input or start MCP servers; Ctrl-C stops it")
	})
	defer slow.Stop()
	defer context.AfterFunc(ctx, func() { a.Say(a.Err, "agent: the process that is to drive the run is asked to stop") })()
	dir, err := a.currentDir()
	if err != nil {
		return err
	}
	answer, err := carry.Start(ctx, dir, in, job)
	slow.Stop()
	if errors.Is(err, launch.ErrNoAnswer) {
		return a.unanswered(ctx, c, run, answer.PID, err)
	}
	if err != nil {
		return fmt.Errorf("go on in the background: %w", err)
	}
	for _, line := range answer.Notes {
		a.Say(a.Err, "%s", line)
	}
	if end := answer.Ended; end != nil {
		a.PassOn(end.Out)
		return withCode(end.Code)
	}
	if ctx.Err() != nil {
		a.Say(a.Err, "agent: run %s was recorded, and is asked to stop: agent resume %s", answer.Accepted.Run, answer.Accepted.Run)
		return withCode(view.ExitInterrupted)
	}
	a.printDetached(c.Bool("json"), *answer.Accepted)
	return nil
}

func (a *commandLine) printDetached(json bool, at launch.Accepted) {
	v := view.NewDetached(at.Run, at.Thread, at.Process)
	a.handed = at.Run
	if json {
		a.PrintJSON(v)
		return
	}
	a.Say(a.Out, "%s", v.Text())
}

// unanswered tells what became of a run whose process ended without an answer: the database has it.
func (a *commandLine) unanswered(ctx context.Context, c *cli.Command, run string, ended int, why error) error {
	ctx = context.WithoutCancel(ctx)
	s, err := a.open(ctx, app.Read)
	switch {
	case errors.Is(err, app.ErrNoState) || run == "":
		return fmt.Errorf("go on in the background: %w; nothing is recorded of it, and the log may have why: agent doctor", why)
	case err != nil:
		return errors.Join(fmt.Errorf("go on in the background: %w", why), err)
	}
	if _, id, findErr := s.find(ctx, run, 'r'); findErr == nil { // it may be typed as last, or in part
		run = id
	}
	at, err := carry.Lost(ctx, s.Folder, run, ended)
	var lost *carry.LostError
	if err := errors.Join(err, s.close()); errors.As(err, &lost) {
		return lost
	} else if err != nil {
		return errors.Join(fmt.Errorf("go on in the background: %w; nothing of run %s is recorded", why, run), err)
	}
	a.printDetached(c.Bool("json"), *at)
	return nil
}

// detachNext has one of several runs go on in a process of its own, with what changes for all of
// them.
func (s *resuming) detachNext(ctx context.Context, row app.RunRow) (any, int) {
	dir, err := s.app.currentDir()
	var answer launch.Answer
	if err == nil {
		answer, err = carry.Start(ctx, dir, nil, launch.Job{Args: append(s.again(), row.ID)})
	}
	for _, line := range answer.Notes {
		s.app.Say(s.app.Err, "%s", line)
	}
	if errors.Is(err, launch.ErrNoAnswer) {
		answer.Accepted, err = carry.Lost(ctx, s.Folder, row.ID, answer.PID)
	} else if err != nil {
		err = fmt.Errorf("go on with run %s in the background: %w", row.ID, err)
	}
	switch {
	case err != nil:
		code := s.app.exit(err)
		return refusal(err, row.ID, code), code
	case answer.Ended != nil:
		return refusal(withCode(answer.Ended.Code), row.ID, answer.Ended.Code), answer.Ended.Code
	}
	if !s.c.Bool("json") {
		s.app.printDetached(false, *answer.Accepted)
	}
	return view.NewDetached(row.ID, row.Thread, answer.Accepted.Process), view.ExitDone
}

// again is the command line with what changes for a run, without which run that is.
func (s *resuming) again() []string {
	args := []string{"resume", "--no-recover"}
	for _, f := range s.c.Flags {
		name := f.Names()[0]
		if f.IsSet() && !slices.Contains([]string{"all", "detach", "json", "output-format", "dir", "no-recover"}, name) {
			args = append(args, fmt.Sprintf("--%s=%v", name, f.Get()))
		}
	}
	return args
}
