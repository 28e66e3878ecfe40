//go:build !portable

package runner

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Times between two looks: behind a working watch, and without one.
const (
	slowPoll = 250 * time.Millisecond
	fastPoll = 25 * time.Millisecond
)

// Events of a folder, as hints that a look is worth while.
const (
	hintNames = unix.IN_CREATE | unix.IN_MOVED_TO
	// The last close of the lock file is the moment at which its lock goes.
	hintEnd   = unix.IN_CLOSE_WRITE | unix.IN_MOVED_TO
	hintWrite = unix.IN_MODIFY | unix.IN_CREATE
)

// watcher wakes whoever waits for something to happen in a folder. Its events are hints only, and
// the number of watches that a user may have is small: without one it polls faster.
type watcher struct {
	hints chan struct{}
	poll  time.Duration
	f     *os.File
}

// The raw interface is used because it alone tells of the last close of a file open for writing.
func watch(folder string, events uint32) *watcher {
	w := &watcher{poll: fastPoll}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return w
	}
	if _, err := unix.InotifyAddWatch(fd, folder, events|unix.IN_ONLYDIR); err != nil {
		_ = unix.Close(fd) // it watches nothing
		return w
	}
	w.f = os.NewFile(uintptr(fd), "inotify")
	w.poll = slowPoll
	w.hints = make(chan struct{}, 1)
	go w.read()
	return w
}

func (w *watcher) read() {
	buf := make([]byte, 4096)
	for {
		if _, err := w.f.Read(buf); err != nil {
			return // closed, or broken: the poll goes on
		}
		select {
		case w.hints <- struct{}{}:
		default:
		}
	}
}

// close ends the watch in the background: the kernel takes some ten milliseconds to give one up,
// and nobody needs to wait.
func (w *watcher) close() {
	if w.f != nil {
		go func() { _ = w.f.Close() }() // nothing was written
	}
}
