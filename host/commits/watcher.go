package commits

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"agent/db"
	"agent/host/drive"
	"agent/host/drive/fold"
	"agent/recovery/journal"
	"agent/recovery/workspace/relate"
	"agent/tools/gitrepo/history"
	"agent/tools/gitrepo/objects"
)

// Watcher finds the commits that calls make, beside what another finds of files.
type Watcher struct {
	drive.Files
	Process *drive.Process

	marker history.Marker

	mu      sync.Mutex
	runs    map[string]*watch
	folders map[string]bool // whose repositories were looked at before
}

// watch is what is known of one run.
type watch struct {
	last    []byte             // the marks that are on record
	windows map[[2]int]*window // by turn and index of the calls that are under way
}

// window is what stood when a call was started.
type window struct {
	place  journal.Place
	marks  history.Marks // none where the folder was in no repository
	since  time.Time
	until  time.Time       // when the call was at its end; none: right now, or nobody knows
	during []relate.Window // the calls of this process that were under way at its end, its own last
}

// Before takes the marks of the repository. Where it cannot be read there are none: no commit is
// linked then, and nothing else suffers. A call that makes the repository has empty ones.
func (w *Watcher) Before(ctx context.Context, c drive.FilesCall) (drive.Found, error) {
	found, err := w.Files.Before(ctx, c)
	if err != nil || c.Paths != nil && w.began(c.Created.Folder) {
		return found, err
	}
	since := w.Process.Now()
	repo, there, marks, err := marksOf(c.Created.Folder, w.marker.Mark)
	if err != nil {
		return found, nil
	}
	if there && !w.began(c.Created.Folder) {
		w.begin(ctx, c.Created, repo, marks)
	}
	if c.Paths != nil {
		return found, nil
	}
	text, err := json.Marshal(marks)
	if err != nil {
		return found, nil // it is made of texts and numbers
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	run := w.run(c.Created.Run)
	run.windows[[2]int{c.Place.Turn, c.Place.Index}] = &window{place: c.Place, marks: marks, since: since}
	if string(run.last) != string(text) {
		found.Marks, run.last = text, text
	}
	return found, nil
}

// began says whether it is written down since when the repository of a folder is looked at.
func (w *Watcher) began(folder string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.folders[folder]
}

// begin writes down where the logs of a repository end, where nobody has: from there on CatchUp
// reads them. Of a repository that was made after a run had worked in its folder it reads all.
func (w *Watcher) begin(ctx context.Context, c journal.RunCreated, repo objects.Repository, marks history.Marks) {
	if err := beginMarks(ctx, w.Process, repo, marks); err != nil {
		w.Process.Warn(c.Run, "commits by a person's own hand are not linked with this run: %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.folders == nil {
		w.folders = map[string]bool{}
	}
	w.folders[c.Folder] = true
}

func (w *Watcher) run(id string) *watch {
	if w.runs == nil {
		w.runs = map[string]*watch{}
	}
	if w.runs[id] == nil {
		w.runs[id] = &watch{windows: map[[2]int]*window{}}
	}
	return w.runs[id]
}

// marksOf takes the marks of the repository that a folder belongs to, if there is one.
func marksOf(folder string, mark func(objects.Repository) (history.Marks, error)) (
	repo objects.Repository, there bool, marks history.Marks, err error,
) {
	if repo, there, err = objects.Find(folder); err == nil && there {
		marks, err = mark(repo)
	}
	return repo, there, marks, err
}

// After finds the commits of a call that has its result.
func (w *Watcher) After(ctx context.Context, c drive.FilesCall, fresh []journal.Event) drive.Found {
	found := w.Files.After(ctx, c, fresh)
	if c.Paths != nil {
		return found
	}
	repo, there, now, err := marksOf(c.Created.Folder, w.marker.Mark)
	win, ok := w.window(ctx, c)
	if err != nil || !there || !ok || history.Same(win.marks, now) {
		return found
	}
	seen, err := w.look(ctx, c, repo, win, now, found.Kept, changesOf(fresh, found.Facts))
	if err != nil {
		w.Process.Warn(c.Created.Run, "the commits that call %s made are not linked with it yet (agent log looks again): %v", c.Place, err)
		return found
	}
	for _, f := range seen {
		found.Facts = append(found.Facts, f)
	}
	return found
}

// window ends the window of a call.
func (w *Watcher) window(ctx context.Context, c drive.FilesCall) (win window, ok bool) {
	at := [2]int{c.Place.Turn, c.Place.Index}
	var during []relate.Window
	w.mu.Lock()
	for id, run := range w.runs {
		for where, other := range run.windows {
			if id != c.Created.Run || where != at {
				during = append(during, relate.Window{Run: id, Place: other.place})
			}
		}
	}
	run := w.run(c.Created.Run)
	if own := run.windows[at]; own != nil {
		win, ok = *own, true
	}
	delete(run.windows, at)
	w.mu.Unlock()
	if !ok {
		win, ok = w.onRecord(ctx, c)
	}
	win.during = append(during, relate.Window{Run: c.Created.Run, Place: c.Place, Git: bytes.Contains(c.Args, []byte("git"))})
	return win, ok
}

// startTime is how long a command may take to begin once its call is on record.
const startTime = 10 * time.Second

// onRecord reads the marks of before a call that an earlier process started.
func (w *Watcher) onRecord(ctx context.Context, c drive.FilesCall) (win window, ok bool) {
	facts, err := fold.Facts(w.Process.Reader().Restored(ctx, func(db.Unrecoverable) {})(c.Created.Run)) // what is lost was reported at the claim
	if err != nil {
		return win, false
	}
	var last json.RawMessage
	for _, e := range facts {
		b, is := e.Body.(journal.CallStarted)
		if !is {
			continue
		}
		if b.Marks != nil {
			last = b.Marks
		}
		if b.Turn == c.Place.Turn && b.Index == c.Place.Index {
			win = window{place: c.Place, since: e.Time}
			if c.Took > 0 {
				win.until = e.Time.Add(c.Took + startTime)
			}
			ok = last != nil && json.Unmarshal(last, &win.marks) == nil
		}
	}
	return win, ok
}

// Dropped hears that what was said last of a run's marks is not on record.
func (w *Watcher) Dropped(c journal.RunCreated) {
	w.Files.Dropped(c)
	w.forget(c.Run)
}

// Ended hears that a run has ended.
func (w *Watcher) Ended(c journal.RunCreated) {
	w.Files.Ended(c)
	w.forget(c.Run)
}

func (w *Watcher) forget(run string) {
	w.mu.Lock()
	delete(w.runs, run)
	w.mu.Unlock()
}
