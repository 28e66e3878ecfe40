package change

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// fromGit asks the repository of a checkout. It only reads.
func fromGit(root string) (Change, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(List)))
	if err != nil {
		return Change{}, fmt.Errorf("landed: %v", err) // not wrapped: Base not having a file is another error
	}
	list, err := parseList(string(text))
	if err != nil {
		return Change{}, err
	}

	g := repository(root)
	c := Change{root: root}
	if c.Base, c.Commits, err = g.base(list); err != nil {
		return Change{}, err
	}
	if c.Files, err = g.files(c.Base); err != nil {
		return Change{}, err
	}

	inCommits, err := g.names("log", "--format=", "--name-only", "--no-renames", "-z", c.Base+"..HEAD")
	if err != nil {
		return Change{}, err
	}
	if isEmpty(c.Files, inCommits) {
		return Change{}, errors.New("landed: the change is empty")
	}

	c.before = func(name string) ([]byte, error) { return g.bytes(c.Base, name) }
	return c, nil
}

// repository is the root of a checkout.
type repository string

// git runs git, also in a checkout that belongs to somebody else: these commands carry out nothing
// that the checkout configures.
func (r repository) git(args ...string) (string, error) {
	c := exec.Command("git", append([]string{"-C", string(r), "-c", "safe.directory=*", "-c", "core.fsmonitor=false"}, args...)...)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("landed: git %s: %w: %s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return string(out), nil
}

// names are the file names that a git command prints with -z, sorted, each once.
func (r repository) names(args ...string) ([]string, error) {
	out, err := r.git(args...)
	if err != nil {
		return nil, err
	}
	names := strings.FieldsFunc(out, func(c rune) bool { return c == 0 || c == '\n' })
	slices.Sort(names)
	return slices.Compact(names), nil
}

// base is the commit of the list that is nearest to HEAD, and how many commits have come since.
func (r repository) base(list []string) (base string, commits int, err error) {
	history, err := r.git("rev-list", "HEAD")
	if err != nil {
		return "", 0, err
	}

	for _, commit := range ancestors(list, history) {
		out, err := r.git("rev-list", "--count", commit+"..HEAD")
		if err != nil {
			return "", 0, err
		}
		n, err := strconv.Atoi(strings.TrimSpace(out))
		if err != nil {
			return "", 0, fmt.Errorf("landed: count the commits since %s: %w", commit, err)
		}
		if base == "" || n <= commits {
			base, commits = commit, n
		}
	}

	switch {
	case base == "":
		return "", 0, r.noBase()
	case commits > tooOld:
		return "", 0, fmt.Errorf("landed: %.8s is %d commits old: append what main had before this work", base, commits)
	}
	return base, commits, nil
}

// noBase is why no commit of the list is an ancestor of HEAD.
func (r repository) noBase() error {
	if out, err := r.git("rev-parse", "--is-shallow-repository"); err == nil && strings.TrimSpace(out) == "true" {
		return errors.New("landed: the history is cut off: git fetch --unshallow")
	}
	return fmt.Errorf("landed: no line of %s is an ancestor of HEAD: append what main had before this work", List)
}

// files are those that differ from a commit, in commits or in the checkout alone.
func (r repository) files(base string) ([]string, error) {
	changed, err := r.names("diff", "--name-only", "--no-renames", "-z", base)
	if err != nil {
		return nil, err
	}
	added, err := r.names("ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}

	all := slices.Concat(changed, added)
	slices.Sort(all)
	return slices.Compact(all), nil
}

// bytes are those of a file at a commit.
func (r repository) bytes(commit, name string) ([]byte, error) {
	listed, err := r.git("ls-tree", "-z", "--name-only", "--full-tree", commit, "--", ":(literal)"+name)
	if err != nil {
		return nil, err
	}
	if listed == "" {
		return nil, &fs.PathError{Op: "read", Path: commit + ":" + name, Err: fs.ErrNotExist}
	}

	text, err := r.git("cat-file", "blob", commit+":"+name)
	return []byte(text), err
}
