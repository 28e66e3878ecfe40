package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Of looks at the file at path. On a file system that is not known to keep the numbers of its
// inodes, such as one that another machine or a program answers for, the file is not known.
func Of(path string) (File, error) {
	f := File{Machine: machine()}
	var fs unix.Statfs_t
	if err := again(func() error { return unix.Statfs(path, &fs) }); err != nil {
		return File{}, fmt.Errorf("look at the file system of %s: %w", path, err)
	}
	if !keeps(int64(fs.Type) & 0xffffffff) {
		return f, nil
	}
	var st unix.Statx_t
	err := again(func() error { return unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &st) })
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // an old kernel, or one that forbids it
		var old unix.Stat_t
		if err := again(func() error { return unix.Stat(path, &old) }); err != nil {
			return File{}, fmt.Errorf("look at %s: %w", path, err)
		}
		f.Inode = int64(old.Ino) //nolint:gosec // it is only compared
		return f, nil
	}
	if err != nil {
		return File{}, fmt.Errorf("look at %s: %w", path, err)
	}
	f.Inode = int64(st.Ino) //nolint:gosec // it is only compared
	if st.Mask&unix.STATX_BTIME != 0 {
		f.Born = st.Btime.Sec*1e6 + int64(st.Btime.Nsec)/1e3
	}
	return f, nil
}

func again(do func() error) error {
	for {
		if err := do(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// keeps says whether a file system of this type keeps the numbers of its inodes over a mount.
func keeps(magic int64) bool {
	const zfs, bcachefs = 0x2fc12fc1, 0xca451a4e
	switch magic {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, zfs, bcachefs:
		return true
	}
	return false
}

// machine is a hash of /etc/machine-id, which itself must not be shown to others: machine-id(5).
func machine() string {
	b, err := os.ReadFile("/etc/machine-id")
	id := strings.TrimSpace(string(b))
	if err != nil || id == "" || id == "uninitialized" {
		return "" // not known, as in many containers
	}
	sum := sha256.Sum256([]byte("agent: machine " + id))
	return hex.EncodeToString(sum[:8])
}
