package stream

import (
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A disk that is full in the middle of a line: the half line is taken back, and what fits later follows whole.
func TestLiveOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	l := openLive(t, dir, "r-1")
	ok(t, l.Text(1, "one"))
	var before unix.Rlimit
	ok(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &before))
	ok(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(l.size) + 10, Max: before.Max}))
	err := l.Text(1, "two")
	ok(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &before))
	if !errors.Is(err, unix.EFBIG) {
		t.Fatalf("a write beyond what fits: %v, want %v", err, unix.EFBIG)
	}
	ok(t, l.Text(1, "three"))
	var h heard
	f := &follower{path: filepath.Join(dir, "r-1"), emit: h.emit}
	ok(t, f.look())
	h.want(t, "1:one 1:three ")
}
