package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"agent/host/app"
	"agent/host/view"
	"agent/host/watch"
	"agent/recovery"
)

const (
	mostRuns  = 200
	mostFacts = 500
	usual     = 50 // runs of a page, and facts
)

// run is where a run stands, with the place in its journal that this reflects and what can be asked
// for. Fields are only ever added.
type run struct {
	view.Snapshot
	Can []string `json:"can"` // the routes below the run, or its question, that would be taken now
}

// standing reads the run's journal once for all who ask within some seconds, and for those who
// watch.
func (s *Server) standing(ctx context.Context, id string) (run, error) {
	feed, err := s.watcher.Run(ctx, id)
	if err != nil {
		return run{}, err
	}
	defer feed.Close()
	_, v, err := feeds{s}.snapshot(ctx, feed, id)
	return run{v, s.can(v.Run)}, err
}

func (s *Server) can(v view.Run) []string {
	can := []string{}
	if v.Status.Terminal() {
		return can
	}
	if v.Asked != nil && v.Asked.Status == app.RequestOpen {
		can = append(can, "answer", "withdraw")
	}
	if v.Status == recovery.StatusInterrupted && v.Owner == nil {
		can = append(can, "resume")
	}
	return append(can, "cancel")
}

func (s *Server) runs(w http.ResponseWriter, r *http.Request) error {
	get, err := query(r, "status", "folder", "q", "before", "limit", "children")
	if err != nil {
		return err
	}
	below, err := yes("children", get("children"))
	if err != nil {
		return err
	}
	before, err := number("before", get("before"), math.MaxInt64)
	if err != nil {
		return err
	}
	limit, err := number("limit", get("limit"), mostRuns)
	if err != nil {
		return err
	}
	status := get("status")
	if status != "" && !slices.Contains(recovery.Statuses(), recovery.Status(status)) {
		return badParameter("status", "there is no such status")
	}
	list, next, err := s.o.Folder.Page(r.Context(), app.Filter{
		Before: cmp.Or(before, math.MaxInt64), Status: status, Folder: get("folder"), Text: get("q"), Limit: int(cmp.Or(limit, usual)),
	})
	if err == nil && below {
		err = app.AddChildren(r.Context(), s.o.Folder, list, false)
	}
	if err != nil {
		return err
	}
	v := struct {
		Version int        `json:"version"`
		Runs    []view.Run `json:"runs"`
		Next    string     `json:"next_before,omitempty"` // the parameter before of the next page
	}{Version: 1, Runs: list}
	if next > 0 {
		v.Next = strconv.FormatInt(next, 10)
	}
	return s.reply(w, http.StatusOK, v)
}

func (s *Server) run(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	v, err := s.standing(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return s.reply(w, http.StatusOK, v)
}

func (s *Server) thread(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	row, err := s.o.Folder.Store.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	rows, err := s.o.Folder.Store.Runs(r.Context(), app.Filter{Thread: row.ID, Limit: mostRuns})
	if err != nil {
		return err
	}
	v := struct {
		Version int        `json:"version"`
		ID      string     `json:"id"`
		Folder  string     `json:"folder"`
		Created time.Time  `json:"created_at"`
		Runs    []view.Run `json:"runs"` // the newest first
	}{1, row.ID, row.Folder, row.Created, make([]view.Run, len(rows))}
	for i, row := range rows {
		if v.Runs[i], err = s.o.Folder.Now(r.Context(), row.ID); err != nil {
			return err
		}
	}
	return s.reply(w, http.StatusOK, v)
}

// facts answers with a page of facts, each as its line in the stream is.
func (s *Server) facts(w http.ResponseWriter, r *http.Request) error {
	get, err := query(r, "after", "before", "limit")
	if err != nil {
		return err
	}
	limit, err := number("limit", get("limit"), mostFacts)
	if err != nil {
		return err
	}
	before, err := number("before", get("before"), math.MaxInt64)
	if err != nil {
		return err
	}
	if before > 0 && get("after") != "" {
		return badParameter("before", "give it or after, not both")
	}
	id, most := r.PathValue("id"), int(cmp.Or(limit, usual))
	c, err := watch.ParseCursor(get("after"))
	if err != nil {
		return err
	}
	if before > 0 {
		if c, most, err = s.pageBefore(r.Context(), id, before, most); err != nil {
			return err
		}
	}
	first := c.Seq() + 1
	var lines []watch.Line
	if most > 0 {
		if lines, err = watch.Facts(r.Context(), s.o.Folder.Store, id, c, most); err != nil {
			return err
		}
	}
	v := struct {
		Version int               `json:"version"`
		Run     string            `json:"run_id"`
		Facts   []json.RawMessage `json:"facts"`
		Cursor  string            `json:"cursor"`                // behind the last of them
		Before  string            `json:"next_before,omitempty"` // the parameter before of the page of earlier ones
	}{Version: 1, Run: id, Facts: make([]json.RawMessage, len(lines)), Cursor: c.String()}
	for i, l := range lines {
		v.Facts[i] = l.JSON
	}
	if first > 1 && len(lines) > 0 {
		v.Before = strconv.FormatInt(first, 10)
	}
	return s.reply(w, http.StatusOK, v)
}

// pageBefore is where a page begins that ends before a fact: at the first fact of a turn, so that
// none is cut in two, unless one turn alone is longer than a page.
func (s *Server) pageBefore(ctx context.Context, id string, before int64, most int) (*watch.Cursor, int, error) {
	last, err := watch.Here(ctx, s.o.Folder.Store, id)
	if err != nil {
		return nil, 0, err
	}
	end := min(before-1, last.Seq())
	from := max(0, end-int64(most))
	if from > 0 {
		rows, err := s.o.Folder.Store.Checkpoints(ctx, id)
		if err != nil {
			return nil, 0, err
		}
		for _, row := range rows { // a checkpoint is the last fact of a turn
			if row.Seq >= from && row.Seq < end {
				from = row.Seq
				break
			}
		}
	}
	return watch.After(from), int(end - from), nil
}
