package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/launch"
	"agent/recovery"
	"agent/recovery/fault"
)

func noRecoverFlag() cli.Flag {
	return &cli.BoolFlag{Name: "no-recover", Usage: "leave runs that would go on in the background by themselves as they are"}
}

// startPatience is how long a command waits for runs that go on beside its own to be claimed.
const startPatience = 3 * time.Second

// carryOn has runs go on in the background that a crash or a restart of the machine interrupted,
// and that their person handed over or the machine took from them. It is the start of every command
// that may drive. Runs that except names are what the command itself is about.
func (s *session) carryOn(ctx context.Context, c *cli.Command, except func(app.RunRow) bool) error {
	carried := s.app.driver != nil && s.app.driver.job.Why != "" // nobody gave this command
	if carried || c.Bool("no-recover") || c.Bool("dry-run") {
		return nil
	}
	list, more, err := s.CarryOn(ctx, except)
	if err != nil {
		return err
	}
	lines := make(chan string, len(list))
	for _, r := range list {
		fault.Hit(fault.BeforeRecovery)
		go func() { lines <- s.carryOne(ctx, r) }()
	}
	late := time.After(startPatience)
	for range list {
		select {
		case line := <-lines:
			if line != "" {
				s.app.Say(s.app.Err, "agent: %s", line)
			}
		case <-late:
			s.app.Say(s.app.Err, "agent: runs are being started in the background: agent ls")
			return nil
		}
	}
	if more > 0 {
		s.app.Say(s.app.Err, "agent: %d more can go on in the background once one of those has ended", more)
	}
	return nil
}

// carryOne has one run go on, and returns the line about it; none where another process was first.
func (s *session) carryOne(ctx context.Context, r host.Carried) string {
	ctx = context.WithoutCancel(ctx) // who stops this command does not mean that run
	answer, err := s.app.launch(ctx, nil, launch.Job{Args: []string{"resume", "--no-recover", r.ID}, Why: r.Why})
	if err == nil && answer.Accepted != nil {
		return fmt.Sprintf("run %s goes on in the background (%s): agent attach %s", r.ID, r.Why, r.ID)
	}
	held, heldErr := s.Held(r.ID)
	row, rowErr := s.Store.Run(ctx, r.ID)
	if heldErr == nil && rowErr == nil && (held || row.Status.Terminal() || row.Status == recovery.StatusWaiting) {
		return "" // another process was first
	}
	return fmt.Sprintf("run %s could not go on in the background (%s): agent resume %s", r.ID, whyNot(answer, err), r.ID)
}

// whyNot is the reason why nothing is driven, as the process that was to drive gave it.
func whyNot(answer launch.Answer, err error) string {
	for _, line := range answer.Notes {
		if text, ok := strings.CutPrefix(line, "agent: "); ok {
			return text
		}
	}
	if err == nil {
		err = launch.ErrNoAnswer
	}
	return err.Error()
}

// ofThread names the runs of a thread.
func ofThread(thread string) func(app.RunRow) bool {
	return func(r app.RunRow) bool { return r.Thread == thread }
}
