package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"agent/host/app"
	"agent/host/watch"
)

const (
	newestLooked = 100                    // of the runs that have ended, whose changes are seen
	mostChanged  = 1000                   // runs that a list keeps for observers that are behind
	listEvery    = 100 * time.Millisecond // at most, a look for changes
	ownersEvery  = 2 * time.Second        // a look for runs that lost or found their owner, which is no change of the database
)

// lists are the routes that show more than one run to a page: the stream of the list, and what a
// new run is asked for.
type lists struct{ *Server }

// list has the runs that changed since its first observer came, each as it is now. It is there only
// while it has observers, and has no queue: an observer is the number of the last change that it
// has seen.
type list struct {
	s *Server

	mu        sync.Mutex
	observers int
	stop      context.CancelFunc
	number    int64 // of the last change
	lost      int64 // changes up to this one are not kept any more
	runs      map[string]changed
	news      chan struct{} // closed when something changed
}

// changed is a run that changed, with the number of that.
type changed struct {
	number int64
	run    json.RawMessage
}

// events streams what changes in the list of runs (server-sent events). It has no cursor: whoever
// connects reads the list once more.
func (s lists) events(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	defer context.AfterFunc(s.stopped, stop)()
	at, leave, err := s.list.join(ctx)
	if err != nil {
		return err
	}
	defer leave()
	now := s.state()
	l, err := watch.NewLine("", watch.TypeServer, now)
	if err != nil {
		return err
	}
	st := newStream(w, s.o.take)
	if st.send(l) != nil {
		return nil
	}
	s.list.follow(ctx, st, at)
	if s.outdated.Load() { // the page says why it hears nothing any more
		if l, err = watch.NewLine("", watch.TypeServer, s.state()); err == nil {
			_ = st.send(l)
		}
	}
	return err
}

