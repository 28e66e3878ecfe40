package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"agent/host/model"
	"agent/recovery/journal"
)

// The bounds of an exchange where Options name none.
const (
	DefaultIdle    = 2 * time.Minute
	DefaultLargest = 32 << 20
	quietIdles     = 5 // Quiet in Idles

	largestLine    = 8 << 20   // bytes of one line of an event stream
	largestHeader  = 1 << 20   // bytes of an answer's headers
	largestRefusal = 256 << 10 // bytes that are read of an answer that is an error
	refusalWait    = 10 * time.Second
)

// Finder gives the places of what looks like a secret in a text, which may be JSON: in order and
// disjoint, each from its first byte to the one behind its last.
type Finder func(text string) [][2]int

// Options are the bounds of an exchange and where it goes.
type Options struct {
	Idle     time.Duration     // no byte for so long ends the exchange as stalled; 0 means DefaultIdle
	Quiet    time.Duration     // nothing but keep-alives for so long does too; 0 means five times Idle
	Largest  int64             // bytes of one answer; 0 means DefaultLargest
	Agent    string            // the User-Agent; "" means agent
	Secrets  func() []string   // values that are replaced in recordings and error texts; those under 8 bytes are not
	Find     Finder            // of what recordings hide besides; nil: nothing
	Recorder *Recorder         // nil: nothing is recorded
	Base     http.RoundTripper // nil: an own http.Transport
}

func (o Options) withDefaults() Options {
	if o.Idle <= 0 {
		o.Idle = DefaultIdle
	}
	if o.Quiet <= 0 {
		o.Quiet = quietIdles * o.Idle
	}
	if o.Largest <= 0 {
		o.Largest = DefaultLargest
	}
	if o.Agent == "" {
		o.Agent = "agent"
	}
	if o.Secrets == nil {
		o.Secrets = func() []string { return nil }
	}
	if o.Find == nil {
		o.Find = func(string) [][2]int { return nil }
	}
	if o.Base == nil {
		o.Base = baseTransport()
	}
	return o
}

// Client is an HTTP client without a total timeout, whose exchanges are bounded by Idle, Quiet and
// Largest. An answer with a status other than 2xx, a web page, and an answer in one piece that
// should be a stream come back as errors for Explain. It follows no redirect and keeps no cookie.
func Client(o Options) *http.Client {
	return &http.Client{
		Transport:     &transport{o: o.withDefaults()},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// baseTransport asks for no compression: a compressing server or proxy holds back what a stream has
// to show.
func baseTransport() http.RoundTripper {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    15 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: largestHeader,
		ReadBufferSize:         32 << 10, // what came together is shown together
		DisableCompression:     true,
		// A connection that died silently, as in a network that changed, is found before Idle has
		// passed.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// Post sends JSON and asks for a stream of events. The header is what the provider wants besides.
func Post(ctx context.Context, c *http.Client, url string, body []byte, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, &model.Error{Fault: journal.FaultRequest, Message: "the base URL is none: " + err.Error(), Err: err}
	}
	req.Body = &whole{bytes.NewReader(body), body}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", streamType)
	return c.Do(req)
}

// whole is a request's body whose bytes are at hand.
type whole struct {
	*bytes.Reader
	data []byte
}

// Close does nothing.
func (*whole) Close() error { return nil }

type turnKey struct{}

// WithTurn names the run's turn that a request is for: in a recording, and to pick its exchanges
// from one.
func WithTurn(ctx context.Context, turn int) context.Context {
	return context.WithValue(ctx, turnKey{}, turn)
}

// turnOf is the turn that WithTurn named; 0 when none was.
func turnOf(ctx context.Context) int {
	turn, _ := ctx.Value(turnKey{}).(int)
	return turn
}

type transport struct{ o Options }

// RoundTrip sends one request and gives the answer with a bounded body. It returns a *Refused, a
// *brokenError or the request's own context error.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, err := readRequest(req)
	if err != nil {
		return nil, err
	}
	tape := t.o.Recorder.begin(req, sent, t.o)
	ctx, cancel := context.WithCancel(req.Context())
	w := newWatch(t.o.Idle, t.o.Quiet, cancel)
	out := req.Clone(ctx)
	out.Header.Set("Accept-Encoding", "identity")
	out.Header.Set("User-Agent", t.o.Agent)
	if sent != nil {
		out.GetBody = func() (io.ReadCloser, error) {
			return &sending{Reader: bytes.NewReader(sent), touch: w.touch}, nil
		}
		out.Body, err = out.GetBody()
		if err != nil {
			return nil, err
		}
	}
	w.start()
	resp, err := t.o.Base.RoundTrip(out)
	stalled := !w.stop()
	if err != nil {
		cancel()
		broke := t.broken(req, w, stalled, err)
		tape.end(broke)
		return nil, broke
	}
	w.content()
	tape.head(resp)
	stream := req.Header.Get("Accept") == streamType || wantsStream(sent)
	b := &body{rc: resp.Body, req: req, t: t, watch: w, cancel: cancel, tape: tape, left: t.o.Largest}
	b.lines.sse = stream || isStream(resp)
	if err := b.decode(resp); err != nil {
		b.finish(err)
		return nil, err
	}
	resp.Body = b
	if err := t.refusal(req, stream, resp); err != nil {
		return nil, err
	}
	return resp, nil
}

// broken is what an error of the connection, before the answer's headers, is reported as.
func (t *transport) broken(req *http.Request, w *watch, stalled bool, err error) error {
	if ctxErr := req.Context().Err(); ctxErr != nil {
		return ctxErr
	}
	var known *brokenError
	var done *model.Error
	if errors.As(err, &known) || errors.As(err, &done) {
		return err // replayed
	}
	b := &brokenError{host: req.URL.Host, cause: err, secrets: t.o.Secrets()}
	if stalled {
		b.stalled, _ = w.limit()
		return b
	}
	b.fault, b.what = misfit(req, err)
	return b
}

// misfit says what is wrong with the request or with the server's HTTP, where asking again fixes
// nothing; "" for a broken connection. net/http has no types for these errors.
func misfit(req *http.Request, err error) (journal.Fault, string) {
	text := err.Error()
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case has("unsupported protocol scheme"), has("no Host in request URL"):
		return journal.FaultRequest, fmt.Sprintf("the base URL %q is no address that begins with http:// or https://", target(req, ""))
	case has("invalid header field value"):
		return journal.FaultKey, "the key, or another value that goes into a header, holds a character that cannot be sent, such as a line break"
	case has("malformed HTTP"), has("malformed MIME"):
		return journal.FaultGarbage, fmt.Sprintf("what %s answers is no HTTP", req.URL.Host)
	case has("response headers exceeded"):
		return journal.FaultTooLarge, fmt.Sprintf("the headers of %s's answer are larger than %s", req.URL.Host, bytesText(largestHeader))
	}
	return "", ""
}

