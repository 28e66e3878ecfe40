package transport

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"agent/recovery/journal"
)

// watch cancels an exchange in which a byte is waited for too long.
type watch struct {
	idle, quiet time.Duration
	cancel      context.CancelFunc

	mu     sync.Mutex
	timer  *time.Timer
	wait   int           // counts the waits: a timer that was stopped too late belongs to an earlier one
	from   time.Time     // when the present wait began
	waited time.Duration // since the last byte that was more than a keep-alive
	fired  bool
	ended  time.Duration // the limit that ended the exchange
	alive  bool          // keep-alives came meanwhile
}

func newWatch(idle, quiet time.Duration, cancel context.CancelFunc) *watch {
	return &watch{idle: idle, quiet: quiet, cancel: cancel}
}

// start begins to wait.
func (w *watch) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wait++
	wait := w.wait
	w.from = time.Now()
	limit, shown, alive := w.idle, w.idle, false
	if left := w.quiet - w.waited; left < limit && w.waited > 0 {
		limit, shown, alive = left, w.quiet, true
	}
	w.timer = time.AfterFunc(max(limit, 0), func() { w.fire(wait, shown, alive) })
}

func (w *watch) fire(wait int, limit time.Duration, alive bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil && w.wait == wait {
		w.fired, w.ended, w.alive = true, limit, alive
		w.cancel()
	}
}

// stop ends the wait; false when it had already taken too long.
func (w *watch) stop() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
		w.waited += time.Since(w.from)
	}
	return !w.fired
}

// touch begins the wait anew, if there is one.
func (w *watch) touch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Reset(w.idle)
		w.from, w.waited = time.Now(), 0
	}
}

// content notes that more than a keep-alive came.
func (w *watch) content() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waited = 0
}

// atMost shortens the waits that follow.
func (w *watch) atMost(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle, w.quiet = min(w.idle, d), min(w.quiet, d)
}

// limit is how long was waited when the exchange was ended, and whether keep-alives came meanwhile.
func (w *watch) limit() (waited time.Duration, alive bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended, w.alive
}

// body is an answer's body. Its errors are io.EOF, the request's context error or a *brokenError,
// and stay what they were.
type body struct {
	rc     io.ReadCloser
	req    *http.Request
	t      *transport
	watch  *watch
	cancel context.CancelFunc
	tape   *tape
	left   int64 // bytes that may still come
	lines  lineScan
	some   bool // a byte of content came
	ahead  []byte

	mu  sync.Mutex // Close may come from another goroutine than Read
	err error
}

// decode puts a decompressor before what was sent compressed though nobody asked for it.
func (b *body) decode(resp *http.Response) error {
	switch coding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); coding {
	case "", "identity":
		return nil
	case "gzip", "x-gzip":
		b.rc = &gunzip{src: b.rc}
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength, resp.Uncompressed = -1, true
		return nil
	default:
		return b.fault(journal.FaultGarbage, fmt.Sprintf("the answer is compressed as %q, which was not asked for", line(coding, 40)))
	}
}

// gunzip reads the header only when the first byte is wanted, so that the wait for it is watched.
type gunzip struct {
	src io.ReadCloser
	zr  *gzip.Reader
}

// Read decompresses.
func (g *gunzip) Read(p []byte) (int, error) {
	if g.zr == nil {
		zr, err := gzip.NewReader(g.src)
		if err != nil {
			return 0, err
		}
		g.zr = zr
	}
	return g.zr.Read(p)
}

// Close closes what is read from.
func (g *gunzip) Close() error { return g.src.Close() }

// opens says whether the first byte that is no white space is this one. What it reads to know is
// read again.
func (b *body) opens(with byte) bool {
	buf := make([]byte, 512)
	for len(b.ahead) < largestRefusal {
		n, err := b.next(buf)
		b.ahead = append(b.ahead, buf[:n]...)
		if text := bytes.TrimSpace(b.ahead); len(text) > 0 {
			return text[0] == with
		}
		if err != nil {
			break
		}
	}
	return false
}

// Read gives what comes, within the bounds.
func (b *body) Read(p []byte) (int, error) {
	if len(b.ahead) > 0 {
		n := copy(p, b.ahead)
		b.ahead = b.ahead[n:]
		return n, nil
	}
	return b.next(p)
}

func (b *body) next(p []byte) (int, error) {
	if err := b.ended(); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	b.watch.start()
	n, err := b.rc.Read(p)
	intime := b.watch.stop()
	if int64(n) > b.left {
		return 0, b.finish(b.fault(journal.FaultTooLarge, "the answer is larger than "+bytesText(b.t.o.Largest)))
	}
	if n > 0 {
		b.left -= int64(n)
		b.tape.piece(p[:n])
		if b.lines.take(p[:n]) {
			b.some = true
			b.watch.content()
		}
		if b.lines.length > largestLine {
			return 0, b.finish(b.fault(journal.FaultTooLarge, "a line of the answer is larger than "+bytesText(largestLine)))
		}
	}
	if err == nil {
		return n, nil
	}
	return n, b.finish(b.broken(err, intime))
}

// broken is what an error of the connection, within the answer, is reported as.
func (b *body) broken(err error, intime bool) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	if ctxErr := b.req.Context().Err(); ctxErr != nil {
		return ctxErr
	}
	var known *brokenError
	if errors.As(err, &known) {
		return known // replayed
	}
	e := &brokenError{host: b.req.URL.Host, cause: err, body: true, some: b.some, secrets: b.t.o.Secrets()}
	var corrupt flate.CorruptInputError
	switch {
	case !intime:
		e.stalled, e.alive = b.watch.limit()
	case errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt):
		e.fault, e.what = journal.FaultGarbage, "the answer is no gzip, though its header says so"
	}
	return e
}

func (b *body) fault(f journal.Fault, what string) error {
	return &brokenError{host: b.req.URL.Host, body: true, some: b.some, fault: f, what: what}
}

func (b *body) ended() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// finish keeps the first error and frees the connection.
func (b *body) finish(err error) error {
	b.mu.Lock()
	first := b.err == nil
	if first {
		b.err = err
	}
	err = b.err
	b.mu.Unlock()
	if first {
		b.tape.end(err)
		closeQuietly(b.rc)
		b.cancel()
	}
	return err
}

var errClosed = errors.New("the answer was closed before its end")

// Close gives the connection up, or back when all was read.
func (b *body) Close() error {
	b.finish(errClosed)
	return nil
}
