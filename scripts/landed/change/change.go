// Package change finds what differs from the last landing: the files of a checkout that are not as
// they were when main was last known to be good. Checks that ask what is new (which tests are tried
// under load, which record was raised, how old a result is) count from there.
//
// The landings are the lines of scripts/landed.txt, and the last one is the line that is an
// ancestor of HEAD with the fewest commits between. A copy without a history reads a folder that
// Write made where the history is, and that the environment variable AGENT_CHANGE names.
package change

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Folder is the environment variable that names what Write made.
const Folder = "AGENT_CHANGE"

// tooOld is how many commits a change may have. A longer one compares with what nobody remembers,
// and most likely the list was forgotten.
const tooOld = 300

// Change is what differs from the last landing.
type Change struct {
	Base    string   // the commit that landed, in full
	Commits int      // from Base to HEAD, merges among them
	Files   []string // sorted, slash-separated and below the root: changed, added or removed since, committed or not

	root   string
	before func(name string) ([]byte, error) // the bytes of one of Files at Base
}

// Find finds the change of the checkout at root. Its errors name the list and the line that a
// person has to correct.
func Find(root string) (Change, error) {
	if folder := os.Getenv(Folder); folder != "" {
		return read(root, folder)
	}
	return fromGit(root)
}

// Was returns the bytes that a file had at Base, whether it has changed since or not. The error is
// fs.ErrNotExist where Base does not have the file.
func (c Change) Was(name string) ([]byte, error) {
	if slices.Contains(c.Files, name) {
		return c.before(name)
	}
	return os.ReadFile(filepath.Join(c.root, filepath.FromSlash(name)))
}

// Packages are the folders, such as "host/serve", of the Go packages that have a file in the
// change, those of nested modules among them. A file in a folder without Go, of testdata for
// example, belongs to the package above it; where that would be the root, to none. Packages that
// are no longer there are left out.
func (c Change) Packages() []string {
	var packages []string
	for _, name := range c.Files {
		folder := path.Dir(name)
		for folder != "." && (!c.hasGo(folder) || strings.Contains("/"+folder+"/", "/testdata/")) {
			folder = path.Dir(folder)
		}

		if c.hasGo(folder) && (folder != "." || path.Dir(name) == ".") {
			packages = append(packages, folder)
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

func (c Change) hasGo(folder string) bool {
	names, err := filepath.Glob(filepath.Join(c.root, filepath.FromSlash(folder), "*.go"))
	return err == nil && len(names) > 0 // the pattern is right, and it is the only error
}

// Write keeps a change in an empty folder for copies that have no history: base, commits, files
// and, below was, the bytes that each file of the change had at Base.
func (c Change) Write(folder string) error {
	err := errors.Join(
		writeFile(folder, "base", []byte(c.Base+"\n")),
		writeFile(folder, "commits", []byte(strconv.Itoa(c.Commits)+"\n")),
		writeFile(folder, "files", []byte(strings.Join(append(slices.Clone(c.Files), ""), "\n"))))

	for _, name := range c.Files {
		text, missing := c.before(name)
		if errors.Is(missing, fs.ErrNotExist) {
			continue
		}
		err = errors.Join(err, missing, writeFile(folder, "was/"+name, text))
	}
	return err
}

func writeFile(folder, name string, text []byte) error {
	file := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// read reads what Write made.
func read(root, folder string) (Change, error) {
	base, err1 := os.ReadFile(filepath.Join(folder, "base"))
	files, err2 := os.ReadFile(filepath.Join(folder, "files"))
	count, err3 := os.ReadFile(filepath.Join(folder, "commits"))
	if err := errors.Join(err1, err2, err3); err != nil {
		// Not wrapped: a missing file of the folder is no file that Base does not have.
		return Change{}, fmt.Errorf("landed: read the folder that %s names: %v", Folder, err)
	}
	commits, err := strconv.Atoi(strings.TrimSpace(string(count)))
	if err != nil {
		return Change{}, fmt.Errorf("landed: read the folder that %s names: commits: %v", Folder, err)
	}

	c := Change{Base: strings.TrimSpace(string(base)), Commits: commits, Files: lines(string(files)), root: root}
	c.before = func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join(folder, "was", filepath.FromSlash(name)))
	}
	return c, nil
}

// lines are the lines of a text that are not empty.
func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}
