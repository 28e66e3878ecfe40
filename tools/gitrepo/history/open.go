package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"agent/tools/gitrepo/gitconfig"
	"agent/tools/gitrepo/objects"
)

// Errors of reading, for who may do without.
var (
	ErrMissing  = errors.New("the repository does not have it")
	ErrTooLarge = errors.New("it is larger than asked for")
)

// Bounds of every question.
const (
	gitTime   = 20 * time.Second
	maxErrors = 4 << 10 // bytes that git may say of what went wrong
)

// Reader reads the objects of a repository through git, and remembers commits, their patch ids and
// the trailers of messages: what goes meanwhile is still there for it. It may be used by several at
// once, and is closed by Close.
type Reader struct {
	dir  string
	repo objects.Repository

	mutex sync.Mutex
	git   *batch // reads objects; nil until it is needed

	memory memory
}

// Settings of the folder that git runs in. A commit graph may say of parents what the commits do
// not; files beyond a size are compared as a whole.
const (
	readerHead   = "ref: refs/heads/none\n"
	readerConfig = "[core]\n\trepositoryformatversion = %d\n\tbare = true\n\tcommitGraph = false\n\tbigFileThreshold = 8m\n[gc]\n\tauto = 0\n"
	readerSHA256 = "[extensions]\n\tobjectformat = sha256\n"
)

// Open opens a repository for reading. dir is a folder of the caller's, for this repository alone;
// it is made if it is not there, stays when the reader is closed, and may be removed then. It gets
// what makes it a repository to git, with no object and no ref: the objects are those of the
// repository, as alternates.
func Open(r objects.Repository, dir string) (*Reader, error) {
	rd := &Reader{dir: filepath.Clean(dir), repo: r}
	err := storesAreFiles(r)
	if err == nil {
		err = rd.skeleton()
	}
	if err != nil {
		return nil, fmt.Errorf("make a folder to read %s in %s: %w", r.Common, dir, err)
	}
	return rd, nil
}

// Close ends what reads.
func (rd *Reader) Close() error {
	rd.mutex.Lock()
	defer rd.mutex.Unlock()
	rd.stop()
	return nil
}

// storesAreFiles refuses alternates and packs that are no files: git would wait for a pipe.
func storesAreFiles(r objects.Repository) error {
	for _, store := range r.Stores() {
		names := []string{filepath.Join(store, "info", "alternates")}
		packs, _, err := entries(filepath.Join(store, "pack"), maxEntries)
		if err != nil && !absent(err) {
			return err
		}
		for _, d := range packs {
			if !d.Type().IsRegular() {
				names = append(names, filepath.Join(store, "pack", d.Name()))
			}
		}
		for _, name := range names {
			if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
				return fmt.Errorf("%s is no file that can be read", name)
			}
		}
	}
	return nil
}

func (rd *Reader) skeleton() error {
	config := fmt.Sprintf(readerConfig, 0)
	if rd.repo.SHA256 {
		config = fmt.Sprintf(readerConfig, 1) + readerSHA256
	}
	switch is, err := gitconfig.ReadFile(filepath.Join(rd.dir, "config"), gitconfig.MaxFile); {
	case err == nil && string(is) != config:
		return errors.New("it is another repository")
	case err != nil && !absent(err):
		return err
	}
	for _, dir := range []string{"refs", "objects/info", "objects/pack"} {
		if err := os.MkdirAll(filepath.Join(rd.dir, dir), 0o700); err != nil {
			return err
		}
	}
	store := filepath.Join(rd.repo.Common, "objects")
	if strings.ContainsAny(store, "\"\\\n") {
		store = quoted(store)
	}
	for _, f := range [][2]string{{"objects/info/alternates", store + "\n"}, {"HEAD", readerHead}, {"config", config}} {
		if err := rd.write(f[0], f[1]); err != nil {
			return err
		}
	}
	return nil
}

// quoted is a path as git quotes it.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// write puts a file of the reader's folder in place, whole. Others may read it at the same time.
func (rd *Reader) write(name, text string) error {
	file := filepath.Join(rd.dir, filepath.FromSlash(name))
	if is, err := os.ReadFile(file); err == nil && string(is) == text {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(file), "new-")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name()) // it is of no use
	}
	return err
}

// command is git in a folder: with no settings but those there, nobody to ask, and nothing that it
// fetches, locks or replaces.
func command(ctx context.Context, dir string, words ...string) (*exec.Cmd, error) {
	exe, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	cmd := exec.CommandContext(ctx, exe, words...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "LC_ALL=C", "GIT_DIR=" + dir,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_ATTR_NOSYSTEM=1", "GIT_LITERAL_PATHSPECS=1",
	}
	cmd.WaitDelay = time.Second
	return cmd, nil
}

// limited keeps the beginning of what is written to it.
type limited struct {
	bytes.Buffer
	limit int
	over  func() // called when there is more; nil: it is passed over
}

func (l *limited) Write(b []byte) (int, error) {
	if room := l.limit - l.Len(); len(b) > room {
		l.Buffer.Write(b[:max(room, 0)])
		if l.over != nil {
			l.over()
			return 0, ErrTooLarge
		}
		return len(b), nil
	}
	return l.Buffer.Write(b)
}

// run has git answer, in at most so many bytes.
func run(ctx context.Context, dir string, limit int, in []byte, words ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd, err := command(ctx, dir, words...)
	if err != nil {
		return nil, err
	}
	large := false
	out := limited{limit: limit, over: func() { large = true; cancel() }}
	stderr := limited{limit: maxErrors}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &stderr
	err = cmd.Run()
	switch {
	case large:
		return nil, fmt.Errorf("read what git %s says: %w", words[0], ErrTooLarge)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("have git %s answer: %w", words[0], ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("have git %s answer: %w%s", words[0], err, because(stderr.String()))
	}
	return out.Bytes(), nil
}

// because is what git says of an error, as the end of a message.
func because(stderr string) string {
	if stderr = strings.TrimSpace(stderr); stderr == "" {
		return ""
	}
	return ": " + stderr
}

// run has git answer in the reader's folder.
func (rd *Reader) run(ctx context.Context, limit int, in []byte, words ...string) ([]byte, error) {
	if err := storesAreFiles(rd.repo); err != nil {
		return nil, err
	}
	return run(ctx, rd.dir, limit, in, words...)
}

// shallow are the commits at which a repository's history was cut off when it was cloned:
// gitrepository-layout, shallow.
func (rd *Reader) shallow() (ids []string, err error) {
	text, err := gitconfig.ReadFile(filepath.Join(rd.repo.Common, "shallow"), gitconfig.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		if id := idOf(strings.TrimSpace(line), rd.repo); id != "" {
			ids = append(ids, id)
		}
	}
	return ids, err
}
