package app

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agent/host/model/catalog"
)

// A command for a key that takes too long is ended with all that it started.
func TestKeyCommandEndsWhole(t *testing.T) {
	at := filepath.Join(t.TempDir(), "child")
	k := &keySource{p: catalog.Provider{Name: "p", KeyCmd: []string{"/bin/sh", "-c", "sleep 600 & echo $! > '" + at + "'; wait"}}}
	_, err := k.run(t.Context(), time.Second)
	if err == nil || !strings.Contains(err.Error(), "get the key of p with /bin/sh …: it did not end within 1s") {
		t.Fatal(err)
	}
	text, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
	if err != nil || n != 1 {
		_ = unix.Kill(pid, unix.SIGKILL) // it is this test's own
		t.Errorf("what the command started lives on: %d, %v", n, err)
	}
}
