package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// FileID is what tells a file from another one that was put in its place, and whether it was
// touched.
type FileID struct {
	Inode uint64
	Ctime int64 // nanoseconds
	Links uint64
	UID   int
	GID   int
}

func IDOf(info fs.FileInfo) FileID {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return FileID{}
	}
	//nolint:unconvert // Nlink is narrower on some architectures.
	return FileID{Inode: st.Ino, Ctime: st.Ctim.Nano(), Links: uint64(st.Nlink), UID: int(st.Uid), GID: int(st.Gid)}
}

// admissible refuses a folder of /proc: its files are processes, this one's memory among them.
func admissible(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	var st unix.Statfs_t
	err = unix.Fstatfs(int(f.Fd()), &st)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("look at its file system: %v", err)
	}
	if st.Type == unix.PROC_SUPER_MAGIC {
		return errors.New("it shows processes and not files")
	}
	return nil
}
