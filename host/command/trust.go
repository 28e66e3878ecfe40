package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"agent/host/app"
	"agent/host/terminal"
)

// askTrust puts the workspace's file to the person at the terminal.
func (a *commandLine) askTrust(ctx context.Context, f *app.ServerFiles) (bool, error) {
	t, err := terminal.OpenPrompt()
	if err != nil {
		return false, app.ErrNoAnswer
	}
	defer t.Close()
	return putTrust(ctx, t, f.Shown(), f.Workspace)
}

func putTrust(ctx context.Context, t *terminal.Prompt, shown, workspace string) (bool, error) {
	t.Discard()
	t.Say("? %s", shown)
	t.Say("  yes  starts them, now and in every later run here, until the file or what they start from changes\n")
	t.Say("  no   goes on without them, and does not ask again until the file changes\n")
	t.Say("  (Ctrl-D goes on without them this time)\n")
	for {
		t.Say("answer (yes/no): ")
		line, err := t.ReadLine(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			t.Say("\n")
			return false, context.Cause(ctx)
		case errors.Is(err, io.EOF):
			t.Say("\n")
			return false, app.ErrNoAnswer
		case err != nil:
			return false, fmt.Errorf("read the answer about %s: %v", workspace, err)
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "yes", "y":
			return true, nil
		case "no", "n":
			return false, nil
		}
		t.Say("  say yes or no\n")
	}
}
