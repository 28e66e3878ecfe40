package serve

import (
	_ "embed"
	"net/http"
	"path/filepath"
	"time"
)

//go:embed openapi.json
var openAPI []byte

// openAPI answers with the description of the routes.
func (s *Server) openAPI(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // a client that went away misses it
	return nil
}

// state is how a server stands. Fields are only ever added.
type state struct {
	Version  int       `json:"version"`
	Agent    string    `json:"agent"`
	PID      int       `json:"pid"`
	Host     string    `json:"host"`
	Started  time.Time `json:"started_at"`
	Socket   string    `json:"socket"`
	Page     string    `json:"page,omitempty"` // where it is shown
	ReadOnly bool      `json:"read_only"`      // nothing can be recorded: the disk is full, or the folder cannot be written
	Streams  int       `json:"num_streams"`
	Outdated bool      `json:"outdated"` // a newer agent has brought the database up to date: this server ends
}

func (s *Server) state() state {
	f := s.o.Folder
	return state{1, f.Version, f.Self.PID, f.Self.Host, s.started, filepath.Join(f.Home, socketName), s.door.address(), !f.CanWrite() || f.Store.DiskFull(), len(s.streams), s.outdated.Load()}
}

func (s *Server) server(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	return s.reply(w, http.StatusOK, s.state())
}
