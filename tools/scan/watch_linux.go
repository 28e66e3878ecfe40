package scan

import (
	"bytes"
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// watch hears what happens in the folders of a tree: inotify(7). The kernel puts what happened in
// its queue before the system call that did it returns, so whoever reads until the queue is empty
// has heard of all that was done until then. What it hears is a hint: what is there is looked at.
//
// What is written by another name of a file is not heard of, so files that have one are looked at
// each time. Nor is what a process writes to memory that is mapped to a file, until it lets go of
// that: then a close is heard. Only Options.Judge sees that before.
type watch struct {
	fd     int
	most   int        // how many folders may be watched
	mu     sync.Mutex // of what follows, while a listing is under way
	dirs   map[int]*dir
	failed bool // it hears not all: more folders than may be, or the system refused one
	buffer []byte
}

const watched = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE |
	unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK

// Watch has the listings after the next one look only at what changed. The next one still looks at
// everything: each folder is listened to before it is. At most so many folders are watched; 0 is a
// quarter of what the person's processes may watch together. Where that is not enough, or cannot be
// had, nothing changes.
func (t *Tree) Watch(most int) {
	if t.watch != nil {
		return
	}
	if most == 0 {
		text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
		if err != nil {
			return
		}
		if most, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
			return
		}
		most /= 4
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return // there are as many as may be
	}
	t.watch = &watch{fd: fd, most: most, dirs: map[int]*dir{}}
	if t.top != nil {
		t.top.unwatched()
	}
}

// unwatched forgets an earlier watch.
func (d *dir) unwatched() {
	d.wd = 0
	for i := range d.nodes {
		if sub := d.nodes[i].sub; sub != nil {
			sub.unwatched()
		}
	}
}

func (h *watch) close() {
	if h != nil {
		_ = unix.Close(h.fd) // it was only read from
	}
}

// listen begins to watch a folder.
func (w *walk) listen(in folder, d *dir) {
	h := w.watch
	if h == nil {
		return
	}
	h.mu.Lock() // the watch and its note are one: else another folder of the same number may go in between
	defer h.mu.Unlock()
	if h.failed {
		return
	}
	if len(h.dirs) >= h.most || !w.trusted.heard {
		h.failed = true
		return
	}
	wd, err := unix.InotifyAddWatch(h.fd, "/proc/self/fd/"+strconv.Itoa(in.fd), watched)
	if err != nil {
		h.failed = true
		return
	}
	d.wd = wd
	h.dirs[wd] = d
}

// forget ends the watch of a folder, unless it is another's by now: one that was moved keeps its.
func (h *watch) forget(d *dir) {
	if h == nil || d.wd == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dirs[d.wd] == d {
		delete(h.dirs, d.wd)
		_, _ = unix.InotifyRmWatch(h.fd, uint32(d.wd)) // the folder may be gone
	}
}

// fail says that it hears not all.
func (h *watch) fail() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = true
}

// hear notes in the tree what happened since the last time, and says whether that is all.
func (t *Tree) hear() bool {
	h := t.watch
	if h == nil || h.failed || len(h.dirs) == 0 {
		return false
	}
	all := h.read()
	if len(t.unheard) > maxUnheard {
		return false
	}
	for _, path := range t.unheard {
		if d, n := t.way(path); n != nil {
			d.touch(path[strings.LastIndexByte(path, '/')+1:])
		}
	}
	return all
}

// maxUnheard is how many paths are looked at that nobody hears of: to look at more takes longer
// than to look at everything.
const maxUnheard = 1000

// read takes in what is in the queue.
func (h *watch) read() (all bool) {
	if h.buffer == nil {
		h.buffer = make([]byte, 64<<10)
	}
	for all = true; ; {
		n, err := unix.Read(h.fd, h.buffer)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return all
		case err != nil || n < unix.SizeofInotifyEvent:
			h.failed = true
			return false
		}
		for rest := h.buffer[:n]; len(rest) >= unix.SizeofInotifyEvent; {
			// struct inotify_event: watch, mask, cookie, length of the name, name.
			wd, mask := int(int32(binary.NativeEndian.Uint32(rest))), binary.NativeEndian.Uint32(rest[4:]) //nolint:gosec // it is an int32
			end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(rest[12:]))
			name, _, _ := bytes.Cut(rest[unix.SizeofInotifyEvent:end], []byte{0})
			rest = rest[end:]
			all = h.event(wd, mask, name) && all
		}
	}
}

// event takes in one of them, and says whether that is enough.
func (h *watch) event(wd int, mask uint32, name []byte) bool {
	d := h.dirs[wd]
	switch {
	case mask&unix.IN_Q_OVERFLOW != 0 || mask&unix.IN_UNMOUNT != 0:
		return false
	case d == nil: // it is forgotten
	case mask&unix.IN_IGNORED != 0: // the folder is gone, of which the one above it hears
		delete(h.dirs, wd)
		d.wd = 0
	default:
		if mask&(unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_MOVED_TO) != 0 {
			d.again = true
		}
		d.touch(string(name))
	}
	return true
}
