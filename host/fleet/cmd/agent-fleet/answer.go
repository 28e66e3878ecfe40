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
until the run has it, also where the host of the run is gone. The first answer
counts: another one is refused, and the first is shown.

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
				run, err := f.Answer(ctx, custody.Answer{Request: id, Text: text, By: who()})
				if err != nil {
					return err
				}
				if c.Bool("json") {
					return printJSON(c.Root().Writer, map[string]any{"version": 1, "run_id": run, "request": id, "answer": text})
				}
				fmt.Fprintf(c.Root().ErrWriter, "%s is answered: %s; run %s goes on\n", id, text, run)
				return nil
			})(ctx, c)
		},
	}
}
