package command

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v3"

	"agent/host/app"
)

// The scripts pass the words to the hidden command of host/complete as arguments and never evaluate
// them.
var (
	//go:embed completion.bash
	bashCompletion string
	//go:embed completion.zsh
	zshCompletion string
	//go:embed completion.fish
	fishCompletion string
)

const completionHelp = `Prints a script that lets a shell complete commands, flags, files and the ids
of runs and questions. It needs no other package, and what was typed is never
executed. zsh completes nothing before compinit ran: in ~/.zshrc it stands
first.

EXAMPLE
   source <(agent completion bash)
   autoload -Uz compinit; compinit; source <(agent completion zsh)
   mkdir -p ~/.config/fish/completions
   agent completion fish > ~/.config/fish/completions/agent.fish

EXIT STATUS
   0 printed, 2 wrong usage`

type completionCommand struct{ *commandLine }

func (a completionCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "completion",
		Usage:       "print a completion script for bash, zsh or fish",
		ArgsUsage:   "bash | zsh | fish",
		Description: completionHelp,
		Action:      a.run,
	}
}

func (a completionCommand) run(_ context.Context, c *cli.Command) error {
	if c.Args().Len() != 1 {
		return app.Usage(errors.New("name one shell: agent completion bash, zsh or fish"))
	}
	script, ok := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Args().First()]
	if !ok {
		return app.Usage(fmt.Errorf("there is no completion for %q; name bash, zsh or fish", c.Args().First()))
	}
	_, err := io.WriteString(a.Out, script)
	if err != nil {
		return fmt.Errorf("write the completion script: %v", err)
	}
	return nil
}
