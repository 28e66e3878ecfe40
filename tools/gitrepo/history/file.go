package history

import (
	"bytes"
	"context"
	"fmt"
	"path"
)

// File reads what a commit, named by its id, has at a path, of at most so many bytes: ErrMissing,
// ErrTooLarge.
func (rd *Reader) File(ctx context.Context, commit, file string, limit int64) ([]byte, error) {
	content, err := rd.file(ctx, commit, file, limit)
	if err != nil {
		return nil, fmt.Errorf("read %s in %.64s of %s: %w", file, commit, rd.repo.Common, err)
	}
	return content, nil
}

func (rd *Reader) file(ctx context.Context, commit, file string, limit int64) ([]byte, error) {
	if file == "" || path.IsAbs(file) || path.Clean(file) != file {
		return nil, ErrMissing
	}
	if _, missing, err := rd.Commits(ctx, []string{commit}); err != nil {
		return nil, err
	} else if len(missing) > 0 {
		return nil, ErrMissing
	}
	// A line is mode, kind and id, a tab, and the path as it is.
	out, err := rd.run(ctx, 64<<10, nil, "ls-tree", "-z", "--full-tree", commit, "--", file)
	if err != nil {
		return nil, err
	}
	for line := range bytes.SplitSeq(out, []byte{0}) {
		about, name, _ := bytes.Cut(line, []byte{'\t'})
		if words := bytes.Fields(about); string(name) == file && len(words) == 3 && string(words[1]) == "blob" {
			return rd.Blob(ctx, string(words[2]), limit)
		}
	}
	return nil, ErrMissing
}
