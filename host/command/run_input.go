package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/flags"
	"agent/host/input"
	"agent/host/model/runbook"
)

// inputPatience is how long a pipe may stay open without data before that is announced.
const inputPatience = time.Second

// prompt reads the prompt from the argument, from a file, or from stdin.
func (a runCommand) prompt(ctx context.Context, c *cli.Command) (text, source string, err error) {
	file, args := c.String("file"), c.Args()
	switch {
	case args.Len() > 1:
		return "", "", flags.Unquoted(c, a.args)
	case file != "":
		if source, err = filepath.Abs(file); err != nil {
			return "", "", fmt.Errorf("read %s: %v", file, err)
		}
		text, err = a.readPrompt(ctx, input.OpenFile(source), false)
		return text, source, err
	case args.First() == "-":
		text, err = a.stdinPrompt(ctx)
		return text, "", err
	case args.First() == "":
		return "", "", app.Usage(errors.New(`there is no prompt: agent run "prompt", agent run -f FILE, or agent run - to read stdin`))
	}
	return args.First(), "", nil
}

// stdinPrompt reads the prompt from stdin.
func (a runCommand) stdinPrompt(ctx context.Context) (string, error) {
	return a.readPrompt(ctx, input.Open(a.In), input.Carries(a.In))
}

// readPrompt reads a prompt to its end, or to the first signal. What is announced is a pipe that
// stays open.
func (a runCommand) readPrompt(ctx context.Context, s *input.Stream, announced bool) (string, error) {
	patience := inputPatience
	if !announced {
		patience = 0
	}
	b, err := a.whole(ctx, s, patience, "agent: the prompt is read from stdin, which stays open: its end is waited for")
	text := ""
	if err == nil {
		text, err = input.Text(b)
	}
	if err != nil {
		return "", fmt.Errorf("read the prompt: %w", err)
	}
	return text, nil
}

// errAlone is why a driver does not use what it reads. When the process that started it is killed,
// so may be the one that writes: an end of the input says no longer that all of it came.
var errAlone = errors.New("the process that asked for this has ended")

// whole reads an input to its end; quiet is printed where that takes a while. A driver reads only
// as long as somebody waits for its answer.
func (a *commandLine) whole(ctx context.Context, s *input.Stream, patience time.Duration, quiet string) ([]byte, error) {
	say := func() { a.Say(a.Err, "%s", quiet) }
	if a.driver == nil {
		return s.All(ctx, patience, say)
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-a.driver.gone:
			stop()
		case <-reading.Done():
		}
	}()
	b, err := s.All(reading, patience, say)
	select {
	case <-a.driver.gone:
		return nil, errAlone
	default:
		return b, err
	}
}

// piped reads what is piped in beside the prompt. A runbook takes none: it waits only as long as a
// pipe may be silent.
func (a *commandLine) piped(ctx context.Context, c *cli.Command, ch app.Choice) (string, error) {
	if c.Args().First() == "-" || !input.Carries(a.In) {
		return "", nil
	}
	if ch.Name == runbook.Name {
		return "", a.nothingPiped(ctx, "a runbook")
	}
	b, err := a.whole(ctx, input.Open(a.In), inputPatience, "agent: stdin is a pipe that stays open: the run begins at its end, since what is piped in joins the prompt\n"+
		"       where nothing is to be piped in, add: < /dev/null")
	if err != nil {
		return "", fmt.Errorf("read stdin: %w", err)
	}
	text, replaced, err := input.Piped(b)
	if err != nil {
		return "", app.Usage(fmt.Errorf("read stdin: %v; name a file instead, or show a picture with --image", err))
	}
	if replaced > 0 {
		a.Say(a.Err, "agent: stdin: %s not valid UTF-8 and shown to the model as U+FFFD", countBytes(replaced))
	}
	return text, nil
}

// nothingPiped refuses input of what takes none: the steps of a runbook have an empty stdin.
func (a *commandLine) nothingPiped(ctx context.Context, what string) error {
	if !input.Carries(a.In) {
		return nil
	}
	begins, err := input.Begins(ctx, a.In, inputPatience)
	switch {
	case begins:
		return app.Usage(fmt.Errorf("something is piped in, and %s takes no input; add: < /dev/null, or write it to a file that a step reads", what))
	case errors.Is(err, input.ErrQuiet):
		a.Say(a.Err, "agent: stdin is a pipe that stays open; %s takes no input and goes on without it; to skip the wait, add: < /dev/null", what)
	case err != nil:
		return fmt.Errorf("read stdin: %w", err)
	}
	return nil
}

func countBytes(n int) string {
	if n == 1 {
		return "1 byte is"
	}
	return fmt.Sprintf("%d bytes are", n)
}
