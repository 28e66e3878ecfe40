package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/fleet/client"
	"agent/fleet/custody"
	"agent/fleet/seal"
)

// The exit codes, which are those of agent run.
const (
	exitWaiting     = 3
	exitInterrupted = 4
	exitUnknown     = 5
	exitCancelled   = 6
)

// engineFlags say where the engine is, and whose fleet it serves.
func engineFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "engine", Value: "127.0.0.1:7233", Usage: "the engine answers at `HOST:PORT`",
			Sources: cli.EnvVars("AGENT_FLEET_ENGINE", "TEMPORAL_ADDRESS")},
		&cli.StringFlag{Name: "namespace", Value: "default", Usage: "the fleet's `NAMESPACE` in it",
			Sources: cli.EnvVars("AGENT_FLEET_NAMESPACE", "TEMPORAL_NAMESPACE")},
		keyFlag(),
		&cli.BoolFlag{Name: "tls", Usage: "speak TLS with the engine"},
		&cli.StringFlag{Name: "tls-ca", Usage: "trust the certificates in `FILE`", Sources: cli.EnvVars("TEMPORAL_TLS_SERVER_CA_CERT_PATH")},
		&cli.StringFlag{Name: "tls-cert", Usage: "show the engine the certificate in `FILE`", Sources: cli.EnvVars("TEMPORAL_TLS_CLIENT_CERT_PATH")},
		&cli.StringFlag{Name: "tls-key", Usage: "whose key is in `FILE`", Sources: cli.EnvVars("TEMPORAL_TLS_CLIENT_KEY_PATH")},
		&cli.StringFlag{Name: "tls-server-name", Usage: "the engine's certificate is for `NAME`", Sources: cli.EnvVars("TEMPORAL_TLS_SERVER_NAME")},
		&cli.StringFlag{Name: "api-key", Usage: "show the engine this `KEY`; better by TEMPORAL_API_KEY", Sources: cli.EnvVars("TEMPORAL_API_KEY")},
	}
}

func keyFlag() cli.Flag {
	return &cli.StringFlag{Name: "key-file", Usage: "`FILE` with the fleet's key (default: " + defaultKeyText + ")", Sources: cli.EnvVars("AGENT_FLEET_KEY")}
}

const defaultKeyText = "agent-fleet/key in the user's folder of configuration"

// keyFile is the file with the fleet's key.
func keyFile(c *cli.Command) (string, error) {
	if path := c.String("key-file"); path != "" {
		return path, nil
	}
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the fleet's key: %w; --key-file FILE names it", err)
	}
	return filepath.Join(folder, "agent-fleet", "key"), nil
}

// engineOptions reads the flags.
func engineOptions(c *cli.Command) (client.Options, error) {
	for _, name := range []string{"engine", "namespace"} {
		if strings.TrimSpace(c.String(name)) == "" {
			return client.Options{}, usage("%s --%s: it is empty; name the fleet's %s, or leave it out for its default", c.FullName(), name, name)
		}
	}
	path, err := keyFile(c)
	if err != nil {
		return client.Options{}, err
	}
	key, err := seal.ReadFile(path)
	if err != nil {
		return client.Options{}, err
	}
	return client.Options{
		Address: c.String("engine"), Namespace: c.String("namespace"), Key: key, APIKey: c.String("api-key"), Identity: who(),
		TLS: client.TLS{On: c.Bool("tls"), CA: c.String("tls-ca"), Cert: c.String("tls-cert"), Key: c.String("tls-key"),
			ServerName: c.String("tls-server-name")},
	}, nil
}

func connect(ctx context.Context, c *cli.Command) (*client.Client, error) {
	o, err := engineOptions(c)
	if err != nil {
		return nil, err
	}
	return client.Connect(ctx, o)
}

// who is the person, as the fleet names who asked and who answered.
func who() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return name
}

// act has a command do something with the engine, and gives what goes wrong its exit code.
func act(do func(context.Context, *cli.Command, *client.Client) error) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) error {
		engine, err := connect(ctx, c)
		if err != nil {
			return err
		}
		defer engine.Close() // the engine has acknowledged what was done
		return do(ctx, c, engine)
	}
}

// actOn is act for a command that names a run, which is looked at before the engine is asked.
func actOn(do func(context.Context, *cli.Command, *client.Client, string) error) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) error {
		run, err := oneRun(c)
		if err != nil {
			return err
		}
		return act(func(ctx context.Context, c *cli.Command, f *client.Client) error { return do(ctx, c, f, run) })(ctx, c)
	}
}

// code ends the command without another word.
func code(n int) error {
	if n == 0 {
		return nil
	}
	return exitError(n)
}

var requestID = regexp.MustCompile(`^[pc]-[0-9a-z]{4,16}$`)

// oneRun is the run that a command names.
func oneRun(c *cli.Command) (string, error) {
	if c.Args().Len() != 1 {
		return "", usage("%s: name one run: agent-fleet %s r-7k2m9qx4", c.Name, c.Name)
	}
	run := c.Args().First()
	if !custody.IsRunID(run) {
		return "", usage("%s: %q is not the id of a run, such as r-7k2m9qx4: agent-fleet ls lists them", c.Name, run)
	}
	return run, nil
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON object on stdout"}
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
