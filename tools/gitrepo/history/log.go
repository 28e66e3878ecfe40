package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bounds of what is read of a log.
const (
	maxNewLog  = 4 << 20  // bytes that were added
	maxLogLine = 64 << 10 // bytes of one line
)

// added reads the lines that were added to a log between two marks of it; nil stands for no log. A
// line that is still being written counts next time.
func added(file string, before, after *LogMark) (list []logLine, why string) {
	f, info, err := openLog(file)
	switch {
	case absent(err) && before == nil:
		return nil, ""
	case absent(err):
		return nil, "its log is gone"
	case err != nil:
		return nil, "its log cannot be read: " + err.Error()
	}
	defer f.Close() // it was only read from; nothing can be lost
	from, to := int64(0), info.Size()
	if before != nil {
		if before.Inode != inodeOf(info) {
			return nil, "its log was replaced"
		}
		if from = before.Size; to < from {
			return nil, "its log is shorter than it was"
		}
	}
	if after != nil && after.Inode == inodeOf(info) && after.Size <= to && after.Size >= from {
		to = after.Size // what came later belongs to the next marks
	}
	if to-from > maxNewLog {
		why, from = fmt.Sprintf("more than %d bytes were added to its log", maxNewLog), to-maxNewLog
	}
	back := max(from-maxLogLine, 0)
	text, err := io.ReadAll(io.NewSectionReader(f, back, to-back))
	if err != nil || int64(len(text)) < from-back {
		return nil, "its log could not be read to its end"
	}
	start := bytes.LastIndexByte(text[:from-back], '\n') + 1 // it may have been within a line
	if start == 0 && back > 0 {
		return nil, "its log has lines without end"
	}
	text = text[start:]
	for line := range strings.Lines(string(text[:bytes.LastIndexByte(text, '\n')+1])) {
		l, ok := lineOf(strings.TrimSuffix(line, "\n"))
		if !ok {
			why = "its log has a line that cannot be read"
			continue
		}
		list = append(list, l)
	}
	return list, why
}

// openLog opens a log where it is a regular file. Whoever may write to the workspace may have put a
// link or a pipe there, so it must be the same file before and after it is opened.
func openLog(file string) (*os.File, os.FileInfo, error) {
	before, err := os.Lstat(file)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, errors.New("it is no regular file")
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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

// lineOf takes a line apart: two ids, who and when, a tab and the message.
func lineOf(raw string) (l logLine, ok bool) {
	head, message, _ := strings.Cut(raw, "\t")
	words := strings.SplitN(head, " ", 3)
	if len(words) != 3 || !isID(words[0]) || !isID(words[1]) {
		return l, false
	}
	who, when, ok := whoWhen(words[2])
	if !ok {
		return l, false
	}
	verb, rest, _ := strings.Cut(message, ":")
	l.Line = Line{Old: words[0], New: words[1], Committer: who, Time: when, Verb: verb, Message: strings.TrimSpace(rest)}
	l.raw = raw
	return l, true
}

// whoWhen takes apart what git writes of a person and a time: "name <address> seconds zone".
func whoWhen(text string) (who string, when time.Time, ok bool) {
	at := strings.LastIndexByte(text, '>')
	if at < 0 {
		return "", time.Time{}, false
	}
	words := strings.Fields(text[at+1:])
	if len(words) == 0 {
		return "", time.Time{}, false
	}
	seconds, err := strconv.ParseInt(words[0], 10, 64)
	return text[:at+1], time.Unix(seconds, 0), err == nil
}

// isID says whether a text is an object's id, of either kind.
func isID(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}
