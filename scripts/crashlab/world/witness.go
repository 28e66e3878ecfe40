//go:build linux

package world

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"agent/scripts/crashlab/marks"
)

// Witness counts effects without asking the process or its database.
type Witness struct {
	world   int
	effects string // commands append to it
	folder  string
	Counter *Counter
	inotify int
	mu      sync.Mutex
	Moved   map[string]int // marks of files that were moved into place
}

func NewWitness(world int, folder string, c *Counter) (*Witness, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %v", folder, err)
	}
	if _, err := unix.InotifyAddWatch(fd, folder, unix.IN_MOVED_TO); err != nil {
		return nil, errors.Join(fmt.Errorf("watch %s: %v", folder, err), unix.Close(fd))
	}
	return &Witness{world: world, effects: filepath.Join(folder, "effects"), folder: folder, Counter: c, inotify: fd, Moved: map[string]int{}}, nil
}

// ReadIn has marks count that commands append to a file somewhere else, where no rewind takes them
// back.
func (w *Witness) ReadIn(path string) { w.effects = path }

func (w *Witness) Close() error { return unix.Close(w.inotify) }

// drain takes what the kernel has noted. The queue is filled before the call that moves a file
// returns.
func (w *Witness) drain() error {
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.inotify, buf)
		if errors.Is(err, unix.EAGAIN) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what happened in %s: %v", w.folder, err)
		}
		for at := 0; at < n; {
			e := (*unix.InotifyEvent)(unsafe.Pointer(&buf[at]))
			if e.Mask&unix.IN_Q_OVERFLOW != 0 {
				return fmt.Errorf("read what happened in %s: the kernel's queue ran over", w.folder)
			}
			name := strings.TrimRight(string(buf[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+int(e.Len)]), "\x00")
			for _, m := range marks.Find(name) {
				w.Moved[m]++
			}
			at += unix.SizeofInotifyEvent + int(e.Len)
		}
	}
}

// Counts says how often each marked effect has happened so far.
func (w *Witness) Counts() (map[string]int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.drain(); err != nil {
		return nil, err
	}
	all := w.Counter.of(w.world)
	text, err := os.ReadFile(w.effects)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		all[strings.TrimSpace(line)]++
	}
	for m, n := range w.Moved {
		all[m] += n
	}
	return all, nil
}
