package serve

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// shortPath is a name of the socket that fits where its path is too long: through the folder as
// this process has it open.
func shortPath(home, path string) (string, func(), error) {
	if len(path) <= longest {
		return path, func() {}, nil
	}
	dir, err := os.Open(home)
	if err != nil {
		return "", nil, fmt.Errorf("open the state folder: %w", err)
	}
	release := func() { _ = dir.Close() } // it was only read
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName), release, nil
}

// ours says whether the process at the other end is this user's.
func ours(c net.Conn) bool {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return false
	}
	peer, allowed := (*unix.Ucred)(nil), false
	err = raw.Control(func(fd uintptr) {
		peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		allowed = err == nil && int(peer.Uid) == os.Geteuid()
	})
	return err == nil && allowed
}

// unchecked is what this system does not let the server check; empty for nothing.
func unchecked() string { return "" }
