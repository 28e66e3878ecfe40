package history

import (
	"os"
	"sync"
	"time"

	"agent/tools/gitrepo/objects"
)

// Marker takes marks over and over. Where every file and folder that the last ones were taken of
// has the state that it had, it reads none of them, and gives these marks again: nobody may change
// them. It may be used by several at once.
type Marker struct {
	mutex sync.Mutex
	last  map[objects.Repository]taken
	now   func() time.Time // nil: the clock
}

type taken struct {
	marks Marks
	of    *looked
}

// maxMarked is of how many repositories the last marks are kept.
const maxMarked = 64

// Mark is as [Mark].
func (k *Marker) Mark(r objects.Repository) (Marks, error) {
	k.mutex.Lock()
	last, known := k.last[r]
	k.mutex.Unlock()
	if known && last.of.stands() {
		return last.marks, nil
	}
	now := time.Now
	if k.now != nil {
		now = k.now
	}
	l := &looked{began: now()}
	m, err := mark(r, l)
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if err != nil || m.Cut != "" || l.unsure {
		delete(k.last, r)
		return m, err
	}
	if k.last == nil || len(k.last) >= maxMarked {
		k.last = map[objects.Repository]taken{}
	}
	k.last[r] = taken{m, l}
	return m, nil
}

// How shortly before a look a file may have changed for a further change not to show in its state:
// two ticks of a slow clock of the kernel, and of a file system that counts in seconds.
const (
	young       = 20 * time.Millisecond
	youngCoarse = 2 * time.Second
)

// looked is what marks were taken of. nil takes nothing down.
type looked struct {
	began   time.Time
	unsure  bool // states do not tell all
	paths   []seen
	folders []folder
}

// seen is a file, or a folder, as it was before it was read.
type seen struct {
	name string
	state
}

type folder struct {
	path  string
	files []seen
}

// doubt says that what was read may become another without a trace.
func (l *looked) doubt() {
	if l != nil {
		l.unsure = true
	}
}

// at takes down what is at a path, before it is read.
func (l *looked) at(path string) {
	if l == nil {
		return
	}
	one := l.see(here, path)
	l.paths = append(l.paths, one)
	l.unsure = l.unsure || one.link // what it leads to may be another, and the link the same
}

// in takes down a file of a folder, before it is read. What lies in one folder comes together, but
// for that of folders in it.
func (l *looked) in(f *os.File, name string) {
	if l == nil {
		return
	}
	if n := len(l.folders); n == 0 || l.folders[n-1].path != f.Name() {
		l.folders = append(l.folders, folder{path: f.Name()})
	}
	last := &l.folders[len(l.folders)-1]
	last.files = append(last.files, l.see(int(f.Fd()), name))
}

func (l *looked) see(folder int, name string) seen {
	s, ok := stateOf(folder, name)
	within := young
	if s.changed%int64(time.Second) == 0 {
		within = youngCoarse
	}
	fresh := s.there && s.changed >= l.began.Add(-within).UnixNano()
	l.unsure = l.unsure || !ok || fresh
	return seen{name, s}
}

// stands says whether all is as it was.
func (l *looked) stands() bool {
	if !as(here, l.paths) {
		return false
	}
	for _, f := range l.folders {
		in, ok := folderOf(f.path)
		if !ok {
			return false
		}
		same := as(in, f.files)
		closeFolder(in)
		if !same {
			return false
		}
	}
	return true
}

func as(folder int, files []seen) bool {
	for _, f := range files {
		if s, ok := stateOf(folder, f.name); !ok || s != f.state {
			return false
		}
	}
	return true
}
