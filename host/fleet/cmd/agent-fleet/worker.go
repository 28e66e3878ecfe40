package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/urfave/cli/v3"

	"agent/fleet/seal"
	"agent/fleet/worker"
)

const workerHelp = `Takes runs while it has free slots, until SIGINT or SIGTERM. Their drivers
are processes of their own: they go on when the worker ends, and the next
worker finds them. Under systemd that takes KillMode=process.

With --log none the worker takes runs of --mode plan alone, which only read.
Where its host is lost, such a run is parked: no record of it is left.

EXAMPLE
   agent-fleet worker --log postgres://db.corp/agent --slots 6 --label linux
   agent-fleet worker --log s3://agent-log/ci --label gpu=no
   agent-fleet worker --log dir:/srv/agent-log --host h-07

EXIT STATUS
   0 it was stopped; 1 something that it needs is not as it has to be; 2
   wrong usage`

func workerCommand() *cli.Command {
	return &cli.Command{
		Name:        "worker",
		Usage:       "drive runs of the fleet on this machine",
		Description: workerHelp,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "log", Usage: "`URL` of the log: dir:/FOLDER, postgres://HOST/DATABASE, s3://BUCKET/PREFIX, or none", Sources: cli.EnvVars("AGENT_FLEET_LOG")},
			&cli.IntFlag{Name: "slots", Usage: "drive at most `N` runs at a time", Value: 4},
			&cli.StringSliceFlag{Name: "label", Usage: "take runs that ask for `LABEL`; may be given again"},
			&cli.StringFlag{Name: "home", Usage: "state `FOLDER` of agent", Sources: cli.EnvVars("AGENT_HOME")},
			&cli.StringFlag{Name: "work", Usage: "`FOLDER` for the workspaces of runs (default: beside the state folder, with -work behind its name)"},
			&cli.StringFlag{Name: "agent", Usage: "`PATH` of the program agent", Value: "agent"},
			&cli.StringFlag{Name: "host", Usage: "`NAME` of this host, which stays the same (default: the machine's)"},
			&cli.BoolFlag{Name: "verbose", Usage: "log what is done, on stderr"},
		}, engineFlags()),
		Action: func(ctx context.Context, c *cli.Command) error {
			config, err := workerConfig(c)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			if err := config.Check(); err != nil {
				return usageError{err}
			}
			return worker.Run(ctx, config)
		},
	}
}

func workerConfig(c *cli.Command) (worker.Config, error) {
	config := worker.Config{
		Log: c.String("log"), Name: c.String("host"),
		Slots: c.Int("slots"), Labels: c.StringSlice("label"), Home: c.String("home"), Work: c.String("work"),
		Agent: c.String("agent"), Stdout: stdout(c),
	}
	switch err := nonempty(c, "host", "work", "agent"); {
	case err != nil:
		return config, err
	case c.Args().Present():
		return config, usage("%s takes no argument, and %q is one; %s --help shows how", c.FullName(), c.Args().First(), c.FullName())
	case config.Log == "":
		return config, usage("%s needs --log; %s --help shows how", c.FullName(), c.FullName())
	}
	var err error
	if config.Engine, err = engineOptions(c); err != nil {
		return config, err
	}
	path, err := keyFile(c)
	if err != nil {
		return config, err
	}
	if config.Key, err = seal.ReadFile(path); err != nil {
		return config, err
	}
	if config.Name == "" {
		if config.Name, err = os.Hostname(); err != nil {
			return config, fmt.Errorf("name this host: %w", err)
		}
	}
	if config.Home == "" {
		state := os.Getenv("XDG_STATE_HOME")
		if state == "" {
			state = filepath.Join(os.Getenv("HOME"), ".local", "state")
		}
		config.Home = filepath.Join(state, "agent")
	}
	if config.Work == "" {
		config.Work = config.Home + "-work" // no tool may reach the state folder
	}
	level := slog.LevelWarn
	if c.Bool("verbose") {
		level = slog.LevelInfo
	}
	config.Logger = slog.New(slog.NewTextHandler(c.Root().ErrWriter, &slog.HandlerOptions{Level: level}))
	return config, nil
}
