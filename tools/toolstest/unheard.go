package toolstest

import (
	"net"
	"testing"
)

// Unheard is an address at which nobody listens: the client's end of a connection that stays open.
// The port of a listener that was closed is free, and anybody on the machine may take it.
func Unheard(t *testing.T) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.LocalAddr()
}
