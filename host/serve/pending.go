package serve

import (
	"net/http"

	"agent/host/app"
	"agent/host/view"
)

func (s *Server) request(row app.PendingRow) *request {
	return &request{view.NewRequest(row, s.o.Folder.Host.Now()), view.AskText(&row.Request)}
}

func (s *Server) pending(w http.ResponseWriter, r *http.Request) error {
	get, err := query(r, "all")
	if err != nil {
		return err
	}
	all, err := yes("all", get("all"))
	if err != nil {
		return err
	}
	rows, err := s.o.Folder.Store.Pending(r.Context(), all)
	if err != nil {
		return err
	}
	v := struct {
		Version  int        `json:"version"`
		Requests []*request `json:"requests"` // the oldest first
	}{Version: 1, Requests: make([]*request, len(rows))}
	for i, row := range rows {
		v.Requests[i] = s.request(row)
		if v.Requests[i].Request, err = app.Request(r.Context(), s.o.Folder, row); err != nil {
			return err
		}
	}
	return s.reply(w, http.StatusOK, v)
}

func (s *Server) question(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	row, err := s.o.Folder.Store.PendingByID(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	v := s.request(row)
	if v.Request, err = app.Request(r.Context(), s.o.Folder, row); err != nil {
		return err
	}
	return s.reply(w, http.StatusOK, struct {
		Version int      `json:"version"`
		Request *request `json:"request"`
	}{1, v})
}
