package serve

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
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

// neighbour says whether a connection between loopback addresses is of this user or of root, who
// carries the connections of others where a system is a guest of another. What cannot be asked is
// left to the credential.
func neighbour(from, to netip.AddrPort) bool {
	uid, err := userOf(from, to)
	if errors.Is(err, errUnasked) {
		return true
	}
	return err == nil && (uid == os.Geteuid() || uid == 0)
}

var (
	errUnasked = errors.New("the kernel does not say who has a connection")
	errGone    = errors.New("the connection is gone")
)

// userOf asks the kernel (sock_diag(7)) for the user whose socket is the end at from of an open
// connection with to.
func userOf(from, to netip.AddrPort) (int, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, errUnasked
	}
	defer unix.Close(fd) // it was only asked
	const header, request, byFamily, established, uidAt = 16, 56, 20, 1, 64
	ask := make([]byte, header+request)
	binary.NativeEndian.PutUint32(ask, uint32(len(ask)))
	binary.NativeEndian.PutUint16(ask[4:], byFamily)
	binary.NativeEndian.PutUint16(ask[6:], unix.NLM_F_REQUEST)
	q := ask[header:]
	q[0], q[1] = unix.AF_INET, unix.IPPROTO_TCP
	if from.Addr().Is6() {
		q[0] = unix.AF_INET6
	}
	binary.NativeEndian.PutUint32(q[4:], 1<<established)
	binary.BigEndian.PutUint16(q[8:], from.Port())
	binary.BigEndian.PutUint16(q[10:], to.Port())
	copy(q[12:28], from.Addr().AsSlice())
	copy(q[28:44], to.Addr().AsSlice())
	binary.NativeEndian.PutUint64(q[48:], 1<<64-1) // any socket
	if err := unix.Sendto(fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, errUnasked
	}
	reply := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, reply, 0)
	switch {
	case err != nil || n < header+4:
		return 0, errUnasked
	case binary.NativeEndian.Uint16(reply[4:]) == unix.NLMSG_ERROR:
		if code := unix.Errno(-int32(binary.NativeEndian.Uint32(reply[header:]))); code != unix.ENOENT {
			return 0, errUnasked
		}
		return 0, errGone
	case n < header+uidAt+4:
		return 0, errUnasked
	case reply[header+1] != established:
		return 0, errGone
	}
	return int(binary.NativeEndian.Uint32(reply[header+uidAt:])), nil
}

// unchecked is what this system does not let the server check; empty for nothing.
func unchecked() string { return "" }
