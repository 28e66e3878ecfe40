package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"agent/host/app"
	"agent/host/view"
)

func (s *Server) call(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	row, err := s.o.Folder.Store.Call(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	v, err := s.shown(r.Context(), row)
	if err != nil {
		return err
	}
	return s.reply(w, http.StatusOK, v)
}

// oneCall is a call, without its whole output.
type oneCall struct {
	Version int       `json:"version"`
	Call    view.Call `json:"call"`
}

func (s *Server) shown(ctx context.Context, row app.CallRow) (oneCall, error) {
	found, err := view.Decisions(row.Run, s.o.Folder.Store.Load(ctx, row.Run, 0))
	return oneCall{1, view.NewCall(row, found[row.Place.String()])}, err
}

// output answers with the whole output of a call that has its result, or with a range of it.
func (s *Server) output(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	row, err := s.o.Folder.Store.Call(r.Context(), r.PathValue("id"))
	switch {
	case err != nil:
		return err
	case row.Result == nil:
		return &problem{
			Code: "running", Detail: fmt.Sprintf("the call has no result yet (it is %s)", row.Phase), Run: row.Run, Next: []string{"agent show --follow " + row.Run},
		}
	}
	text, size, err := s.o.Folder.Store.Output(r.Context(), row.ID)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", row.ID+".txt"))
	out := &ranged{ResponseWriter: w}
	http.ServeContent(out, r, "", time.Time{}, io.NewSectionReader(text, 0, size))
	if out.none {
		h.Del("Content-Disposition")
		return &problem{Code: "range", Detail: fmt.Sprintf("the output has %d bytes", size), Run: row.Run}
	}
	return nil
}

// ranged holds back what net/http says, in a form of its own, of a range that there is not.
type ranged struct {
	http.ResponseWriter
	none bool
}

func (w *ranged) WriteHeader(status int) {
	if w.none = status == http.StatusRequestedRangeNotSatisfiable; !w.none {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *ranged) Write(p []byte) (int, error) {
	if w.none {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}
