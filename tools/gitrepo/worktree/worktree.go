// Package worktree adds a worktree to a repository, and takes away one that was not finished. It is
// the only place where git is run with the settings of the repository and of the person, and the
// only one that has git write below .git, which is where git keeps what it knows of its worktrees.
// The hooks of the repository are not run: what they do is meant for the person who checks out.
//
// A worktree is locked from its first moment until Unlock, with a reason that says who makes it. So
// git neither prunes it nor adds another one there, and whoever finds it after a kill knows that it
// is not finished.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"agent/tools/gitrepo/gitconfig"
	"agent/tools/gitrepo/objects"
)

// maxLine bounds the files that hold one line, in bytes.
const maxLine = 64 << 10

// stopTime is how long git may take to clear up once it is asked to stop.
const stopTime = 10 * time.Second

// Add adds a worktree at a commit, with no branch, and locks it. The folder must not be there, or
// be empty.
func Add(ctx context.Context, r objects.Repository, dir, commit, reason string) error {
	if err := run(ctx, r, "worktree", "add", "--lock", "--reason", reason, "--detach", dir, commit); err != nil {
		return fmt.Errorf("add a worktree in %s: %w", dir, err)
	}
	return nil
}

// Remove removes a worktree with all that is in its folder, also one that is locked, and one of
// which only a part is there.
func Remove(ctx context.Context, r objects.Repository, dir string) error {
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !isNotEmpty(err) { // git wants one that is empty gone
		return fmt.Errorf("remove the worktree in %s: %w", dir, err)
	}
	if err := run(ctx, r, "worktree", "remove", "--force", "--force", dir); err != nil {
		return fmt.Errorf("remove the worktree in %s: %w", dir, err)
	}
	return nil
}

func isNotEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)
}

// Unlock says that a worktree is finished.
func Unlock(ctx context.Context, r objects.Repository, dir string) error {
	if err := run(ctx, r, "worktree", "unlock", dir); err != nil {
		return fmt.Errorf("unlock the worktree in %s: %w", dir, err)
	}
	return nil
}

// Locked finds the worktree that a repository has in a folder, which need not be there any more,
// and says why it is locked. ok is false where there is none, or where it is not locked.
func Locked(r objects.Repository, dir string) (reason string, ok bool, err error) {
	all := filepath.Join(r.Common, "worktrees")
	list, err := os.ReadDir(all)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("list the worktrees of %s: %w", r.Common, err)
	}
	for _, d := range list {
		at, err := line(filepath.Join(all, d.Name(), "gitdir"))
		if err != nil || filepath.Clean(at) != filepath.Join(dir, ".git") {
			continue // it is another one, or git itself cannot tell
		}
		reason, err := line(filepath.Join(all, d.Name(), "locked"))
		if errors.Is(err, fs.ErrNotExist) {
			return "", false, nil
		}
		if err != nil {
			return "", false, fmt.Errorf("read why the worktree in %s is locked: %w", dir, err)
		}
		return reason, true, nil
	}
	return "", false, nil
}

func line(name string) (string, error) {
	text, err := gitconfig.ReadFile(name, maxLine)
	return strings.TrimRight(string(text), "\r\n"), err
}

// run has git act in a repository, as the person would.
func run(ctx context.Context, r objects.Repository, words ...string) error {
	exe, err := exec.LookPath("git")
	if err != nil {
		return fmt.Errorf("find git: %w", err)
	}
	words = append([]string{"-C", r.Top, "-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false"}, words...)
	cmd := exec.CommandContext(ctx, exe, words...)
	cmd.Env = append(environment(os.Environ()), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // git clears up then
	cmd.WaitDelay = stopTime
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("git %s: %w%s", strings.Join(words[6:8], " "), err, because(said.String())))
	}
	return nil
}

// because is the last line that git printed, as the end of a message.
func because(text string) string {
	text = strings.TrimSpace(text)
	if text = text[strings.LastIndexByte(text, '\n')+1:]; text == "" {
		return ""
	}
	return ": " + text
}

// environment is that of git without what names another repository: git rev-parse --local-env-vars.
func environment(all []string) []string {
	local := []string{
		"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE",
		"GIT_INTERNAL_SUPER_PREFIX", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE",
		"GIT_WORK_TREE", "GIT_NAMESPACE", "GIT_CONFIG_PARAMETERS",
	}
	return slices.DeleteFunc(slices.Clone(all), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(local, name)
	})
}
