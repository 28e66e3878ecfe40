package witness_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"agent/fleet/witness"
)

// A socket whose folder is deleted is made again, and a connection of before goes on.
func TestASocketIsMadeAgain(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "own")
	path := filepath.Join(folder, "w")
	l, err := witness.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error, 2)
	go func() {
		for range 2 {
			c, err := l.Accept()
			if err == nil {
				_, err = c.Write([]byte("x"))
			}
			accepted <- err
		}
	}()
	for range 2 {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := <-accepted; err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		if err := l.Renew(); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket was left")
	}
	if err := l.Renew(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket was made after the end")
	}
}
