package serve

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agent/host/serve/login"
)

// loginPart stands between the address of the page and a code. What comes after # stays in the
// browser: it is in no request, so in no log.
const loginPart = "/#login="

// logins are the routes by which a browser gets in and out.
type logins struct{ *Server }

// create makes a link that logs a browser in, and shows the page if it is not shown.
func (s logins) create(w http.ResponseWriter, r *http.Request) error {
	var given struct {
		Port json.Number `json:"port"`
	}
	if err := s.body(w, r, &given); err != nil {
		return err
	}
	port := s.o.Port
	if given.Port != "" {
		n, err := strconv.Atoi(given.Port.String())
		if err == nil {
			port, err = n, CheckPort(n)
		}
		if err != nil {
			return &problem{Code: "shape", Detail: "port: choose a whole number from 1 to 65535, or 0 to have one chosen"}
		}
	}
	var taken *PortError
	switch err := s.door.listen(port); {
	case errors.As(err, &taken):
		taken.Asked = "agent web"
		p := &problem{Code: "port_taken", Detail: err.Error()}
		for _, f := range taken.Fixes() {
			p.Next = append(p.Next, f.Command)
		}
		return p
	case err != nil:
		return err
	}
	if _, err := s.writeAbout(); err != nil { // it names the page for others; the link is for who asks
		s.log.Warn("name the page", "reason", s.o.App.Redacted(err.Error()))
	}
	return s.reply(w, http.StatusOK, struct {
		Version int       `json:"version"`
		URL     string    `json:"url"`
		Expires time.Time `json:"expires_at"`
	}{1, s.door.address() + loginPart + s.desk.Code(), s.after(login.CodeLife)})
}

// redeem takes the code of a link for a session.
func (s logins) redeem(w http.ResponseWriter, r *http.Request) error {
	var given struct {
		Code string `json:"code"`
	}
	if err := s.body(w, r, &given); err != nil {
		return err
	}
	session, ok := s.desk.Redeem(given.Code)
	if !ok {
		return &problem{
			Code: "login", Detail: "this link is not valid: it works once, for 60 seconds, and not after five wrong ones; agent web prints another",
			Next: []string{"agent web"},
		}
	}
	return s.reply(w, http.StatusOK, struct {
		Version int       `json:"version"`
		Session string    `json:"session"`
		Expires time.Time `json:"expires_at"` // where it is not used until then
	}{1, session, s.after(login.SessionLife)})
}

// end ends the session by which it is asked. A token has none.
func (s logins) end(w http.ResponseWriter, r *http.Request) error {
	if err := s.body(w, r, &struct{}{}); err != nil {
		return err
	}
	_, session, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	s.desk.End(session)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) after(d time.Duration) time.Time {
	return s.o.Folder.Host.Now().Add(d).Truncate(time.Second)
}
