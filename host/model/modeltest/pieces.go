package modeltest

import (
	"io"
	"math/rand/v2"
	"net/http"
)

// Pieces is a connection that answers with a stream in pieces of any length; rounds of it, one after the other. It serves one
// request.
type Pieces struct {
	Stream string
	Cuts   *rand.Rand // where it is cut; nil: as much at once as is asked for
	Rounds int        // that are left; less than two: the stream once
	Sent   []byte     // the request's body
	rest   string
}

// RoundTrip keeps the request's body and begins the answer.
func (p *Pieces) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	if p.Sent, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	p.rest = p.Stream
	h := http.Header{"Content-Type": {"text/event-stream"}, "Request-Id": {"req_test"}, "X-Request-Id": {"req_test"}}
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Body: io.NopCloser(p), Request: r}, nil
}

// Read gives the next piece.
func (p *Pieces) Read(into []byte) (n int, err error) {
	for n < len(into) {
		if p.rest == "" {
			if p.Rounds--; p.Rounds <= 0 {
				err = io.EOF
				break
			}
			p.rest = p.Stream
		}
		m := len(p.rest)
		if p.Cuts != nil {
			m = 1 + p.Cuts.IntN(min(m, 1+p.Cuts.IntN(40)))
		}
		m = copy(into[n:], p.rest[:m])
		n, p.rest = n+m, p.rest[m:]
		if p.Cuts != nil {
			return n, nil
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, err
}
