package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"agent/fleet/log"
	"agent/fleet/seal"
	"agent/fleet/witness"
)

const witnessHelp = `Puts what runs of this machine do into a log elsewhere, before they do it:
after a loss of the machine, at most one command of each run may have
happened without being on record. A run has it that is started with
AGENT_WITNESS=unix:PATH, or with [witness] address in config.toml, and goes
on only with it. It needs no other part of a fleet.

EXAMPLE
   agent-fleet key
   agent-fleet witness --log dir:/mnt/nas/agent \
      --listen unix:$XDG_RUNTIME_DIR/w

EXIT STATUS
   0 ended by SIGTERM or Ctrl-C; 1 failed; 2 wrong usage`

// patience is how long a log may take to be opened.
const patience = 30 * time.Second

// logFlags name a log, and who may read it.
func logFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "log", Usage: "the log is at `URL`: dir:/FOLDER, postgres://HOST/DATABASE or s3://BUCKET/PREFIX", Sources: cli.EnvVars("AGENT_FLEET_LOG")},
		keyFlag(),
		&cli.StringFlag{Name: "namespace", Usage: "runs of the fleet are in namespace `NAME`", Value: "default", Sources: cli.EnvVars("AGENT_FLEET_NAMESPACE")},
	}
}

// openLog opens what logFlags name.
func openLog(ctx context.Context, c *cli.Command) (log.Log, seal.Key, error) {
	if c.String("log") == "" {
		return nil, seal.Key{}, usage("%s needs --log; %s --help shows how", c.FullName(), c.FullName())
	}
	if err := log.CheckNamespace(c.String("namespace")); err != nil {
		return nil, seal.Key{}, usageError{err}
	}
	path, err := keyFile(c)
	if err != nil {
		return nil, seal.Key{}, err
	}
	k, err := seal.ReadFile(path)
	if err != nil {
		return nil, k, err
	}
	within, stop := context.WithTimeout(ctx, patience)
	defer stop()
	l, err := log.Open(within, c.String("log"), c.String("namespace"))
	return l, k, err
}

func witnessCommand() *cli.Command {
	return &cli.Command{
		Name: "witness", Usage: "keep a log of runs of this machine", Description: witnessHelp,
		Flags: append(logFlags(),
			&cli.StringFlag{Name: "listen", Usage: "drivers reach it at unix:`PATH`"},
			&cli.StringFlag{Name: "name", Usage: "this machine is called `NAME` in the log; else by its host name"}),
		Action: serveWitness,
	}
}

func serveWitness(ctx context.Context, c *cli.Command) (err error) {
	if err := arguments(c, 0, 0); err != nil {
		return err
	}
	path, ok := strings.CutPrefix(c.String("listen"), "unix:")
	if !ok {
		return usage("%s needs --listen unix:PATH", c.FullName())
	}
	name := c.String("name")
	if name == "" {
		if name, err = os.Hostname(); err != nil {
			return fmt.Errorf("name this machine: %w; --name NAME does", err)
		}
	}
	l, k, err := openLog(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	socket, err := witness.Listen(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout(c), "witness %s of fleet %s listens on unix:%s\n", name, k.Fleet(), path)
	return witness.Serve(ctx, socket, l, k, witness.Options{By: name, Namespace: c.String("namespace")})
}
