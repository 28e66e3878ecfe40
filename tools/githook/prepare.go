package githook

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"agent/tools/gitrepo/gitconfig"
	"agent/tools/gitrepo/hooklines"
)

// maxMessage bounds the file of a message, in bytes: with commit -v it holds the whole diff.
const maxMessage = 16 << 20

// message is the file of a message that git is about to use.
type message struct {
	Hook
	file, source string
}

// path is one that git names, seen from the folder in which it runs the hook.
func (h Hook) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(h.Dir, name)
}

// gitFolder is the repository's, or the linked worktree's: git keeps the file of a message there.
func (m message) gitFolder() string {
	if dir := m.Getenv("GIT_DIR"); dir != "" {
		return m.path(dir)
	}
	return filepath.Dir(m.file)
}

// prepare adds the trailer of a new commit. One that repeats, joins or takes back others gets none,
// and one that is made anew keeps what it had.
func (m message) prepare(ctx context.Context) error {
	if m.source == "merge" || m.source == "squash" || m.source == "commit" {
		return nil // of a commit's message: what is not in it was taken away
	}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "rebase-merge", "rebase-apply"} {
		if _, err := os.Lstat(filepath.Join(m.gitFolder(), name)); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	text, err := gitconfig.ReadFile(m.file, maxMessage)
	if err != nil {
		return fmt.Errorf("read the message: %w", err)
	}
	said := string(text)
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "This reverts commit ") {
			return nil // a revert without a conflict leaves no other trace
		}
	}
	if !m.edited() { // it stays as it is
		switch rest, found := without(settings{counts: true}.tidy(said)); {
		case rest == "" && found:
			return m.write(nil) // strip is not started for it
		case rest == "":
			return nil
		}
	}
	line, err := m.line(ctx)
	if err != nil || line == "" {
		return err
	}
	return m.add(ctx, said, line)
}

// edited says whether a person gets to see the message in an editor: git names none where none is.
func (m message) edited() bool { return m.Getenv("GIT_EDITOR") != ":" }

// line is the trailer that the commit gets; "" is none.
func (m message) line(ctx context.Context) (string, error) {
	made, known := authorTime(m.Getenv("GIT_AUTHOR_DATE"))
	age := m.Now.Sub(made)
	if known && age >= fresh+time.Second { // git's times are whole seconds
		old, is, err := m.again(ctx, made)
		switch {
		case err != nil:
			return "", err
		case is:
			return old, nil
		case age > replayed+running():
			return "", nil
		}
	}
	if m.Getenv(MarkName) == "" {
		switch ours, err := m.pending(ctx); {
		case err != nil:
			return "", err
		case !ours:
			return "", nil
		}
	}
	return hooklines.Trailer + ": " + NewID(), nil
}

// A commit is authored when git begins. One whose author's time is older repeats another, if it is
// not the one at HEAD made anew; how long hooks before this one took is added.
const (
	fresh    = time.Second
	replayed = 5 * time.Second
)

// authorTime reads what git says of the author to hooks: @SECONDS ZONE.
func authorTime(date string) (time.Time, bool) {
	word, _, _ := strings.Cut(strings.TrimPrefix(date, "@"), " ")
	seconds, err := strconv.ParseInt(word, 10, 64)
	return time.Unix(seconds, 0), err == nil
}

// again says whether the commit at HEAD has the author's time, so that it is being made anew, and
// its trailer.
func (m message) again(ctx context.Context, made time.Time) (line string, is bool, err error) {
	text, err := m.git(ctx, nil, "cat-file", "commit", "HEAD")
	if err != nil {
		return "", false, nil // there is none yet
	}
	head, said, _ := strings.Cut(string(text), "\n\n")
	for header := range strings.Lines(head) {
		author, ok := strings.CutPrefix(header, "author ")
		if words := strings.Fields(author); ok && len(words) > 1 {
			is = words[len(words)-2] == strconv.FormatInt(made.Unix(), 10)
			break
		}
	}
	if !is {
		return "", false, nil
	}
	found, err := m.trailers(ctx, said)
	if err == nil && len(found) > 0 {
		line = found[len(found)-1]
	}
	return line, true, err
}

// pending asks whether the commit has work of a run in it, and takes no answer in time for a no.
func (m message) pending(ctx context.Context) (bool, error) {
	if m.Pending == nil {
		return false, ErrAsks
	}
	ctx, cancel := context.WithTimeout(ctx, Looking)
	defer cancel()
	type answer struct {
		ours bool
		err  error
	}
	found := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a = answer{err: fmt.Errorf("look for work of runs: %v", p)}
			}
			found <- a
		}()
		a.ours, a.err = m.Pending(ctx, Commit{Folder: m.Dir, Staged: m.staged, Blob: m.blob})
	}()
	select {
	case a := <-found:
		return a.ours, a.err
	case <-ctx.Done():
		return false, fmt.Errorf("look for work of runs: %w", ctx.Err())
	}
}

// idLetters are the characters of an id.
const idLetters = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID mints the id of a checkpoint.
func NewID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return "k-" + base32.NewEncoding(idLetters).WithPadding(base32.NoPadding).EncodeToString(b[:])[:12]
}
