//go:build unix

package testbin

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tags are those of a release.
func (f Form) tags() string {
	if f.Portable {
		return "urfave_cli_no_template,portable"
	}
	return "urfave_cli_no_template"
}

// packages are what is built in a form.
func (f Form) packages() []string {
	if f == (Form{}) {
		return []string{".", "./scripts/fakes"}
	}
	return []string{"."}
}

// flags are those that list and build take alike.
func (f Form) flags() []string {
	flags := []string{"-buildvcs=false", "-tags", f.tags()}
	if f.Race {
		flags = append(flags, "-race")
	}
	return flags
}

// environ is the environment of go: the same for every user, whatever flags that user has.
func (f Form) environ(root string) []string {
	cgo := "CGO_ENABLED=0"
	if f.Race {
		cgo = "CGO_ENABLED=1"
	}
	// An empty variable would leave the flags to the file of go env -w.
	return append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off", cgo, "PWD="+root)
}

// run starts go in the module and returns what it prints. An extra file is inherited.
func (t tree) run(f Form, extra []*os.File, args ...string) ([]byte, error) {
	c := exec.Command("go", args...)
	if errors.Is(c.Err, exec.ErrNotFound) {
		return nil, errors.New("go, which lists and builds the sources, is not on PATH")
	}
	c.Dir, c.Env, c.ExtraFiles = t.root, f.environ(t.root), extra
	var errs bytes.Buffer
	c.Stderr = &errs

	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, errs.Bytes())
	}
	return out, nil
}

// digest reads all sources of a form, and their folders, so that go's cache of test results knows
// them too. The stamps are those of what it reads.
func (t tree) digest(f Form) (digest string, stamps map[string]stamp, err error) {
	target, err := t.run(f, nil, "env", "GOOS", "GOARCH", "GOVERSION", "GOEXPERIMENT", "GOFIPS140", "GOAMD64", "GOARM64")
	if err != nil {
		return "", nil, err
	}
	args := append([]string{"list", "-deps", "-json=" + fields}, f.flags()...)
	args = append(append(args, f.packages()...), "./scripts/testkit/testbin") // which decides how it is built
	list, err := t.run(f, nil, args...)
	if err != nil {
		return "", nil, err
	}
	files, folders, err := parse(bytes.NewReader(list))
	if err != nil {
		return "", nil, err
	}

	// The stamps come first, so that what is edited from here on has another one.
	stamps = map[string]stamp{}
	for _, name := range slices.Concat(files, folders) {
		path := filepath.Join(t.root, name)
		if stamps[path], err = stampOf(path); err != nil {
			return "", nil, err
		}
	}

	var sources []source
	for _, name := range files {
		text, err := os.ReadFile(t.watched + "/" + name)
		if err != nil {
			return "", nil, err
		}
		sources = append(sources, source{name, text})
	}
	for _, name := range folders {
		if err := t.watch(name); err != nil {
			return "", nil, err
		}
	}
	return digestOf(append(f.flags(), f.Program(), string(target)), sources), stamps, nil
}

// watch has go's cache know which files a folder has. Of a folder that is read, the times of all
// that lies in it count: in the topmost one git changes those of .git with every command, so there
// the folder's own time counts, which a new file changes.
func (t tree) watch(folder string) error {
	if folder == "." {
		_, err := os.Stat(t.watched)
		return err
	}
	_, err := os.ReadDir(t.watched + "/" + folder)
	return err
}

// build makes the programs of a form in a folder. The lock is inherited, so that where this process
// is killed nobody writes to the folder before go has ended. Where the sources are edited meanwhile
// the programs may be of others than their digest, and are thrown away.
func (t tree) build(f Form, digest, folder string, lock *os.File) error {
	var set []string
	for _, name := range []string{"agent/host/command.Revision", "main.revision"} {
		set = append(set, "-X "+name+"="+mark(digest))
	}
	args := append([]string{"build", "-ldflags", strings.Join(set, " "), "-o", folder + "/"}, f.flags()...)
	if _, err := t.run(f, []*os.File{lock}, append(args, f.packages()...)...); err != nil {
		return err
	}
	if now, _, err := t.digest(f); err != nil {
		return err
	} else if now != digest {
		return errEdited
	}

	if f != (Form{}) {
		return os.Rename(filepath.Join(folder, "agent"), filepath.Join(folder, f.Program()))
	}

	for _, name := range fakes() {
		if err := os.Symlink(Fakes, filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}
