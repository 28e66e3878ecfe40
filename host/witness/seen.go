package witness

import (
	"errors"
	"fmt"
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

// note replaces the place of a log. It has the same length each time, so that it can be written
// over: to rename a file over another one may wait for what others have the disk do.
func (s seen) note(root string, place int64) error {
	f, err := os.OpenFile(filepath.Join(s.dir, root), os.O_CREATE|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(s.dir, 0o700); err == nil {
			f, err = os.OpenFile(filepath.Join(s.dir, root), os.O_CREATE|os.O_WRONLY, 0o600)
		}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%020d\n", place)
	return errors.Join(err, f.Close())
}

// forget drops the note of a run that has ended.
func (s seen) forget(root string) error {
	if err := os.Remove(filepath.Join(s.dir, root)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
