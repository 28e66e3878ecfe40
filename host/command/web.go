package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/serve"
)

const webHelp = `Prints a link that shows your runs in a browser of this machine and takes
your answers there, and opens it. The link works once, for 60 seconds. Where
no server runs, this one serves until it is stopped. See agent help server.

EXAMPLE
   agent web
   agent web --no-open --port 0

EXIT STATUS
   0 printed, or the server was stopped; 1 refused; 2 wrong usage`

type webCommand struct{ *commandLine }

func (a webCommand) command() *cli.Command {
	return &cli.Command{
		Name: "web", Usage: "show runs in a browser", Description: webHelp, Action: a.run,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "no-open", Usage: "print the link and open no browser"}, portFlag()},
	}
}

func (a webCommand) run(ctx context.Context, c *cli.Command) error {
	home, err := a.Home()
	if err = errors.Join(noArguments(c), err); err != nil {
		return err
	}
	show := func(link string) {
		a.Say(a.Out, "%s  (valid once, for 60 s)", link)
		if c.Bool("no-open") {
			return
		}
		if err := serve.Browse(a.Env, link); err != nil {
			a.Say(a.Err, "no browser is opened: %v; open the link yourself", err)
		}
	}
	link, err := serve.Link(ctx, home, c.Int("port"))
	if errors.Is(err, serve.ErrNoServer) {
		return serveCommand(a).serve(ctx, serve.Options{Web: true, Port: c.Int("port"), Link: show})
	}
	if err != nil {
		return err
	}
	if port := c.Int("port"); c.IsSet("port") && port != 0 && !strings.Contains(link, fmt.Sprintf(":%d/", port)) {
		a.Say(a.Err, "the server shows its page already, not at port %d; another port needs another start of the server", port)
	}
	show(link)
	return nil
}

// portFlag is where the page is.
func portFlag() cli.Flag {
	return &cli.IntFlag{Name: "port", Value: serve.DefaultPort, Usage: "show the page at port `N` of 127.0.0.1; 0 has one chosen", Validator: serve.CheckPort}
}
