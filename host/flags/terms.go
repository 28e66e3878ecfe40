package flags

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/recovery/journal"
)

// Terms reads what holds for one run alone: --allow, --deny, --add-dir and --output-schema.
func Terms(c *cli.Command) (t journal.Terms, err error) {
	if t.Rules, err = rules(c); err != nil {
		return t, err
	}
	if t.OutputSchema, err = outputSchema(c); err != nil {
		return t, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/" // none is known: the root may not be written either way
	}
	for _, given := range c.StringSlice("add-dir") {
		d, err := dir(given, home)
		if err != nil {
			return t, app.Usage(fmt.Errorf("--add-dir %s: %v", given, err))
		}
		t.Dirs = append(t.Dirs, d)
	}
	return t, nil
}

// dir reads DIR or DIR:write. A folder whose own name ends so can be given with a slash behind it.
func dir(given, home string) (d journal.Dir, err error) {
	name, write := strings.CutSuffix(given, ":write")
	if !write {
		name = strings.TrimSuffix(given, ":read")
	}
	if name == "" {
		return d, errors.New("name a folder")
	}
	if d.Path, err = filepath.Abs(name); err == nil {
		d.Path, err = filepath.EvalSymlinks(d.Path)
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(d.Path)
	}
	var at *fs.PathError
	switch d.Write = write; {
	case errors.As(err, &at):
		return d, at.Err
	case err != nil:
		return d, err
	case !info.IsDir():
		return d, errors.New("it is no folder")
	case write && holds(d.Path, home):
		return d, errors.New("that is your home folder or holds it: name the folder in it that is to be written")
	}
	return d, nil
}

// holds says whether a path is a folder or lies below it.
func holds(dir, path string) bool {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	rel, err := filepath.Rel(dir, path)
	return err != nil || rel != ".." && !strings.HasPrefix(rel, "../")
}
