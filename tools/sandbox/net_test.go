//go:build linux && !portable

package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func addressOf(p *byte) uintptr { return uintptr(unsafe.Pointer(p)) }

// patience is for an answer. What is barred is refused at once.
const patience = time.Minute

// dial connects and expects an answer, so that nothing counts that only left.
func dial(network, address string) error {
	if network == "mptcp" {
		return dialMultipath(address)
	}
	c, err := net.DialTimeout(network, address, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	return answered(c)
}

func answered(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("hello")); err != nil {
		return err
	}
	_, err := c.Read(make([]byte, 16))
	return err
}

func dialMultipath(address string) error {
	d := net.Dialer{Timeout: patience}
	d.SetMultipathTCP(true)
	c, err := d.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	return answered(c)
}

// serve talks to itself over the loopback.
func serve() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go answerAll(l)
	return dial("tcp", l.Addr().String())
}

func answerAll(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			b := make([]byte, 16)
			if n, err := c.Read(b); err == nil {
				_, _ = c.Write(b[:n]) // whoever asked sees that no answer comes
			}
		}()
	}
}

// socket makes a socket of a family.
func socket(family string) error {
	numbers := map[string][3]int{
		"unix": {unix.AF_UNIX, unix.SOCK_STREAM, 0}, "packet": {unix.AF_PACKET, unix.SOCK_DGRAM, 0}, "vsock": {unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		"route": {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, "uevent": {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT},
		"alg": {unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
	}
	if family == "pair" {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		return err
	}
	n, ok := numbers[family]
	if !ok {
		return fmt.Errorf("there is no family %q", family)
	}
	_, err := unix.Socket(n[0], n[1], n[2])
	return err
}

// datagram sends to a path through a pair of sockets, which needs no socket(2).
func datagram(path string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(pair[0], []byte("hello"), 0, &unix.SockaddrUnix{Name: path})
}

// servers are what a host and a person have listening.
type servers struct{ tcp, udp, state, path, abstract, datagram string }

func listen(t *testing.T, s *scene) servers {
	t.Helper()
	var v servers
	streams := func(network, address string) string {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() }) // nothing is lost with a listener
		go answerAll(l)
		return l.Addr().String()
	}
	v.tcp = streams("tcp", "127.0.0.1:0")
	v.state = streams("unix", s.state+"/sock")
	v.path = streams("unix", s.outside+"/sock")
	v.abstract = streams("unix", fmt.Sprintf("@sandbox-test-%d", os.Getpid()))
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.Close() }) // as above
	go func() {
		b := make([]byte, 16)
		for {
			n, from, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = u.WriteTo(b[:n], from) // as above
		}
	}()
	v.udp = u.LocalAddr().String()
	v.datagram = s.outside + "/datagram"
	d, err := net.ListenPacket("unixgram", v.datagram)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // as above
	return v
}
