//go:build unix

package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// listen makes the socket. Whoever holds the lock may remove one that an earlier server left.
func listen(home string) (net.Listener, error) {
	path := filepath.Join(home, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the socket of an earlier server: %w", err)
	}
	short, release, err := shortPath(home, path)
	if err != nil {
		return nil, err
	}
	defer release()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false) // its name may be a short one, which is gone by then
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("close %s to others: %w", path, err), l.Close())
	}
	return l, nil
}

// longest is how long the name of a socket may be: the smallest sun_path of the systems this runs
// on has 104 bytes, with a zero at its end.
const longest = 103

// closed says whether nobody else can read a file.
func closed(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0
}

// apart has a process outlive this one and its terminal.
func apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