// follow writes what changes until the observer goes, or is so far behind that it reads the list
// once more.
func (l *list) follow(ctx context.Context, st *stream, at int64) {
	still := time.NewTicker(quiet)
	defer still.Stop()
	for {
		runs, now, news := l.after(at)
		if news == nil {
			return
		}
		var err error
		if len(runs) > 0 {
			var line watch.Line
			if line, err = watch.NewLine("", watch.TypeRuns, map[string]any{"runs": runs}); err == nil {
				err = st.send(line)
			}
			at = now
		} else {
			select {
			case <-news:
			case <-still.C:
				err = st.comment()
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// after is what changed after a number, the latest last, with the number of that; news is nil where
// that is not known any more.
func (l *list) after(at int64) (runs []json.RawMessage, now int64, news <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at < l.lost {
		return nil, at, nil
	}
	var found []changed
	for _, c := range l.runs {
		if c.number > at {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b changed) int { return int(a.number - b.number) })
	for _, c := range found {
		runs = append(runs, c.run)
	}
	return runs, l.number, l.news
}

// join counts an observer, and returns the number of the last change. What changes from then on
// comes after it.
func (l *list) join(ctx context.Context) (at int64, leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.s.stopped.Err() != nil {
		return 0, nil, watch.ErrClosed
	}
	if l.observers == 0 {
		hints, deaf := l.s.watcher.Changes() // first: no change falls between
		seen := map[string]string{}
		if _, err := l.look(ctx, seen, true); err != nil {
			deaf()
			return 0, nil, err
		}
		ctx, stop := context.WithCancel(l.s.stopped)
		l.runs, l.stop, l.news = map[string]changed{}, stop, make(chan struct{})
		l.lost = l.number
		l.s.running.Go(func() {
			defer deaf()
			l.work(ctx, hints, seen)
		})
	}
	l.observers++
	return l.number, sync.OnceFunc(l.leave), nil
}

func (l *list) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.observers--; l.observers == 0 {
		l.stop()
	}
}

// work looks whenever something may have changed.
func (l *list) work(ctx context.Context, hints <-chan struct{}, seen map[string]string) {
	owners := time.NewTicker(ownersEvery)
	defer owners.Stop()
	for {
		select {
		case <-hints:
		case <-owners.C:
		case <-ctx.Done():
			return
		}
		runs, err := l.look(ctx, seen, false)
		if err != nil && ctx.Err() == nil {
			l.s.log.Warn("look for changed runs", "reason", l.s.o.App.Redacted(err.Error()))
		}
		if len(runs) > 0 && !l.take(ctx, runs) {
			return
		}
		select {
		case <-time.After(listEvery):
		case <-ctx.Done():
			return
		}
	}
}

// take has observers see runs that changed; false where they have left.
func (l *list) take(ctx context.Context, runs map[string]json.RawMessage) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil { // another list may have begun
		return false
	}
	for id, run := range runs {
		l.number++
		l.runs[id] = changed{l.number, run}
	}
	if len(l.runs) > mostChanged { // whoever has not seen these begins again
		l.lost, l.runs = l.number, map[string]changed{}
	}
	close(l.news)
	l.news = make(chan struct{})
	return true
}

// look compares runs with how they were seen, and returns those that are otherwise now: all that
// may be going on, and the newest of the others. The first look only sees them.
func (l *list) look(ctx context.Context, seen map[string]string, first bool) (map[string]json.RawMessage, error) {
	store := l.s.o.Folder.Store
	rows, err := store.Alive(ctx)
	for _, f := range []app.Filter{{Waiting: true}, {Before: math.MaxInt64, Limit: newestLooked}} {
		more, readErr := store.Runs(ctx, f)
		if err = errors.Join(err, readErr); err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	there, all := map[string]bool{}, map[string]json.RawMessage{}
	see := func(row app.RunRow) error {
		if there[row.ID] || row.Root != "" {
			return nil
		}
		there[row.ID] = true
		who, held, err := l.s.o.Folder.Owner(row.ID)
		if err != nil {
			return err
		}
		mark := fmt.Sprint(row.LastSeq, row.Status, row.Updated.UnixNano(), held, who.PID, row.Pending != nil)
		if first {
			seen[row.ID] = mark
		}
		if seen[row.ID] == mark {
			return nil
		}
		v, err := l.s.o.Folder.Now(ctx, row.ID)
		if err != nil {
			return err
		}
		if all[row.ID], err = json.Marshal(v); err == nil {
			seen[row.ID] = mark
		}
		return err
	}
	for _, row := range rows {
		if err := see(row); err != nil {
			return all, err
		}
	}
	for id := range seen { // which went on since, and may have come to an end
		if there[id] {
			continue
		}
		row, err := store.Run(ctx, id)
		if err == nil {
			err = see(row)
		}
		if err != nil {
			return all, err
		}
		if row.Status.Terminal() {
			delete(seen, id)
		}
	}
	return all, nil
}

// folders answers with the folders of the newest runs, those that are there.
func (s lists) folders(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	rows, err := s.o.Folder.Store.Runs(r.Context(), app.Filter{Before: math.MaxInt64, Limit: mostChanged})
	if err != nil {
		return err
	}
	type folder struct {
		Folder string    `json:"folder"`
		Used   time.Time `json:"used_at"` // when its newest run was started
	}
	v := struct {
		Version int      `json:"version"`
		Folders []folder `json:"folders"` // the latest first
	}{1, []folder{}}
	seen := map[string]bool{}
	for _, row := range rows {
		if seen[row.Folder] || len(v.Folders) == mostFolders {
			continue
		}
		seen[row.Folder] = true
		if info, err := os.Stat(row.Folder); err == nil && info.IsDir() {
			v.Folders = append(v.Folders, folder{row.Folder, row.Created})
		}
	}
	return s.reply(w, http.StatusOK, v)
}

const mostFolders = 50

// models answers with the models of a new run in a folder, as agent models lists them.
func (s lists) models(w http.ResponseWriter, r *http.Request) error {
	get, err := query(r, "folder")
	if err != nil {
		return err
	}
	folder := get("folder")
	if folder == "" {
		folder = string(filepath.Separator)
	} else if !filepath.IsAbs(folder) {
		return badParameter("folder", "it is an absolute path")
	}
	if err := checkFolder(folder); err != nil {
		return err
	}
	conf, err := s.o.App.Settings(folder)
	if err != nil {
		return &problem{Code: "refused", Detail: err.Error(), Next: []string{"agent models"}}
	}
	v := s.o.App.Models(r.Context(), conf)
	v.Use.Error = s.o.App.Redacted(v.Use.Error)
	return s.reply(w, http.StatusOK, v)
}
