package command

import (
	"context"
	"errors"
	"os"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"agent/host/acp"
	"agent/host/app"
)

const acpHelp = `Speaks with an editor on standard input and output, by the Agent Client
Protocol (https://agentclientprotocol.com). The editor starts it. A session is a
conversation: each prompt is a run like any other, which goes on when the editor
or this process ends, and is shown again when the session is loaded.

In the editor's settings: command agent, arguments acp. See agent help editor.

EXIT STATUS
   0 the editor closed the connection; 1 the state folder cannot be used;
   2 wrong usage`

type acpCommand struct{ *commandLine }

func (a acpCommand) command() *cli.Command {
	return &cli.Command{Name: "acp", Usage: "speak with an editor (Agent Client Protocol)", Description: acpHelp, Action: a.run}
}

func (a acpCommand) run(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	in, ok := a.In.(*os.File)
	if !ok || term.IsTerminal(int(in.Fd())) {
		return app.Usage(errors.New("an editor starts agent acp and speaks with it: nobody types here (agent help editor); for a conversation at this terminal: agent"))
	}
	s, err := a.open(ctx, app.Drive)
	if err != nil {
		return err
	}
	carrier, err := s.carrier()
	if err == nil {
		err = acp.Serve(ctx, in, a.Out, acp.Options{
			App: a.App, Folder: s.Folder, Carrier: carrier, Version: Version,
		})
	}
	return errors.Join(err, s.close())
}
