//go:build unix

package serve

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server whose socket was removed, alone or with the state folder, is found by nobody: it ends
// with the reason, so that a unit starts it again. What stands there for another server stays.
func TestSocketReplaced(t *testing.T) {
	w := newWorld(t)
	up := make(chan struct{}, 10)
	s, err := New(Options{App: w.app, Folder: w.folder, Say: func(string, ...any) { up <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context()) }()
	<-up
	path := filepath.Join(w.home, socketName)
	if err := os.Rename(path, path+".old"); err != nil { // it keeps its number, which a new file would get else
		t.Fatal(err)
	}
	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() // it was only there
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "serve: restart me: "+path+" was removed or replaced") {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the socket of another server: %v", err)
	}
}
