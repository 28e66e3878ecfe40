package objects

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Moved is a path that two commits have in different ways.
type Moved struct{ From, To Tracked }

// Tracked is what a commit has at a path; without a blob it has nothing there.
type Tracked struct {
	Blob string // object id, hex
	Mode uint32 // ModeFile, ModeExecutable, ModeLink or ModeSubmodule
}

// The trees of no file, which git knows without having them.
const (
	noTreeSHA1   = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	noTreeSHA256 = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
)

// maxMoved bounds what is read of the differences of two commits, in bytes.
const maxMoved = 256 << 20

// Moved says in what two commits differ, as git compares them: by their trees alone. Paths are seen
// from the folder that the repository was found for; what is outside of it is left out. The first
// commit may be "", which has no file.
func (r Repository) Moved(ctx context.Context, from, to string) (map[string]Moved, error) {
	if from == "" {
		if from = noTreeSHA1; r.SHA256 {
			from = noTreeSHA256
		}
	}
	for _, id := range []string{from, to} {
		if err := r.isID(id); err != nil {
			return nil, fmt.Errorf("compare commits of %s: %w", r.Git, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd, err := gitCommand(ctx, r.Git, "diff-tree", "-r", "-z", "--no-renames", "--no-commit-id", "--end-of-options", from, to)
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("have git compare commits of %s: %w", r.Git, err)
	}
	all, err := r.readMoved(bufio.NewReader(io.LimitReader(out, maxMoved)))
	if err != nil {
		cancel() // it may have more to say
	}
	if err = errors.Join(err, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("have git compare commits of %s: %w", r.Git, err)
	}
	return all, nil
}

// readMoved reads git's raw form: git-diff-tree, "Raw output format".
func (r Repository) readMoved(in *bufio.Reader) (map[string]Moved, error) {
	all := map[string]Moved{}
	prefix := ""
	if r.Prefix != "" {
		prefix = r.Prefix + "/"
	}
	for {
		line, err := in.ReadString(0)
		if line == "" && err == io.EOF {
			return all, nil
		}
		name, err := in.ReadString(0)
		if err != nil {
			return nil, fmt.Errorf("read git's answer: %w", err)
		}
		words := strings.Fields(strings.TrimPrefix(strings.TrimSuffix(line, "\x00"), ":"))
		if len(words) != 5 {
			return nil, fmt.Errorf("git answers %.100q", line)
		}
		var m Moved
		for i, t := range []*Tracked{&m.From, &m.To} {
			mode, err := strconv.ParseUint(words[i], 8, 32)
			if err != nil {
				return nil, fmt.Errorf("git answers %.100q", line)
			}
			if mode != 0 {
				*t = Tracked{Blob: words[2+i], Mode: uint32(mode)}
			}
		}
		if name, ok := strings.CutPrefix(strings.TrimSuffix(name, "\x00"), prefix); ok && isPath(name) {
			all[name] = m
		}
	}
}
