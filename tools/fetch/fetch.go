// Package fetch asks servers of the internet over HTTP, and turns what they answer into text.
//
// It connects to no address that leads elsewhere than to the internet, unless a person allowed the
// place: every address is looked at after its name was resolved and again when it is dialled, for
// every request of a chain of redirects. It uses no proxy, no cookies, no stored passwords and no
// client certificate, and bounds time, redirects, headers and bytes, before and after
// decompression.
package fetch

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Options are the same for all requests.
type Options struct {
	Agent   string           // User-Agent
	Private func() []Private // what a person allowed; nothing when nil

	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error) // the system's resolver when nil
	route  func(netip.AddrPort) netip.AddrPort                                   // where a dialled address leads in a test
	own    func() []netip.Prefix                                                 // this machine's addresses
	roots  *x509.CertPool                                                        // the system's when nil
	idle   time.Duration                                                         // idleTime when 0
}

const (
	maxRedirects = 5
	idleTime     = 30 * time.Second // without a byte of the body
)

// Response is what a server answered.
type Response struct {
	Status int // 0: nothing was received
	URL    string
	Header http.Header
	Body   []byte // decompressed
	Cut    bool   // the body goes on
	Broken error  // why the body ended early
	Coded  string // the content coding that is not known here and was left as it is
	Left   string // why a redirect was not followed
	Hops   int    // redirects that were followed
	First  int    // the status of the first response, which is that of the request itself
	Sent   bool   // the request may have left this machine
}

// errTime is the cause of a request that took too long.
var errTime = errors.New("the time is up")

// Do asks the server. The response is never nil: with an error it says how far the request came.
func (o Options) Do(ctx context.Context, r Request) (*Response, error) {
	got := &Response{}
	if err := o.Check(r); err != nil {
		return got, err
	}
	if r.Timeout <= 0 {
		r.Timeout = DefaultTimeout
	}
	if r.MaxBytes <= 0 {
		r.MaxBytes = DefaultBytes
	}
	limit := min(r.Timeout, MaxTimeout)
	timed, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: %s for the whole request", errTime, limit))
	defer cancel()
	u, at, err := Parse(r.URL)
	if err != nil {
		return got, err
	}
	for {
		next, err := o.hop(timed, r, u, at, got)
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			} else if timed.Err() != nil {
				err = context.Cause(timed)
			}
			return got, fmt.Errorf("%s %s: %w", method(r), at, err)
		}
		if next == nil {
			if got.Broken != nil && ctx.Err() != nil { // what came whole counts, even where nobody waits any more
				return got, context.Cause(ctx)
			}
			return got, nil
		}
		u, at = next.url, next.at
		r.Method, r.Body, r.Headers = next.method, "", next.headers
		got.Hops++
	}
}

func method(r Request) string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}

// onward is the request that a redirect leads to.
type onward struct {
	url     *url.URL
	at      Target
	method  string
	headers map[string]string
}

// hop makes one request and reads its response, or says where that leads.
func (o Options) hop(ctx context.Context, r Request, u *url.URL, at Target, got *Response) (*onward, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var sent atomic.Bool
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	}), method(r), u.String(), strings.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	req.GetBody = nil // nothing is sent twice
	if !Writes(r.Method) {
		req.Body = nil
	}
	req.Header = o.header(r)
	t := o.transport(at, Writes(r.Method))
	defer t.CloseIdleConnections()
	res, err := t.RoundTrip(req)
	got.Sent = got.Sent || sent.Load()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, err
	}
	defer res.Body.Close() // it was only read from; nothing can be lost
	got.Status, got.Header, got.URL = res.StatusCode, res.Header, u.String()
	if got.First == 0 {
		got.First = res.StatusCode
	}
	next, left := follow(r, u, at, res, got.Hops)
	if next != nil {
		return next, nil
	}
	got.Left = left
	o.read(ctx, stop, r, res, got)
	return nil, nil
}

// follow says where a response leads, or why it is not followed there. Another host is another
// question to a person; what writes is never sent again (RFC 9110, 15.4).
func follow(r Request, u *url.URL, at Target, res *http.Response, hops int) (*onward, string) {
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, ""
	}
	location := res.Header.Get("Location")
	if location == "" {
		return nil, "it names no place to go on to"
	}
	ref, err := u.Parse(location)
	if err != nil {
		return nil, "the place that it points to cannot be read"
	}
	next, to, err := Parse(ref.String())
	if err != nil {
		return nil, "the place that it points to cannot be used: " + err.Error()
	}
	upgrade := to.scheme == "https" && to.port == 443 && at.scheme == "http" && at.port == 80
	switch {
	case to.host != at.host, to.scheme != at.scheme && !upgrade, to.port != at.port && !upgrade:
		return nil, fmt.Sprintf("it points to %s, which is another place; a call of its own may ask there", next)
	case hops == maxRedirects:
		return nil, fmt.Sprintf("it points to %s; %d redirects were followed before", next, hops)
	}
	on := &onward{url: next, at: to, method: method(r), headers: r.Headers}
	if !Writes(r.Method) {
		return on, ""
	}
	code := res.StatusCode
	asGet := code == http.StatusSeeOther || r.Method == http.MethodPost && (code == http.StatusMovedPermanently || code == http.StatusFound)
	if !asGet {
		return nil, fmt.Sprintf("it asks for the request to be sent again to %s; what writes is not sent twice", next)
	}
	on.method, on.headers = http.MethodGet, map[string]string{}
	for name, value := range r.Headers {
		if !strings.HasPrefix(strings.ToLower(name), "content-") {
			on.headers[name] = value
		}
	}
	return on, ""
}
