package stream

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// envFull makes TestLiveOnAFullDisk the process that writes, into the folder that it names: a limit
// belongs to a whole process, and every other test here writes too.
const envFull = "AGENT_STREAM_TEST_FULL"

// A disk that is full in the middle of a line: the half line is taken back, and what fits later
// follows whole.
func TestLiveOnAFullDisk(t *testing.T) {
	if dir := os.Getenv(envFull); dir != "" {
		l := openLive(t, dir, "r-1")
		ok(t, l.Text(1, "one"))
		if err := l.Text(1, strings.Repeat("two", 1<<10)); !errors.Is(err, unix.EFBIG) {
			t.Fatalf("a write beyond what fits: %v, want %v", err, unix.EFBIG)
		}
		ok(t, l.Text(1, "three"))
		return
	}
	dir := t.TempDir()
	c := exec.Command("sh", "-c", `ulimit -f 1; exec "$0" "$@"`, os.Args[0], "-test.run=^TestLiveOnAFullDisk$") // in blocks of 512 bytes
	c.Env = append(os.Environ(), envFull+"="+dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var h heard
	f := &follower{path: filepath.Join(dir, "r-1"), emit: h.emit}
	ok(t, f.look())
	h.want(t, "1:one 1:three ")
}
