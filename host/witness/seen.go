package witness

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// seen is a folder with the last place of each log, as a witness confirmed it: a log that has less
// is another one. A note that a loss of power takes away makes that harder to see, and no more.
type seen struct{ dir string }

// last is the last place that was noted; 0 for none.
func (s seen) last(root string) int64 {
	text, err := os.ReadFile(filepath.Join(s.dir, root))
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // what is no number notes nothing
	return n
}

// note replaces the place of a log.
func (s seen) note(root string, place int64) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(s.dir, root)
	if err := os.WriteFile(path+".new", []byte(strconv.FormatInt(place, 10)+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// forget drops the note of a run that has ended.
func (s seen) forget(root string) error {
	if err := os.Remove(filepath.Join(s.dir, root)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
