package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/fleet/client"
	"agent/fleet/custody"
)

const answerHelp = `Answers a question of a run, once, from anywhere. The engine keeps the answer
until the run has it, also where the host of the run is gone. The first
answer counts: another one is refused, and the first is shown.

EXAMPLE
   agent-fleet answer p-c32a5jbe yes
   agent-fleet answer p-c32a5jbe no "use the test database"

EXIT STATUS
   0 taken, or given before in the same words; 1 refused; 2 wrong usage`

func answerCommand() *cli.Command {
	return &cli.Command{
		Name: "answer", Usage: "answer a question of a run", ArgsUsage: "PENDING-ID ANSWER", Description: answerHelp,
		Flags: slices.Concat([]cli.Flag{jsonFlag()}, engineFlags()),
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.Args().Len() < 2 {
				return usage("answer: name the question, and give the answer: agent-fleet answer p-c32a5jbe yes")
			}
			id, text := c.Args().First(), strings.TrimSpace(strings.Join(c.Args().Tail(), " "))
			if !requestID.MatchString(id) {
				return usage("answer: %q is not the id of a question, such as p-c32a5jbe: agent-fleet ls lists them", id)
			}
			if text == "" {
				return usage("answer %s: the answer is empty", id)
			}
			return act(func(ctx context.Context, c *cli.Command, f *client.Client) error {
				before, err := f.Answer(ctx, custody.Answer{Request: id, Text: text, By: who()})
				if err != nil {
					return err
				}
				if c.Bool("json") {
					return printJSON(stdout(c), map[string]any{"version": 1, "run_id": before.Run, "not_taken": before.Refused, "request": id, "answer": text})
				}
				fmt.Fprintln(c.Root().ErrWriter, answeredText(id, text, before))
				return nil
			})(ctx, c)
		},
	}
}

// answeredText says what an answer brought to a run that stood as it did before.
func answeredText(id, text string, before client.Row) string {
	if before.Over() {
		return fmt.Sprintf("%s was answered so before: %s; run %s has ended (%s)", id, text, before.Run, before.Status)
	}
	out := fmt.Sprintf("%s is answered: %s; run %s goes on", id, text, before.Run)
	if before.Request == nil || before.Request.ID != id {
		out = fmt.Sprintf("%s was answered so before: %s; run %s is %s", id, text, before.Run, before.Status)
	} else if strings.HasPrefix(before.Reason, "the answer ") {
		out += "; before it, " + oneLine(before.Reason)
	}
	return out
}
