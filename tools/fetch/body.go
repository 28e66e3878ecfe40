package fetch

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// read takes the response's body, up to the bound, and says what is missing of it.
func (o Options) read(ctx context.Context, stop context.CancelCauseFunc, r Request, res *http.Response, got *Response) {
	limit := min(r.MaxBytes, MaxBytes)
	idle := o.idle
	if idle == 0 {
		idle = idleTime
	}
	watch := time.AfterFunc(idle, func() { stop(fmt.Errorf("%w: no byte for %s", errTime, idle)) })
	defer watch.Stop()
	// A compressed body may hold any number of bytes that give none; what cannot be compressed is a
	// little longer.
	raw := &meter{r: res.Body, left: limit + limit/8 + 64<<10, seen: func() { watch.Reset(idle) }}
	plain, err := decompressed(raw, res.Header, got)
	if err == nil {
		got.Body, err = io.ReadAll(io.LimitReader(plain, limit+1))
	}
	if int64(len(got.Body)) > limit {
		got.Body, got.Cut, err = got.Body[:limit], true, nil
	}
	if errors.Is(err, errMeter) {
		got.Cut, err = true, nil
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	got.Broken = err
}

// errMeter ends the reading of a body beyond its bound.
var errMeter = errors.New("the body goes on beyond its bound")

// meter bounds what is read, and tells of each byte that came.
type meter struct {
	r    io.Reader
	left int64
	seen func()
}

// Read reads on within the bound.
func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, errMeter
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.left)])
	if m.left -= int64(n); n > 0 {
		m.seen()
	}
	return n, err
}

// decompressed undoes the content coding that was asked for (RFC 9110, 8.4). What is called deflate
// comes with and without zlib's frame.
func decompressed(r io.Reader, h http.Header, got *Response) (io.Reader, error) {
	coding := strings.ToLower(strings.TrimSpace(strings.Join(h.Values("Content-Encoding"), ",")))
	switch coding {
	case "", "identity":
		return r, nil
	case "gzip", "x-gzip", "deflate":
	default:
		got.Coded = coding
		return r, nil
	}
	b := bufio.NewReader(r)
	head, err := b.Peek(2)
	if errors.Is(err, io.EOF) && len(head) == 0 {
		return b, nil // an empty body needs no coding
	}
	if coding != "deflate" {
		return gzip.NewReader(b)
	}
	if len(head) == 2 && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}
