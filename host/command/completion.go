package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/urfave/cli/v3"

	"agent/db"
	"agent/host/stream"
	"agent/recovery"
)

const completionHelp = `Prints a script that lets a shell complete commands, flags and the ids of runs and requests.

EXAMPLE
   source <(agent completion bash)
   source <(agent completion zsh)
   agent completion fish > ~/.config/fish/completions/agent.fish

EXIT STATUS
   0 printed, 2 wrong usage`

// completionCommand words the command that package cli makes.
func completionCommand(c *cli.Command) {
	c.Hidden = false
	c.Usage = "print a completion script for bash, zsh, fish or pwsh"
	c.ArgsUsage = "bash | zsh | fish | pwsh"
	c.Description = completionHelp
}

// anyRun and unfinished say which runs are worth completing.
func anyRun(recovery.Status) bool       { return true }
func unfinished(s recovery.Status) bool { return !s.Terminal() }

// completeRuns completes the first argument with the ids of runs.
func (a *app) completeRuns(want func(recovery.Status) bool) cli.ShellCompleteFunc {
	return func(ctx context.Context, c *cli.Command) {
		if flagsWanted(c) || c.Args().Len() > 0 {
			cli.DefaultCompleteWithFlags(ctx, c)
			return
		}
		a.withStore(ctx, func(s *db.Store) error {
			rows, err := s.Runs(ctx, db.Filter{})
			for _, r := range rows {
				if want(r.Status) {
					a.candidate(r.ID, string(r.Status)+", "+promptWords(r.Prompt))
				}
			}
			return err
		})
	}
}

// completeRequests completes the first argument with the ids of open requests and the second with the answers that fit.
func (a *app) completeRequests(ctx context.Context, c *cli.Command) {
	if flagsWanted(c) {
		cli.DefaultCompleteWithFlags(ctx, c)
		return
	}
	a.withStore(ctx, func(s *db.Store) error {
		rows, err := s.Pending(ctx, false)
		for _, r := range rows {
			switch {
			case c.Args().Len() == 0:
				a.candidate(r.ID, r.Request.Message)
			case c.Args().Len() == 1 && c.Args().First() == r.ID:
				for i, word := range r.Request.Choices {
					hint := ""
					if i < len(r.Request.Hints) {
						hint = r.Request.Hints[i]
					}
					a.candidate(word, hint)
				}
			}
		}
		return err
	})
}

// completeBoth completes what can be cancelled: runs that have not ended and open requests.
func (a *app) completeBoth(ctx context.Context, c *cli.Command) {
	a.completeRuns(unfinished)(ctx, c)
	if !flagsWanted(c) && c.Args().Len() == 0 {
		a.completeRequests(ctx, c)
	}
}

// flagsWanted says whether the word that is being typed is a flag.
func flagsWanted(c *cli.Command) bool {
	args := c.Args().Slice()
	return len(args) > 0 && strings.HasPrefix(args[len(args)-1], "-")
}

// candidate prints one completion in the form that the scripts of package cli read: the word, a colon, what it is.
func (a *app) candidate(word, about string) {
	about = strings.Join(strings.Fields(stream.Sanitize(about)), " ")
	fmt.Fprintf(a.Out, "%s:%s\n", word, displaywidth.TruncateString(about, 60, "…"))
}

// withStore reads the state folder without changing anything. An error is not shown: it would be printed into the line
// that the person is typing, and every command shows it when it is run.
func (a *app) withStore(ctx context.Context, f func(*db.Store) error) {
	home, err := a.home()
	if err != nil {
		return
	}
	s, err := db.OpenRead(ctx, home)
	if err != nil {
		return
	}
	_ = f(s)
	_ = s.Close()
}
