package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"agent/db"
)

// leftFolder of the state folder has an empty file for each run that a hook was called for because
// it is left alone: its id and the number of its last fact.
const leftFolder = "left"

func markOf(home string, row db.RunRow) string {
	return filepath.Join(home, leftFolder, fmt.Sprintf("%s.%d", row.ID, row.LastSeq))
}

// marked says whether the file of an event is there.
func marked(home string, row db.RunRow) bool {
	_, err := os.Lstat(markOf(home, row))
	return err == nil
}

// mark makes the file of an event and says whether it was not there: of all processes that learn of
// the event, one calls. Files about how the run stood before are removed.
func mark(home string, row db.RunRow) (first bool, err error) {
	dir := filepath.Join(home, leftFolder)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, fmt.Errorf("note that run %s is left alone: %w", row.ID, err)
	}
	path := markOf(home, row)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("note that run %s is left alone: %w", row.ID, err)
	}
	older, err := filepath.Glob(filepath.Join(dir, row.ID+".*"))
	for _, o := range older {
		if o != path {
			err = errors.Join(err, os.Remove(o))
		}
	}
	return true, errors.Join(err, f.Close())
}
