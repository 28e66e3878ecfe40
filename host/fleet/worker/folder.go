package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"agent/fleet/custody"
)

// folder makes the workspace of a run where it is missing, and names it.
func (h *Host) folder(ctx context.Context, r custody.Run) (string, error) {
	if r.Files != "" {
		if info, err := os.Stat(r.Files); err != nil || !info.IsDir() {
			return "", &NotHereError{fmt.Sprintf("this host has no folder %s", r.Files)}
		}
		return r.Files, nil
	}
	path := filepath.Join(h.Work, r.ID)
	if r.Git == "" {
		return path, os.MkdirAll(path, 0o700)
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil // it gets its name when it is whole
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(h.Work, 0o700); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(h.Work, "."+r.ID+"-")
	if err != nil {
		return "", err
	}
	if err := clone(ctx, r.Git, part); err != nil {
		return "", errors.Join(err, os.RemoveAll(part))
	}
	return path, os.Rename(part, path)
}

// clone brings a commit of a repository into an empty folder. source is URL@COMMIT.
func clone(ctx context.Context, source, folder string) error {
	at := strings.LastIndex(source, "@")
	if at <= 0 || at == len(source)-1 {
		return fmt.Errorf("clone %s: it wants URL@COMMIT", source)
	}
	url, commit := source[:at], source[at+1:]
	steps := [][]string{
		{"init", "--quiet"},
		{"remote", "add", "origin", url},
		{"fetch", "--quiet", "--depth=1", "origin", commit},
		{"checkout", "--quiet", "--detach", "FETCH_HEAD"},
	}
	for i, args := range steps {
		err := git(ctx, folder, args...)
		if err != nil && i == 2 { // a server may not give away a commit by its id
			if err = git(ctx, folder, "fetch", "--quiet", "--tags", "origin"); err == nil {
				err = git(ctx, folder, "checkout", "--quiet", "--detach", commit)
			}
			if err != nil {
				return fmt.Errorf("clone %s: %w", source, err)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("clone %s: %w", source, err)
		}
	}
	return nil
}

func git(ctx context.Context, folder string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, lastLine(stderr.String()))
	}
	return nil
}

// unpack puts the prompt of a run and its files into a folder, and gives the arguments that name
// them. Each is in a folder of its own: two may have one name.
func (h *Host) unpack(r custody.Run) (folder string, args []string, err error) {
	folder = filepath.Join(h.own(), "prompts", r.ID)
	put := func(number int, f custody.File) (string, error) {
		path := filepath.Join(folder, strconv.Itoa(number), inside(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
		return path, os.WriteFile(path, f.Data, 0o600)
	}
	if args, err = r.Unpack(put); err != nil {
		return folder, nil, err
	}
	path, err := put(0, custody.File{Name: r.File, Data: []byte(r.Prompt)})
	return folder, append(args, "-f", path), err
}

// inside is the name of a file that does not leave its folder, whatever it is called.
func inside(name string) string {
	name = filepath.Base(name)
	if name == "." || !filepath.IsLocal(name) || len(name) > 255 || strings.ContainsRune(name, 0) {
		return "file.md"
	}
	return name
}

// own is the folder of what the worker itself keeps.
func (h *Host) own() string { return filepath.Join(h.Home, "fleet") }
