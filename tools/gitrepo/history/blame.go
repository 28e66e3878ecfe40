package history

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"agent/tools/gitrepo/objects"
)

// maxBlame bounds what git may say of one line, which it repeats.
const maxBlame = 64 << 20

// Blamed is the commit that brought a line.
type Blamed struct {
	Commit string
	Path   string // there
	Line   int    // there
	Cut    bool   // the history ends there, so an older commit may have brought it
}

// Blame finds the commit that brought a line of a file, counted from 1, as git blame does: over the
// history that leads to a revision, which is a commit's id, and with nothing that is not committed.
func (rd *Reader) Blame(ctx context.Context, rev, file string, line int) (Blamed, error) {
	b, err := rd.blame(ctx, rev, file, line)
	if err != nil {
		return b, fmt.Errorf("find who brought line %d of %s in %.64s of %s: %w", line, file, rev, rd.repo.Common, err)
	}
	return b, nil
}

func (rd *Reader) blame(ctx context.Context, rev, file string, line int) (b Blamed, err error) {
	if line < 1 || file == "" || path.IsAbs(file) || path.Clean(file) != file {
		return b, fmt.Errorf("it is no line of a file of the repository")
	}
	if _, missing, err := rd.Commits(ctx, []string{rev}); err != nil {
		return b, err
	} else if len(missing) > 0 {
		return b, ErrMissing
	}
	border, err := rd.shallow()
	if err == nil {
		err = rd.setShallow(border)
	}
	if err != nil {
		return b, err
	}
	out, err := rd.run(ctx, maxBlame, nil, "blame", "--porcelain", "--root", "--no-progress", fmt.Sprintf("-L%d,%d", line, line), rev, "--", file)
	if err != nil {
		return b, err
	}
	if b, err = blamedOf(string(out)); err != nil {
		return b, err
	}
	b.Cut, err = rd.cut(ctx, b.Commit)
	return b, err
}

// cut says whether a parent of a commit is missing.
func (rd *Reader) cut(ctx context.Context, id string) (bool, error) {
	all, _, err := rd.Commits(ctx, []string{id})
	if err != nil {
		return false, err
	}
	_, missing, err := rd.Commits(ctx, all[id].Parents)
	return len(missing) > 0, err
}

// setShallow has git end its history where the repository does.
func (rd *Reader) setShallow(border []string) error {
	text := strings.Join(border, "\n")
	if text != "" {
		text += "\n"
	}
	return rd.write("shallow", text)
}

// blamedOf reads git-blame, "The porcelain format".
func blamedOf(out string) (b Blamed, err error) {
	head, rest, _ := strings.Cut(out, "\n")
	words := strings.Fields(head)
	if len(words) < 3 || !isID(words[0]) {
		return b, fmt.Errorf("read git's answer: it is %.100q", head)
	}
	b.Commit = words[0]
	if b.Line, err = strconv.Atoi(words[1]); err != nil {
		return b, fmt.Errorf("read git's answer: it is %.100q", head)
	}
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "\t") {
			break
		}
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "filename "); ok {
			if b.Path = name; strings.HasPrefix(name, `"`) {
				b.Path, _ = objects.Unquote(name)
			}
		}
	}
	if b.Path == "" {
		return b, fmt.Errorf("read git's answer: it names no file")
	}
	return b, nil
}
