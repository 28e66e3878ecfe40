package objects

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"agent/recovery/journal"
	"agent/tools/gitrepo/gitconfig"
)

// maxDepth is how many refs may lead to one another, as git has it.
const maxDepth = 5

// maxRefs bounds packed-refs, in bytes.
const maxRefs = 256 << 20

// Head reads where HEAD leads: the branch that a commit would move, and the commit that it is at.
// Refs that are kept in reftables are read by git, which runs nothing that the repository names.
func (r Repository) Head() (journal.GitHead, error) {
	if r.tables {
		return r.headByGit()
	}
	var head journal.GitHead
	name := "HEAD"
	for range maxDepth {
		to, id, err := r.ref(name)
		if err != nil {
			return head, fmt.Errorf("read %s of %s: %w", name, r.Git, err)
		}
		if to == "" {
			head.Commit = id
			return head, nil
		}
		name, head.Ref = to, to
	}
	return head, fmt.Errorf("read HEAD of %s: more than %d refs lead to one another", r.Git, maxDepth)
}

// ref reads one ref: the one that it leads to, or its object, which is "" where it is not there.
func (r Repository) ref(name string) (to, id string, err error) {
	dir := r.Common
	if name == "HEAD" || strings.HasPrefix(name, "refs/bisect/") || strings.HasPrefix(name, "refs/worktree/") || strings.HasPrefix(name, "refs/rewritten/") {
		dir = r.Git
	}
	file := filepath.Join(dir, filepath.FromSlash(name))
	info, err := os.Lstat(file)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if to, err := os.Readlink(file); err == nil && isRef(to) {
			return to, "", nil
		}
	}
	absent := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && info.IsDir()
	if absent && name != "HEAD" {
		id, err = r.packed(name)
		return "", id, err
	}
	text, err := gitconfig.ReadFile(file, maxLine)
	if err != nil {
		return "", "", err
	}
	line := strings.TrimSpace(string(text))
	if to, symbolic := strings.CutPrefix(line, "ref:"); symbolic {
		if to = strings.TrimSpace(to); !isRef(to) {
			return "", "", fmt.Errorf("it leads to %.60q", to)
		}
		return to, "", nil
	}
	id, _, _ = strings.Cut(line, " ")
	return "", id, r.isID(id)
}

// isRef says whether a name is one that a ref may have: git-check-ref-format.
func isRef(name string) bool {
	return strings.HasPrefix(name, "refs/") && fs.ValidPath(name) && !strings.ContainsAny(name, "\\ ~^:?*[\x7f") &&
		!strings.Contains(name, "..") && !strings.Contains(name, "/.") && !strings.Contains(name, "@{") &&
		strings.IndexFunc(name, func(c rune) bool { return c < ' ' }) < 0
}

func (r Repository) isID(id string) error {
	if _, err := hex.DecodeString(id); err != nil || len(id) != 2*r.idLength() {
		return fmt.Errorf("%.60q is no object's id", id)
	}
	return nil
}

// idLength is how many bytes an object's id has.
func (r Repository) idLength() int { return idLength(r.SHA256) }

func idLength(sha256 bool) int {
	if sha256 {
		return 32
	}
	return 20
}

// packed looks for a ref in packed-refs: gitrepository-layout, packed-refs.
func (r Repository) packed(name string) (string, error) {
	f, err := os.OpenFile(filepath.Join(r.Common, "packed-refs"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close() // it was only read from; nothing can be lost
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxRefs {
		return "", errors.New("packed-refs is no file that can be read")
	}
	lines := bufio.NewReaderSize(io.LimitReader(f, maxRefs), maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		if id, ref, ok := bytes.Cut(bytes.TrimRight(line, "\n"), []byte(" ")); ok && string(ref) == name {
			return string(id), r.isID(string(id))
		}
		if err == io.EOF {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("read packed-refs: %w", err)
		}
	}
}

// gitTime is how long git may take to answer from a repository's files.
const gitTime = 10 * time.Second

func (r Repository) headByGit() (head journal.GitHead, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), gitTime)
	defer cancel()
	ask := func(words ...string) (string, error) {
		cmd, err := gitCommand(ctx, r.Git, words...)
		if err != nil {
			return "", err
		}
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 1 {
			return "", nil // HEAD is detached, or its branch has no commit
		}
		return strings.TrimSpace(string(out)), err
	}
	if head.Ref, err = ask("symbolic-ref", "-q", "HEAD"); err == nil {
		head.Commit, err = ask("rev-parse", "-q", "--verify", "HEAD")
	}
	if err != nil {
		return head, fmt.Errorf("have git read HEAD of %s: %w", r.Git, err)
	}
	return head, nil
}

// gitCommand is git for one repository: with no settings but that repository's, nobody to ask, and
// nothing that it fetches, locks or replaces.
func gitCommand(ctx context.Context, dir string, words ...string) (*exec.Cmd, error) {
	exe, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	cmd := exec.CommandContext(ctx, exe, words...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "LC_ALL=C", "GIT_DIR=" + dir,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_ATTR_NOSYSTEM=1",
	}
	cmd.WaitDelay = time.Second
	return cmd, nil
}
