package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxRedirects is how often a server may send a request on, within its own host.
const maxRedirects = 5

// newHTTP is the transport to a server at an address. The client is the server's alone.
func newHTTP(s Server) (*sdk.StreamableClientTransport, *http.Client) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	c := &http.Client{
		Transport: &bounded{next: t, headers: s.Headers},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			from := via[0].URL
			if req.URL.Scheme != from.Scheme || req.URL.Host != from.Host {
				return fmt.Errorf("it redirects to another host, %s, which nobody named", brief(req.URL.Host, 100))
			}
			if len(via) > maxRedirects {
				return errors.New("it redirects in circles")
			}
			return nil
		},
	}
	return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: c, MaxEventSize: maxMessage}, c
}

// bounded sends a server's own headers and bounds what comes back.
type bounded struct {
	next    http.RoundTripper
	headers []Pair
}

// RoundTrip sends a request. A redirect to another host never comes here.
func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for _, h := range b.headers {
		req.Header.Set(h.Name, h.Value)
	}
	res, err := b.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		kind = "" // what cannot be read is bounded as a single message
	}
	if kind == "text/event-stream" {
		res.Body = &paced{ReadCloser: res.Body, stop: req.Context().Done()}
	} else {
		res.Body = &limited{ReadCloser: res.Body, left: maxMessage}
	}
	return res, nil
}

// limited is a body of one message.
type limited struct {
	io.ReadCloser
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= n; l.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// paced is a body of events, one message each at most: who sends them faster than maxPace waits.
type paced struct {
	io.ReadCloser
	pace pace
	stop <-chan struct{}
}

// Read reads little at once, so that few events get past while the pace is kept.
func (b *paced) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), 16<<10)])
	for range bytes.Count(p[:n], []byte("data:")) {
		b.pace.wait(b.stop)
	}
	return n, err
}

// local says whether an address is on this machine.
func local(address string) bool {
	u, err := url.Parse(address)
	return err == nil && loopback(u.Hostname())
}
