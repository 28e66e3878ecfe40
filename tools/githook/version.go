package githook

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Version asks a git, or the one in PATH, for its version: the text, and its first two numbers.
func Version(git string) (text string, major, minor int, err error) {
	if git == "" {
		if git, err = exec.LookPath("git"); err != nil {
			return "", 0, 0, fmt.Errorf("find git: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, "version")
	cmd.WaitDelay = time.Second / 10
	out, err := cmd.Output()
	if err != nil {
		return "", 0, 0, fmt.Errorf("ask git for its version: %w", err)
	}
	text = strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")
	if _, err := fmt.Sscanf(text, "%d.%d", &major, &minor); err != nil {
		return text, 0, 0, fmt.Errorf("read git's version %.40q: %w", text, err)
	}
	return text, major, minor, nil
}

// Configurable says whether a git, or the one in PATH, reads hooks from its configuration: those
// from 2.54 on do.
func Configurable(git string) bool {
	_, major, minor, err := Version(git)
	return err == nil && Reads(major, minor)
}

// Reads says the same of a version.
func Reads(major, minor int) bool { return major > 2 || major == 2 && minor >= 54 }
