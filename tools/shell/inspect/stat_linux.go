//go:build !portable

package inspect

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// stampOf looks at a name in a folder without following a symlink; "." is the folder itself.
// Nothing there is no error: the inode is 0 then.
func stampOf(dir *os.Root, name string) (stamp, error) {
	f, err := dir.Open(".")
	if err != nil {
		return stamp{}, err
	}
	defer f.Close() // it was only looked through
	var x unix.Statx_t
	err = unix.Statx(int(f.Fd()), name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &x)
	if errors.Is(err, unix.ENOENT) {
		return stamp{}, nil
	}
	if err != nil {
		return stamp{}, err
	}
	s := stamp{
		Inode: x.Ino, Device: unix.Mkdev(x.Dev_major, x.Dev_minor), Kind: uint32(x.Mode) & unix.S_IFMT, Mode: uint32(x.Mode) & 0o7777,
		Size: int64(x.Size), UID: int(x.Uid), Mtime: nanos(x.Mtime), Ctime: nanos(x.Ctime), Atime: nanos(x.Atime),
	}
	if x.Mask&unix.STATX_BTIME != 0 {
		s.Btime = nanos(x.Btime)
	}
	return s, nil
}

func nanos(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

func (s stamp) folder() bool  { return s.Kind == unix.S_IFDIR }
func (s stamp) regular() bool { return s.Kind == unix.S_IFREG }

// umask reads what this process keeps from new files, without changing it.
func umask() (uint32, bool) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, "Umask:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(value), 8, 32)
			return uint32(n), err == nil
		}
	}
	return 0, false
}
