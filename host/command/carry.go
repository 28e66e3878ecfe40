package command

import (
	"context"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/carry"
)

func noRecoverFlag() cli.Flag {
	return &cli.BoolFlag{Name: "no-recover", Usage: "leave runs that would go on in the background by themselves as they are"}
}

// carrier has runs of the session go on in processes of their own.
func (s *session) carrier() (carry.Carrier, error) {
	dir, err := s.app.currentDir()
	return carry.Carrier{Folder: s.Folder, Dir: dir, Say: func(line string) { s.app.Say(s.app.Err, "%s", line) }}, err
}

// carryOn is the start of every command that may drive: runs go on in the background that are
// nobody's in the foreground. Runs that except names are what the command itself is about.
func (s *session) carryOn(ctx context.Context, c *cli.Command, except func(app.RunRow) bool) error {
	carried := s.app.driver != nil && s.app.driver.job.Why != "" // nobody gave this command
	if carried || c.Bool("no-recover") || c.Bool("dry-run") {
		return nil
	}
	carrier, err := s.carrier()
	if err != nil {
		return err
	}
	return carrier.Recover(ctx, "", except)
}

// ofThread names the runs of a thread.
func ofThread(thread string) func(app.RunRow) bool {
	return func(r app.RunRow) bool { return r.Thread == thread }
}
