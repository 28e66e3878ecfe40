package history

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Bounds of the changes of one commit.
const (
	maxChanges    = 100_000
	maxChangeList = 64 << 20 // bytes
)

// Change is a path that a commit has in another way than its first parent.
type Change struct {
	Path          string // as the system has it, seen from the top of the work tree
	Before, After Side
}

// Side is what a commit has at a path; without a blob it has nothing there.
type Side struct {
	Blob string
	Mode uint32 // as objects.ModeFile and the others
}

// Changes lists what a commit changed against its first parent; the first commit of a history
// against the empty tree, a merge nothing. A path that is moved is one that is gone and one that is
// new. ErrMissing where the commit or its parent is gone.
func (rd *Reader) Changes(ctx context.Context, commit string) ([]Change, error) {
	all, err := rd.changes(ctx, commit)
	if err != nil {
		return nil, fmt.Errorf("list what commit %.64s of %s changed: %w", commit, rd.repo.Common, err)
	}
	return all, nil
}

func (rd *Reader) changes(ctx context.Context, commit string) ([]Change, error) {
	asked, _, err := rd.Commits(ctx, []string{commit})
	if err != nil {
		return nil, err
	}
	c, ok := asked[commit]
	if !ok {
		return nil, ErrMissing
	}
	if len(c.Parents) > 1 {
		return nil, nil
	}
	if list, ok := rd.memory.changesOf(commit); ok {
		return list, nil
	}
	if _, missing, err := rd.Commits(ctx, c.Parents); err != nil || len(missing) > 0 {
		if err == nil {
			err = fmt.Errorf("read its parent: %w", ErrMissing)
		}
		return nil, err
	}
	out, err := rd.run(ctx, maxChangeList, nil, "diff-tree", "-r", "-z", "--root", "--no-renames", "--no-commit-id", "--no-ext-diff", "--end-of-options", commit)
	if err != nil {
		return nil, err
	}
	of, err := changesOf(string(out))
	return of[""], err
}

// changesOf reads git's raw form: git-diff-tree, "Raw output format". What follows the id of a
// commit is its own.
func changesOf(out string) (all map[string][]Change, err error) {
	all = map[string][]Change{}
	of := ""
	for out != "" {
		head, rest, ok := strings.Cut(out, "\x00")
		if isID(head) {
			of, out = head, rest
			continue
		}
		var c Change
		c.Path, out, _ = strings.Cut(rest, "\x00")
		words := strings.Fields(strings.TrimPrefix(head, ":"))
		if !ok || c.Path == "" || len(words) != 5 {
			return nil, fmt.Errorf("read git's answer: it is %.100q", head)
		}
		for i, side := range []*Side{&c.Before, &c.After} {
			mode, err := strconv.ParseUint(words[i], 8, 32)
			if err != nil {
				return nil, fmt.Errorf("read git's answer: it is %.100q", head)
			}
			if mode != 0 {
				*side = Side{words[2+i], uint32(mode)}
			}
		}
		if all[of] = append(all[of], c); len(all[of]) > maxChanges {
			return nil, fmt.Errorf("it changed more than %d paths: %w", maxChanges, ErrTooLarge)
		}
	}
	return all, nil
}
