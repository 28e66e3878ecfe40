// Agent-fleet runs agent on many machines.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v3"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cli.Command{
		Name: "agent-fleet", Usage: "run agent on many machines",
		Commands: []*cli.Command{
			runCommand(), lsCommand(), showCommand(), answerCommand(), cancelCommand(), moveCommand(), resumeCommand(),
			attachCommand(), scheduleCommand(), setupCommand(), doctorCommand(), historyCommand(), workerCommand(),
		},
	}
	if err := root.Run(ctx, os.Args); err != nil {
		fmt.Fprintf(os.Stderr, "agent-fleet: %v\n", err)
		os.Exit(1)
	}
}
