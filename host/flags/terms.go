package flags

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

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
	bare := strings.TrimSuffix(given, "/")
	switch _, err := os.Lstat(given); {
	case name == "":
		return d, errors.New("name a folder")
	case name != given && err == nil:
		return d, fmt.Errorf("a folder is called so, too: %s/ is that one, %s/%s the other", bare, name, given[len(name):])
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
	case strings.ContainsFunc(d.Path, func(r rune) bool { return !unicode.IsPrint(r) }):
		return d, errors.New("its name holds characters that cannot be shown")
	case write && holds(d.Path, home):
		return d, errors.New("that is your home folder or holds it: name the folder in it that is to be written")
	}
	return d, nil
}

// Apart refuses folders that lie in one another, in the folder of the run or around it: who may
// write in the outer one could put another in the place of the inner one. state is the folder of
// the runs, which no tool may reach.
func Apart(folder, state string, dirs []journal.Dir) error {
	for i, d := range dirs {
		wrong := ""
		switch {
		case holds(folder, d.Path):
			wrong = "it lies in the folder of the run, which is reached anyway"
		case holds(d.Path, folder):
			wrong = "it holds the folder of the run; to work in all of it, start the run there: --dir"
		case holds(state, d.Path):
			wrong = "it lies in the state folder, which no tool may reach"
		}
		for _, other := range dirs[:i] {
			if holds(other.Path, d.Path) || holds(d.Path, other.Path) {
				wrong = "it and " + other.Path + " lie in one another; name one of the two"
			}
		}
		if wrong != "" {
			return app.Usage(fmt.Errorf("--add-dir %s: %s", d.Path, wrong))
		}
	}
	return nil
}

// holds says whether a path is a folder or lies below it.
func holds(dir, path string) bool {
	for _, p := range []*string{&dir, &path} {
		if real, err := filepath.EvalSymlinks(*p); err == nil {
			*p = real
		}
	}
	rel, err := filepath.Rel(dir, path)
	return err != nil || rel != ".." && !strings.HasPrefix(rel, "../")
}
