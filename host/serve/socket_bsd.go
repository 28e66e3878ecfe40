//go:build unix && !linux

package serve

import (
	"fmt"
	"net"
	"net/netip"
)

// shortPath refuses a path that is too long: this system has no other name for it.
func shortPath(_, path string) (string, func(), error) {
	if len(path) > longest {
		return "", nil, fmt.Errorf("listen on %s: the path is longer than %d bytes; choose another state folder with AGENT_HOME", path, longest)
	}
	return path, func() {}, nil
}

// ours leaves it to the modes of the folder and the socket.
func ours(net.Conn) bool { return true }

// neighbour leaves it to the credential.
func neighbour(_, _ netip.AddrPort) bool { return true }

// unchecked is what this system does not let the server check.
func unchecked() string {
	return "the user at the other end of the socket is not checked on this system; the modes of its folder and the token keep others out"
}
