package holder_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/host/serve/holder"
)

// Who listens at a loopback address, or at all of them, is named; a server of a state folder by
// that folder.
func TestOf(t *testing.T) {
	const lock = "locks/serve"
	for _, at := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err) // this machine has no IPv6
			continue
		}
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		if got := holder.Of(port, lock); got.PID != os.Getpid() || got.Name == "" || got.State != "" {
			t.Errorf("%s: %+v", at, got)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "locks"), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(home, lock))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, want := holder.Of(port, lock).String(), fmt.Sprintf("process %d, which serves the state folder %s,", os.Getpid(), home); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// The client's end is a port that nobody else can take, and nobody listens there.
	if got := holder.Of(c.LocalAddr().(*net.TCPAddr).Port, lock); got != (holder.Holder{}) {
		t.Errorf("nobody listens: %+v", got)
	}
}

// What a process calls itself is nothing that a terminal obeys.
func TestString(t *testing.T) {
	for want, h := range map[string]holder.Holder{
		"another process":         {},
		"a process of user 65534": {User: "65534"},
		"process 7 (a?[31m)":      {PID: 7, Name: "a\x1b[31m"},
	} {
		if got := h.String(); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
