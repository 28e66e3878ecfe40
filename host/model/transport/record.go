package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"agent/recovery/journal"
)

// recordingVersion is the format that is written, and the newest that is read.
const recordingVersion = 1

// Header is the first line of a recording.
type Header struct {
	Version  int       `json:"agent_recording"`
	Run      string    `json:"run,omitempty"` // whose exchanges it holds
	Model    string    `json:"model"`
	Provider string    `json:"provider"`           // wire protocol, as in journal.Setup
	BaseURL  string    `json:"base_url,omitempty"` // without user and query
	Created  time.Time `json:"created"`
}

// exchange is any other line: one request and what came of it.
type exchange struct {
	Turn     int               `json:"turn"`    // of the run; 0 when the request was for none
	Attempt  int               `json:"attempt"` // of the turn, from 1
	Method   string            `json:"method"`
	Path     string            `json:"path"`              // without a query
	Request  json.RawMessage   `json:"request,omitempty"` // the body; a string where it is no JSON
	Status   int               `json:"status,omitempty"`  // 0 when no answer began
	Header   map[string]string `json:"header,omitempty"`
	Pieces   []piece           `json:"pieces,omitempty"`
	End      ending            `json:"end"`
	Millis   int64             `json:"ms"`                 // from the request to the end
	Fault    journal.Fault     `json:"fault,omitempty"`    // with end error
	Error    string            `json:"error,omitempty"`    // with end error
	Replaced int               `json:"replaced,omitempty"` // secrets that were replaced

	kind string // of its request
}

// piece is what one read of the answer gave.
type piece struct {
	Millis int64  `json:"ms"` // since the request
	Text   string `json:"text,omitempty"`
	Bytes  []byte `json:"base64,omitempty"` // instead of Text, where it is no UTF-8
}

func (p piece) data() []byte {
	if len(p.Bytes) > 0 {
		return p.Bytes
	}
	return []byte(p.Text)
}

// ending says how an exchange ended.
type ending string

const (
	endEOF       ending = "eof"       // the answer came to its end
	endClosed    ending = "closed"    // whoever read it had enough
	endError     ending = "error"     // with a fault
	endCancelled ending = "cancelled" // the request was aborted here; it is not replayed
)

// Recorder writes the exchanges of one run to a file. A nil Recorder records nothing.
type Recorder struct {
	path string

	mu       sync.Mutex
	file     *os.File
	attempts map[int]int
	err      error
}

// NewRecorder makes the recording at path, readable for its owner only. A file that is there
// already is refused, unless it is a recording of the same run, which a resumed run goes on with:
// an exchange that a killed process had begun to write is cut off.
func NewRecorder(path string, h Header) (*Recorder, error) {
	h.Version, h.BaseURL = recordingVersion, bareURL(h.BaseURL)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return appendTo(path, h)
	}
	if err != nil {
		return nil, fmt.Errorf("make the recording: %w", err)
	}
	r := &Recorder{path: path, file: file, attempts: map[int]int{}}
	text, err := encode(h)
	if err == nil {
		_, err = r.file.Write(text)
	}
	if err != nil {
		closeQuietly(file)
		// What was made a moment ago holds nothing; the error of making it is the one that tells.
		_ = os.Remove(path)
		return nil, fmt.Errorf("make the recording: %w", err)
	}
	return r, nil
}

// appendTo goes on with a recording of the same run.
func appendTo(path string, h Header) (*Recorder, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("make the recording: %w", err)
	}
	there := fmt.Errorf("make the recording: %s is there already: name a new file, or remove it", path)
	if !info.Mode().IsRegular() || h.Run == "" {
		return nil, there
	}
	old, err := readRecording(path)
	if err != nil || old.header.Run != h.Run {
		return nil, there
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("go on with the recording: %w", err)
	}
	r := &Recorder{path: path, file: file, attempts: map[int]int{}}
	for turn, list := range old.turns {
		r.attempts[turn] = len(list)
	}
	err = file.Truncate(old.whole)
	if err == nil {
		_, err = file.Seek(old.whole, io.SeekStart)
	}
	if err != nil {
		closeQuietly(file)
		return nil, fmt.Errorf("go on with the recording %s: %w", path, err)
	}
	return r, nil
}

// bareURL is an address without what may be secret in it.
func bareURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// Err is why the recording is not complete; nil while it is. The run goes on without it.
func (r *Recorder) Err() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close makes the recording durable. It returns what Err does, or why it is not durable.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return r.err
	}
	err := r.file.Sync()
	if closeErr := r.file.Close(); err == nil {
		err = closeErr
	}
	r.file = nil
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("record the exchange in %s: %w", r.path, err)
	}
	return r.err
}