// readRequest takes the body out of a request: it is written to a recording, and sent again by
// net/http on a new connection when an old one turns out to be closed.
func readRequest(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	if w, ok := req.Body.(*whole); ok {
		return w.data, nil
	}
	sent, err := io.ReadAll(req.Body)
	if closeErr := req.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("read the request's body: %w", err)
	}
	return sent, nil
}

// sending is a request's body that is being sent; each piece that the connection takes proves that
// it is alive.
type sending struct {
	*bytes.Reader
	touch func()
}

// Read hands the connection the next piece.
func (s *sending) Read(p []byte) (int, error) {
	s.touch()
	return s.Reader.Read(p)
}

// Close has nothing to free.
func (s *sending) Close() error { return nil }

// refusal is the error for an answer that is none, with its body read and closed; nil for a true
// one.
func (t *transport) refusal(req *http.Request, stream bool, resp *http.Response) error {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // what cannot be parsed is no type known here
	r := &Refused{Status: resp.StatusCode, Header: resp.Header, Host: req.URL.Host, secrets: t.o.Secrets()}
	b := resp.Body.(*body)
	switch {
	case resp.StatusCode/100 != 2:
		if loc := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && loc != "" {
			r.Location = target(req, loc)
		}
	case media == "text/html":
		r.page = true
	case media == "application/json" && stream && b.opens('{'):
		r.whole = true
	default:
		return nil
	}
	b.watch.atMost(refusalWait)
	// What came is enough to tell the refusal by its status; why no more came adds nothing.
	r.Body, _ = io.ReadAll(io.LimitReader(b, largestRefusal))
	closeQuietly(b)
	if ctxErr := req.Context().Err(); ctxErr != nil {
		return ctxErr
	}
	return r
}

// closeQuietly closes a body that nobody reads on; the error of a connection that is abandoned
// tells nobody anything.
func closeQuietly(c io.Closer) { _ = c.Close() }

// target is where a redirect leads, without what may be secret in it.
func target(req *http.Request, location string) string {
	u, err := req.URL.Parse(location)
	if err != nil {
		return "an address that is none"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// streamType is what Post asks for: its bodies, which may be large, need not be read to know.
const streamType = "text/event-stream"

// wantsStream says that the request asked for its answer as a stream.
func wantsStream(sent []byte) bool {
	var ask struct {
		Stream bool `json:"stream"`
	}
	return unmarshal(sent, &ask) && ask.Stream
}

func isStream(resp *http.Response) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Type"))), "text/event-stream")
}
