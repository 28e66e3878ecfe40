package stream

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	slowPoll = time.Second            // behind notification, which may lose things
	fastPoll = 250 * time.Millisecond // instead of it
	hintGap  = 20 * time.Millisecond  // between two hints: who writes often is not looked at after every write
)

// Waker hints that files may have changed. It watches their folders and never opens, reads or stats
// the files: closing a database file would drop the locks that this process has on it. A hint says
// only "look again", it may come for nothing, and several changes may be one. Make the waker first
// and look next, so that no change falls between.
type Waker struct {
	names   map[string]bool // absolute paths that are of interest
	folder  bool            // all files of dirs are of interest instead
	dirs    []string
	instead time.Duration // the poll where there is no notification
	hints   chan struct{}
	notice  atomic.Pointer[error]
	stop    chan struct{}
	done    chan struct{}
	closed  atomic.Bool

	mu      sync.Mutex
	changed map[string]bool // base names since Changed was last asked; nil: any may have changed

	// Only run uses what follows.
	rest <-chan time.Time // fires when hintGap is over; nil when it is
	echo <-chan time.Time // fires when the last change is to be hinted at once more; nil when it is not
	left []time.Duration  // of echoAfter, from the echo that is due
}

// echoAfter is how long after the last change another hint follows, each counted from the one
// before: what a writer changed becomes visible only after its fsync and through shared memory, and
// of neither there is notification.
func echoAfter() []time.Duration {
	return []time.Duration{30 * time.Millisecond, 220 * time.Millisecond}
}

// NewWaker wakes on changes of the files at paths, which need not exist, and once a second without
// any. Where the system's file notification cannot be had it wakes four times a second instead, and
// Notice says so.
func NewWaker(paths ...string) (*Waker, error) { return NewWakerEvery(slowPoll, paths...) }

// NewFolderWaker wakes on changes of any file in the folder dir, and Changed names them: one for a
// whole folder takes one of the 128 watchers that a user may have, instead of one a file.
func NewFolderWaker(dir string) (*Waker, error) {
	return newWaker(slowPoll, watchFolders, []string{filepath.Join(dir, "*")}, true)
}

// NewPollingWaker is NewWaker without notification: it wakes four times a second.
func NewPollingWaker(paths ...string) (*Waker, error) {
	return newWaker(slowPoll, func([]string) (*fsnotify.Watcher, error) { return nil, errors.New("it is not wanted") }, paths, false)
}

// NewWakerEvery is NewWaker with another slow poll; at most every 250 ms it is also what replaces
// notification.
func NewWakerEvery(poll time.Duration, paths ...string) (*Waker, error) {
	return newWaker(poll, watchFolders, paths, false)
}

func newWaker(poll time.Duration, watch func(dirs []string) (*fsnotify.Watcher, error), paths []string, folder bool) (*Waker, error) {
	if len(paths) == 0 || poll <= 0 {
		return nil, fmt.Errorf("watch for changes: %d files every %v", len(paths), poll)
	}
	w := &Waker{
		names: map[string]bool{}, folder: folder, instead: min(poll, fastPoll), hints: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("watch %s for changes: %w", path, err)
		}
		w.names[abs] = true
		if dir := filepath.Dir(abs); !slices.Contains(w.dirs, dir) {
			w.dirs = append(w.dirs, dir)
		}
	}
	watcher, err := watch(w.dirs)
	if err != nil {
		w.degrade(err)
	}
	go w.run(watcher, poll)
	return w, nil
}

// C delivers hints. It is never closed.
func (w *Waker) C() <-chan struct{} { return w.hints }

// Changed gives the names of the files that changed since the last call, and true where any may
// have: a poll names none.
func (w *Waker) Changed() (names map[string]bool, all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	names, w.changed = w.changed, map[string]bool{}
	return names, names == nil
}

// change keeps a name for Changed, or with "" that any file may have changed.
func (w *Waker) change(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case name == "":
		w.changed = nil
	case w.changed != nil:
		w.changed[name] = true
	}
}

// Done is closed when the waker was closed.
func (w *Waker) Done() <-chan struct{} { return w.stop }

// Notice says why there is no notification and the poll alone wakes; nil while there is one.
func (w *Waker) Notice() error {
	if err := w.notice.Load(); err != nil {
		return *err
	}
	return nil
}

// Close stops the waker and waits for it. Closing again does nothing.
func (w *Waker) Close() {
	if !w.closed.Swap(true) {
		close(w.stop)
	}
	<-w.done
}

// run owns watcher, which is nil where there is no notification.
func (w *Waker) run(watcher *fsnotify.Watcher, poll time.Duration) {
	defer close(w.done)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	var events <-chan fsnotify.Event
	var errs <-chan error
	if watcher != nil {
		// What closing it can report is of no use: the kernel frees it with its descriptor in any
		// case.
		defer func() { _ = watcher.Close() }()
		events, errs = watcher.Events, watcher.Errors
	} else {
		tick.Reset(w.instead)
	}
	for {
		var lost error
		heard := events
		if w.rest != nil {
			heard = nil
		}
		select {
		case <-w.stop:
			return
		case <-tick.C:
			w.change("")
			w.hint()
		case <-w.rest:
			w.rest = nil
		case <-w.echo:
			w.hint()
			w.await(w.left[1:])
		case event, ok := <-heard:
			lost = w.happened(event, ok)
		case err, ok := <-errs:
			switch {
			case !ok:
				errs = nil // events is closed with it and says so
			case errors.Is(err, fsnotify.ErrEventOverflow):
				w.change("")
				w.hint() // the kernel dropped some, which may have been ours
			default:
				lost = err
			}
		}
		if lost != nil {
			w.degrade(lost)
			events, errs = nil, nil
			_ = watcher.Close() // as above
			tick.Reset(w.instead)
			w.change("")
			w.hint() // something may have happened since
		}
	}
}

// happened hints if event is of interest. Its error says why no more will come.
func (w *Waker) happened(event fsnotify.Event, ok bool) error {
	switch {
	case !ok:
		return errors.New("it ended")
	case w.names[event.Name] || w.folder && !slices.Contains(w.dirs, event.Name):
		w.change(filepath.Base(event.Name))
		w.hint()
		w.await(echoAfter())
	case event.Has(fsnotify.Remove|fsnotify.Rename) && slices.Contains(w.dirs, event.Name):
		return fmt.Errorf("%s was removed or moved", event.Name)
	}
	return nil
}

func (w *Waker) await(echoes []time.Duration) {
	w.left, w.echo = echoes, nil
	if len(echoes) > 0 {
		w.echo = time.After(echoes[0])
	}
}

func (w *Waker) degrade(why error) {
	err := fmt.Errorf("no file notification, looking every %v instead: %w", w.instead, why)
	w.notice.Store(&err)
}

// hint gives a hint and begins a rest. Meanwhile notification is left where it is: the kernel keeps
// one event for any number of writes that follow each other, and wakes nobody for them.
func (w *Waker) hint() {
	w.rest = time.After(hintGap)
	select {
	case w.hints <- struct{}{}:
	default: // one is waiting already
	}
}
