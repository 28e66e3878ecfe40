package artifact

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange gives two files of a folder each other's names at once.
func exchange(dir *os.Root, a, b string) error {
	at, err := dir.Open(".")
	if err != nil {
		return err
	}
	err = unix.Renameat2(int(at.Fd()), a, int(at.Fd()), b, unix.RENAME_EXCHANGE)
	return errors.Join(err, at.Close())
}
