package sqlitefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// KeepsModes says whether the file system knows of modes for others.
const KeepsModes = true

// unsafeFileSystems are those on which another machine, or a program, answers for locks and fsync.
// It is read only.
var unsafeFileSystems = map[int64]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB2",
	0x5346414f: "AFS",
	0x6b414653: "AFS",
	0x01021997: "9p",
	0x65735546: "FUSE",
	0x00c36400: "Ceph",
	0x0bd00bd0: "Lustre",
	0x73757245: "Coda",
	0x564c:     "NCP",
	0x01161970: "GFS2",
	0x7461636f: "OCFS2",
	0x19830326: "BeeGFS",
}

// checkFileSystem refuses a folder, or the parent that it will get, on such a file system.
func checkFileSystem(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		var st unix.Statfs_t
		err := unix.Statfs(at, &st)
		if errors.Is(err, unix.ENOENT) && at != filepath.Dir(at) {
			continue
		}
		if err != nil {
			return fmt.Errorf("find the file system of %s: %w", dir, err)
		}
		return checkMagic(dir, int64(st.Type)&0xffffffff)
	}
}

func checkMagic(dir string, magic int64) error {
	name, bad := unsafeFileSystems[magic]
	if !bad {
		return nil
	}
	return &FolderError{
		Dir:    dir,
		What:   "it is on " + name + ", where neither locks nor fsync can be relied on",
		Remedy: "choose a local one with AGENT_HOME, or set AGENT_ALLOW_UNSAFE_FS=1 and accept that a crash may lose or repeat work",
	}
}

// fileSystemName names the file system where we know it.
func fileSystemName(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return ""
	}
	switch magic := int64(st.Type) & 0xffffffff; magic {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlayfs"
	case unix.F2FS_SUPER_MAGIC:
		return "f2fs"
	case 0x2fc12fc1:
		return "zfs"
	default:
		return unsafeFileSystems[magic]
	}
}

// checkOwner refuses a folder in which someone else could put or replace files.
func checkOwner(dir string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(st.Uid) != os.Geteuid() {
		return &FolderError{Dir: dir, What: fmt.Sprintf("it belongs to user %d and you are user %d", st.Uid, os.Geteuid()),
			Remedy: "choose one of your own with AGENT_HOME"}
	}
	if info.Mode().Perm()&0o022 != 0 {
		return &FolderError{Dir: dir, What: fmt.Sprintf("others may write in it (mode %#o)", info.Mode().Perm()),
			Remedy: "run chmod 700 " + dir}
	}
	return nil
}

// writable says whether files can be made in the folder.
func writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }

// freeBytes is what an ordinary user may still write.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("find free space of %s: %w", dir, err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// freeFiles is how many files may still be made; -1 where that has no limit or is not known.
func freeFiles(dir string) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Files == 0 {
		return -1
	}
	return int64(st.Ffree)
}

// names says whether path leads to the file that want describes. It is asked of three files several
// times a turn, so it takes the number of the file from the kernel and nothing else.
func names(path string, want fs.FileInfo) (bool, error) {
	var now unix.Stat_t
	err := unix.Stat(path, &now)
	for errors.Is(err, unix.EINTR) {
		err = unix.Stat(path, &now)
	}
	was, ok := want.Sys().(*syscall.Stat_t)
	return err == nil && ok && now.Dev == was.Dev && now.Ino == was.Ino, err
}
