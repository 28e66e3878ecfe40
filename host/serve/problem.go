package serve

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"

	"agent/host"
	"agent/host/app"
	"agent/host/owner"
	"agent/host/view"
	"agent/host/watch"
)

// problem is a refusal (RFC 9457). Code is what a program branches on, and stays. Fields are only
// ever added.
type problem struct {
	Title    string       `json:"title"`
	Status   int          `json:"status"`
	Code     string       `json:"code"` // of Codes, which has its status
	Detail   string       `json:"detail"`
	Run      string       `json:"run_id,omitempty"`
	Next     []string     `json:"next"`                      // commands that help; never none
	Request  *request     `json:"pending_request,omitempty"` // the question, with the answer that it has
	Plan     *view.Rewind `json:"plan,omitempty"`            // what a rewind would do now
	*unasked              // of a prompt that another run keeps from its thread
}

const diskFull = "the disk is full; make room on it"

func (p *problem) Error() string { return p.Detail }

// refuse writes a refusal. What it repeats of a request, such as the path of a folder, may hold a
// secret.
func (s *Server) refuse(w http.ResponseWriter, p *problem) {
	p.Detail = s.o.App.Redacted(p.Detail)
	for i, command := range p.Next {
		p.Next[i] = s.o.App.Redacted(command)
	}
	text := p.text()
	h := w.Header()
	for _, name := range []string{"Content-Disposition", "Content-Length", "Accept-Ranges"} {
		h.Del(name)
	}
	if p.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	h.Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(text) // a client that went away misses it
}

const problemType = "application/problem+json"

// text is a refusal with all that it has.
func (p *problem) text() []byte {
	p.complete()
	text, err := encode(p)
	if err != nil {
		return []byte("{}\n") // a question that was read from JSON can be written as JSON
	}
	return text
}

// unread is the answer to what net/http cannot read as a request. It answers that in words of its
// own, before anybody else sees it: those are put into the form of all refusals. What else is
// written is as it was.
func unread(written []byte) []byte {
	const own = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" // and no other header
	if !bytes.HasPrefix(written, []byte("HTTP/1.1 4")) && !bytes.HasPrefix(written, []byte("HTTP/1.1 5")) {
		return written
	}
	if bytes.HasPrefix(written, []byte("HTTP/1.1 417 ")) {
		return (&problem{Code: "expectation", Detail: "Expect may be 100-continue, and nothing else"}).written()
	}
	first, why, ok := bytes.Cut(written, []byte(own))
	if !ok || bytes.Contains(first, []byte("\n")) {
		return written
	}
	p := &problem{Code: "http", Detail: "this is no request of HTTP/1.1, as where an address has a space, or a % that is not written %25"}
	if _, more, ok := strings.Cut(string(why), "Bad Request: "); ok {
		p.Detail = "this is no request of HTTP/1.1: " + more
	}
	if bytes.HasPrefix(first, []byte("HTTP/1.1 431")) {
		p = &problem{Code: "header_large", Detail: fmt.Sprintf("the address and the headers have more than %d KiB together", mostHeader>>10)}
	}
	return p.written()
}

// written is a refusal with all that goes before it, on a connection that is closed after it.
func (p *problem) written() []byte {
	text := p.text()
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", p.Status, p.Title, problemType, len(text), text)
}

// problemOf is the refusal for an error. What lies behind a fault of ours is for the log.
func (s *Server) problemOf(err error) *problem {
	var known *problem
	var foreign *watch.CursorError
	var closed *app.ConflictError
	var late *app.ExpiredError
	var old *host.OutdatedError
	var held *owner.HeldError
	var behind *app.BehindError
	var refused *refusedError
	p := &problem{Detail: err.Error()}
	set := func(code string) *problem {
		p.Code = code
		return p
	}
	switch {
	case errors.As(err, &known):
		return known
	case notFound(err, p):
		return set("not_found")
	case errors.Is(err, watch.ErrCursor):
		return set("cursor_malformed")
	case errors.As(err, &foreign):
		p.Run = foreign.Run
		return set("cursor_foreign")
	case errors.As(err, &closed):
		p.Run = closed.First.Run
		p.Request = s.request(closed.First)
		return set("answered")
	case errors.As(err, &old):
		p.Run, p.Next = old.Run, []string{"agent resume " + old.Run}
		return set("shape")
	case errors.As(err, &late):
		p.Run = late.Request.Run
		p.Next = []string{"agent resume " + p.Run}
		return set("expired")
	case errors.As(err, new(*host.ResolvedError)):
		return set("resolved")
	case errors.As(err, &held):
		p.Run, p.Next = held.Run, view.NewRefusal(held, held.Run, 0).Next
		return set("held")
	case host.Elsewhere(err):
		return set("held")
	case errors.As(err, &behind):
		p.Detail = "the database is older than the folder around it, so nothing is driven until you decide about that: " + behind.What
		return set("behind")
	case errors.As(err, &refused):
		return launches{s}.refusal(refused)
	case errors.Is(err, watch.ErrClosed), errors.Is(err, host.ErrShutdown):
		p.Detail = "the server is ending"
		return set("ending")
	case errors.Is(err, app.ErrDiskFull), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		p.Detail, p.Next = diskFull, []string{"agent doctor"}
		return set("disk_full")
	case errors.Is(err, app.ErrReadOnly), errors.Is(err, syscall.EROFS):
		p.Detail, p.Next = "the state folder cannot be written", []string{"agent doctor"}
		return set("read_only")
	case errors.As(err, new(*app.CorruptError)):
		p.Detail, p.Next = "the record of this is damaged", []string{"agent doctor"}
		return set("damaged")
	}
	s.log.Error("request failed", "reason", p.Detail)
	p.Detail, p.Next = "this could not be done; the log of the state folder has the reason", []string{"agent doctor"}
	return set("failed")
}

// mustWrite refuses what has to be recorded where nothing can be.
func (s *Server) mustWrite(what, id string) error {
	return s.o.Folder.MustWrite(fmt.Sprintf("%s %s", what, id))
}

// request is a question with what a person is shown.
type request struct {
	view.Request
	Shown string `json:"shown"` // as a terminal shows it: whole, with what cannot be seen by its number
}

// notFound says whether an error is that something is not there, and explains one that is of an id.
func notFound(err error, p *problem) bool {
	if errors.As(err, new(*app.UnknownIDError)) {
		p.Detail = "there is nothing of this id; an id is written whole"
		return true
	}
	return errors.As(err, new(*app.PrunedError))
}
