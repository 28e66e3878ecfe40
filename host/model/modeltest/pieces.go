package modeltest

import (
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
)

// Pieces is a connection that answers with a stream in pieces of any length; rounds of it, one
// after the other. It serves one request.
type Pieces struct {
	Stream string
	Cuts   *rand.Rand // where it is cut; nil: as much at once as is asked for
	Rounds int        // less than two: the stream once
	Sent   []byte     // the request's body

	mu   sync.Mutex // the end of a body may still be read when the answer is there
	past int        // rounds that were read
	rest string
}

// Past is how many rounds were read to their end.
func (p *Pieces) Past() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.past
}

// RoundTrip keeps the request's body and begins the answer.
func (p *Pieces) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	if p.Sent, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest, p.past = p.Stream, 0
	h := http.Header{"Content-Type": {"text/event-stream"}, "Request-Id": {"req_test"}, "X-Request-Id": {"req_test"}}
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Body: io.NopCloser(p), Request: r}, nil
}

// Read gives the next piece.
func (p *Pieces) Read(into []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n < len(into) {
		if p.rest == "" {
			if p.past++; p.past >= p.Rounds {
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
