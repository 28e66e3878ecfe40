// Package disknote counts the errors of the disk that processes of this program met in a state
// folder, beside what the file system counts itself.
package disknote

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"agent/db"
	"agent/recovery/journal"
	"agent/tools/durable"
	"agent/tools/filesystem"
)

// Path is the file that counts the errors of the disk that processes of this program met in
// the state folder.
func Path(home string) string { return filepath.Join(home, "log", "disk-errors") }

// Read is what can be read of the state folder's file system now.
func Read(home string) journal.Disk {
	d := filesystem.Read(home, filesystem.Roots{})
	d.Noted = noted(home)
	return d
}

// noted is the count in that file: 0 without one, -1 where it is damaged.
func noted(home string) int64 {
	b, err := os.ReadFile(Path(home))
	if err != nil {
		return 0 // mostly there was none
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return -1 // something was noted, and the note is damaged
	}
	return n
}

// Add counts an error of the disk. What was missing on it afterwards proves nothing: see
// journal.Disk. Where the disk does not take the note either, the file system's own count is all
// there is.
func Add(home string, err error) error {
	if !errors.Is(err, db.ErrIO) && !errors.Is(err, syscall.EIO) {
		return nil
	}
	path := Path(home)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("note an error of the disk: %v", err)
	}
	count := fmt.Sprintln(max(0, noted(home)) + 1)
	if err := durable.Replace(path, 0o600, strings.NewReader(count)); err != nil {
		return fmt.Errorf("note an error of the disk: %v", err)
	}
	return nil
}
