package sqlitefile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"agent/tools/durable"
)

// Place makes a file below two folders of the state folder (kind/xx/name) durable: after it, a row
// may say that it is there. whole says whether one that is there already will do. A full disk costs
// the ballast, and is ErrDiskFull without it.
func Place(f *File, path string, content []byte, whole func() bool) error {
	err := place(f.dir, path, content, whole)
	if errors.Is(err, syscall.ENOSPC) && f.GiveUpBallast() {
		err = place(f.dir, path, content, whole)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return err
}

func place(root, path string, content []byte, whole func() bool) error {
	dir := filepath.Dir(path)
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := MakeDir(d); err != nil {
			return err
		}
	}
	if !whole() {
		temp, err := durable.Temp(dir, ".new-*", 0o600, bytes.NewReader(content))
		if err != nil {
			return err
		}
		if err := os.Rename(temp, path); err != nil {
			return errors.Join(err, os.Remove(temp))
		}
	} else if now := time.Now(); os.Chtimes(path, now, now) != nil {
		// It is used: whoever takes it for one that no row names leaves it (Unused).
		return fmt.Errorf("use %s again: its times cannot be set", path)
	}
	// Also for a file that is there: whoever wrote it may have ended before this.
	return errors.Join(durable.SyncDir(dir), durable.SyncDir(filepath.Dir(dir)), durable.SyncDir(root))
}

// Unused says whether a file of Place that no row names was left alone for so long that no row is
// still to come for it.
func Unused(path string, grace time.Duration) bool {
	info, err := os.Stat(path)
	return err == nil && time.Since(info.ModTime()) > grace
}
