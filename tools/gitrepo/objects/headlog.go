package objects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLog is how much of a log is read at once, in bytes.
const maxLog = 4 << 20

// HeadLog reads what HEAD's log (logs/HEAD, gitrepository-layout) has behind a place in it: of each
// line the first words of its message, up to the colon, such as "commit (amend)" or "checkout".
// next is the place behind what was read. A log that is missing has no lines; one that is shorter
// than the place was written anew, and is read from its beginning.
func (r Repository) HeadLog(from int64) (verbs []string, next int64, err error) {
	f, info, err := r.openHeadLog()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, from, fmt.Errorf("read the log of HEAD: %w", err)
	}
	defer f.Close() // it was only read from
	if info.Size() < from {
		from = 0
	}
	if info.Size()-from > maxLog {
		from = info.Size() - maxLog
	}
	text, err := io.ReadAll(io.NewSectionReader(f, from, maxLog))
	if err != nil {
		return nil, from, fmt.Errorf("read the log of HEAD: %w", err)
	}
	end := bytes.LastIndexByte(text, '\n') + 1 // a line that is being written counts next time
	for line := range strings.Lines(string(text[:end])) {
		_, message, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		verb, _, _ := strings.Cut(message, ":")
		verbs = append(verbs, verb)
	}
	return verbs, from + int64(end), nil
}

// HeadLogBehind is the place behind the last line of HEAD's log that moved HEAD to a commit, for
// who saw HEAD there and not how long the log was; 0 where there is no such line.
func (r Repository) HeadLogBehind(commit string) (place int64, err error) {
	f, info, err := r.openHeadLog()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the log of HEAD: %w", err)
	}
	defer f.Close() // it was only read from
	from := max(info.Size()-maxLog, 0)
	text, err := io.ReadAll(io.NewSectionReader(f, from, maxLog))
	if err != nil {
		return 0, fmt.Errorf("read the log of HEAD: %w", err)
	}
	at := int64(0)
	for line := range strings.Lines(string(text)) {
		at += int64(len(line))
		if ids := strings.Fields(line); len(ids) > 1 && ids[1] == commit {
			place = from + at
		}
	}
	return place, nil
}

// openHeadLog opens HEAD's log where it is a regular file. Whoever may write to the workspace may
// have put a link or a pipe there, so it must be the same file before and after it is opened.
func (r Repository) openHeadLog() (*os.File, fs.FileInfo, error) {
	name := filepath.Join(r.Git, "logs", "HEAD")
	before, err := os.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, errors.New("not a regular file")
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = errors.New("it was replaced while it was opened")
	}
	if err != nil {
		f.Close() // nothing was read from it
		return nil, nil, err
	}
	return f, info, nil
}