// tape is an exchange that is being recorded. A nil tape records nothing.
type tape struct {
	r       *Recorder
	ctx     context.Context
	began   time.Time
	secrets func() []string
	find    Finder

	mu   sync.Mutex
	done bool
	sent []byte
	x    exchange
}

func (r *Recorder) begin(req *http.Request, sent []byte, o Options) *tape {
	if r == nil {
		return nil
	}
	return &tape{r: r, ctx: req.Context(), began: time.Now(), secrets: o.Secrets, find: o.Find, sent: sent,
		x: exchange{Turn: turnOf(req.Context()), Method: req.Method, Path: req.URL.EscapedPath()}}
}

func (t *tape) head(resp *http.Response) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.x.Status = resp.StatusCode
	for name, values := range resp.Header {
		lower := strings.ToLower(name)
		if len(values) == 0 || !kept(lower) {
			continue
		}
		if t.x.Header == nil {
			t.x.Header = map[string]string{}
		}
		t.x.Header[lower] = values[0]
		if lower == "location" {
			t.x.Header[lower] = bareURL(values[0])
		}
	}
}

// kept says which of the answer's headers are recorded: those that tell what it is and when to ask
// again.
func kept(lower string) bool {
	switch lower {
	case "content-type", "date", "location", "request-id", "retry-after", "retry-after-ms", "x-request-id":
		return true
	}
	return strings.HasPrefix(lower, "x-ratelimit-") || strings.HasPrefix(lower, "anthropic-ratelimit-")
}

func (t *tape) piece(p []byte) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.x.Pieces = append(t.x.Pieces, piece{Millis: time.Since(t.began).Milliseconds(), Bytes: bytes.Clone(p)})
}

// end writes the exchange.
func (t *tape) end(err error) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return
	}
	t.done = true
	t.x.Millis = time.Since(t.began).Milliseconds()
	switch {
	case t.ctx.Err() != nil && !errors.Is(err, io.EOF):
		t.x.End = endCancelled
	case errors.Is(err, io.EOF):
		t.x.End = endEOF
	case errors.Is(err, errClosed):
		t.x.End = endClosed
	default:
		e := Explain(err, false)
		t.x.End, t.x.Fault, t.x.Error = endError, e.Fault, e.Message
	}
	t.x.seal(t.sent, newHider(t.secrets()), t.find)
	t.r.keep(t.x)
}

// keep appends an exchange. After an error nothing more is written: a line that broke off is the
// last one, which a replay passes over.
func (r *Recorder) keep(x exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || r.file == nil {
		return
	}
	x.Attempt = r.attempts[x.Turn] + 1
	text, err := encode(x)
	if err == nil {
		_, err = r.file.Write(text)
	}
	if err != nil {
		r.err = fmt.Errorf("record the exchange in %s: %w", r.path, err)
		return
	}
	r.attempts[x.Turn]++
}

// seal replaces the secrets and gives request and pieces their form in the file. What the finder
// finds is replaced where it stands only, and known secrets wherever they stand: a password that is
// a word may be one of the protocol's too.
func (x *exchange) seal(sent []byte, h *hider, find Finder) {
	hide := func(s string) string {
		found := merged(append(h.find(s), spans(find(s), 0)...))
		x.Replaced += len(found)
		return replaced(s, found)
	}
	x.Path, x.Error = hide(x.Path), hide(x.Error)
	for name, value := range x.Header {
		x.Header[name] = hide(value)
	}
	if len(sent) > 0 {
		text := hide(string(sent))
		x.Request = json.RawMessage(text)
		if !json.Valid(x.Request) {
			x.Request, _ = json.Marshal(text) // a string always has a spelling
		}
	}
	x.hidePieces(h, find)
	for i, p := range x.Pieces {
		if utf8.Valid(p.Bytes) {
			x.Pieces[i].Text, x.Pieces[i].Bytes = string(p.Bytes), nil
		}
	}
}

// hidePieces replaces what is secret in the answer, also where it came in several pieces or events.
func (x *exchange) hidePieces(h *hider, find Finder) {
	var whole strings.Builder
	for _, p := range x.Pieces {
		whole.Write(p.Bytes)
	}
	text := whole.String()
	found := merged(append(h.find(text), findInAnswer(text, h, find)...))
	if len(found) == 0 {
		return
	}
	for _, f := range found {
		if !f.rest {
			x.Replaced++
		}
	}
	from, next := 0, 0
	for i := range x.Pieces {
		to := from + len(x.Pieces[i].Bytes)
		var out []byte
		for at := from; at < to; {
			if next == len(found) || found[next].from >= to {
				out = append(out, text[at:to]...)
				break
			}
			f := found[next]
			if f.from >= at {
				out = append(out, text[at:f.from]...)
				if !f.rest {
					out = append(out, hidden...)
				}
			}
			at = f.to
			if f.to <= to {
				next++
			}
		}
		x.Pieces[i].Bytes = out
		from = to
	}
}
