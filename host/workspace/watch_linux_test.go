package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agent/db/dbtest"
	"agent/recovery/journal"
)

// listeners counts the watches of this process.
func (b *bench) listeners() (n int) {
	b.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		b.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.Contains(to, "inotify") {
			n++
		}
	}
	return n
}

// A large workspace is listened to while its run is driven. What nobody hears of, as what a process
// writes to memory that is mapped to a file, is found at the end and recorded as late (W5).
func TestWatched(t *testing.T) {
	for _, early := range []bool{false, true} {
		b := newBench(t)
		b.repository("mkdir d; i=0; while [ $i -lt 1100 ]; do echo $i >d/f$i; i=$((i+1)); done; head -c 8192 /dev/zero | tr '\\0' m >mapped")
		w := b.run("r-watched1", "")
		if early {
			b.k.Ahead(w.created)
		}
		b.start(w)
		b.settle(w)
		tree := b.k.tracker(w.created).tree
		if !tree.Watching() {
			t.Skip("the file system cannot be watched")
		}
		b.expect(b.during(w, "echo x >d/f7; rm d/f8; mkdir new; echo n >new/n; mv d/f9 d/g"),
			"while d/f7 644 -> 644", "while d/f8 644 -> -", "while d/f9 644 -> -", "while d/g - -> 644", "while new - -> dir", "while new/n - -> 644")
		b.expect(b.during(w, "git checkout -q d; mv new d/deep; echo m >d/deep/n"), "while d/f7 644 -> 644", "while d/f8 - -> 644", "while d/f9 - -> 644",
			"while new dir -> -", "while new/n 644 -> -", "while d/deep - -> dir", "while d/deep/n - -> 644")
		b.sh("echo y >>d/f1")
		b.expect(b.start(w), "outside d/f1 644 -> 644")
		m := b.mapped(filepath.Join(b.folder, "mapped"))
		m[0] = 'y'
		b.expect(b.settle(w), "")
		b.sh("echo z >>d/f1")
		found := b.k.Last(b.Context(), w.created)
		b.expect(found.Facts, "outside d/f1 644 -> 644", "late mapped 644 -> 644")
		if since := found.Facts[len(found.Facts)-1].(journal.FilesChanged).Since; since.IsZero() || since.After(time.Now()) { // time: it cannot be late since a time to come
			t.Errorf("it is late since %v", since)
		}
		if err := unix.Munmap(m); err != nil {
			t.Fatal(err)
		}
		b.append(w, found, dbtest.InTurn(w.turn-1, found.Facts...)...)
		b.before(found.Facts, map[string]string{"d/f1": "1\ny\n", "mapped": strings.Repeat("m", 8192)})
		b.k.Left(w.created)
		if n := b.listeners(); n != 0 {
			t.Errorf("%d watches of a run that was left", n)
		}
		b.expect(b.during(w, "echo again >d/f2"), "while d/f2 644 -> 644")
		b.k.Ended(w.created)
		if n := b.listeners(); n != 0 {
			t.Errorf("%d watches of a run that has ended", n)
		}
	}
}

// mapped is a file as memory.
func (b *bench) mapped(file string) []byte {
	b.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		b.Fatal(err)
	}
	return m
}
