//go:build linux

package runner_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"agent/recovery/fault"

	"golang.org/x/sys/unix"
)

// endThreads has threads of this process end while the command is started, and some more before the
// point just after that is left: a goroutine that ends while it is locked to its thread takes the
// thread with it.
func (p *points) endThreads(point fault.Point) {
	end := func() {
		ended := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(ended)
		}()
		<-ended
	}
	switch point {
	case fault.RunnerBegan:
		go func() {
			for {
				select {
				case <-p.stop:
					return
				default:
					end()
				}
			}
		}()
	case fault.RunnerRunning:
		for range 50 {
			end()
		}
		close(p.stop)
		// The command reads what is written here. The pipe stays open until then, whether or not
		// anybody reads.
		gate, err := os.OpenFile(os.Getenv("END_THREADS"), os.O_RDWR, 0)
		if err == nil {
			_, _ = gate.WriteString("go\n") // without it the test fails
		}
	}
}

// What says that a command began is on the disk before the command starts, and not only in memory.
func TestTheStartIsOnTheDisk(t *testing.T) {
	loose := filepath.Join(t.TempDir(), "loose")
	if err := os.WriteFile(loose, []byte("not synced"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := unwritten(loose); err != nil || n == 0 {
		t.Skipf("the kernel does not say what of a file is on the disk: %d pages, %v", n, err)
	}
	c := newCall(t, "echo x")
	c.env = []string{"DIE_AT=" + string(fault.RunnerBegan)}
	c.start()
	c.wait()
	for _, name := range []string{"began", "lock"} {
		if n, err := unwritten(filepath.Join(c.folder, name)); err != nil || n != 0 {
			t.Errorf("of %s %d pages are not on the disk (%v)", name, n, err)
		}
	}
}

// The record of the start gets its name when it is whole, so that no moment of a kill leaves half a
// record, which is taken for a call that began.
func TestTheStartIsRecordedInOneStep(t *testing.T) {
	c := newCall(t, "true")
	job := c.prepare()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	defer events.Close() // it was only read
	if _, err := unix.InotifyAddWatch(fd, c.folder, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_MODIFY); err != nil {
		t.Fatal(err)
	}
	if err := job.Start(os.Args[0], c.env); err != nil {
		t.Fatal(err)
	}
	c.end()

	buf := make([]byte, 64<<10)
	n, err := events.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	var got []uint32
	for at := 0; at < n; {
		e := (*unix.InotifyEvent)(unsafe.Pointer(&buf[at]))
		name := buf[at+unix.SizeofInotifyEvent:][:e.Len]
		if string(bytes.TrimRight(name, "\x00")) == "began" {
			got = append(got, e.Mask)
		}
		at += unix.SizeofInotifyEvent + int(e.Len)
	}
	if len(got) != 1 || got[0] != unix.IN_MOVED_TO {
		t.Errorf("events of the record: %x, want one, that it was moved to its name", got)
	}
}

// unwritten is how many pages of a file are in memory only.
func unwritten(path string) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() // it was only looked at
	var s unix.Cachestat_t
	err = unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &s, 0)
	return s.Dirty + s.Writeback, err
}
