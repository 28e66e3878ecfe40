package holder

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Of is who listens on a port at the loopback addresses. lock is the path in a state folder of the
// file that its server has open.
func Of(port int, lock string) Holder {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, s := range listening(table, port) {
			if h, ok := process(s.inode, lock); ok {
				return h
			}
			if s.user != strconv.Itoa(os.Geteuid()) {
				return Holder{User: s.user}
			}
		}
	}
	return Holder{}
}

// socket is one that listens.
type socket struct{ user, inode string }

// listening are the sockets of a table of the kernel (proc_pid_net(5)) that listen on a port where
// the page would.
func listening(table string, port int) (found []socket) {
	f, err := os.Open(table)
	if err != nil {
		return nil // then nobody is named
	}
	defer f.Close() // it was only read
	const local, state, user, inode, listens = 1, 3, 7, 9, "0A"
	for lines := bufio.NewScanner(f); lines.Scan(); {
		w := strings.Fields(lines.Text())
		if len(w) <= inode || w[state] != listens {
			continue
		}
		if at, ok := address(w[local]); ok && int(at.Port()) == port && (at.Addr().IsLoopback() || at.Addr().IsUnspecified()) {
			found = append(found, socket{w[user], w[inode]})
		}
	}
	return found
}

// address reads an address as the kernel prints it: words of four bytes, each a number of this
// machine, and the port.
func address(text string) (netip.AddrPort, bool) {
	ip, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(ip)
	if err != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	addr, ok := netip.AddrFromSlice(raw)
	n, err := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), ok && err == nil
}

// process finds the process that has a socket, among those whose descriptors this user may see.
func process(inode, lock string) (Holder, bool) {
	links, err := filepath.Glob("/proc/[0-9]*/fd/[0-9]*")
	if err != nil {
		return Holder{}, false // the pattern is not malformed
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == "socket:["+inode+"]" {
			return about(filepath.Dir(filepath.Dir(link)), lock)
		}
	}
	return Holder{}, false
}

// about is what is known of the process whose folder in /proc this is.
func about(dir, lock string) (Holder, bool) {
	pid, err := strconv.Atoi(filepath.Base(dir))
	if err != nil {
		return Holder{}, false
	}
	h := Holder{PID: pid}
	name, err := os.ReadFile(filepath.Join(dir, "comm"))
	if err != nil {
		return Holder{}, false // it has ended meanwhile
	}
	h.Name = strings.TrimSuffix(string(name), "\n")
	files, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return h, true
	}
	for _, f := range files {
		to, err := os.Readlink(filepath.Join(dir, "fd", f.Name()))
		if home, ok := strings.CutSuffix(to, "/"+lock); err == nil && ok {
			h.State = home
		}
	}
	return h, true
}
