package transport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"agent/host/model"
	"agent/recovery/journal"
)

// recording is what a file of exchanges holds.
type recording struct {
	header Header
	turns  map[int][]exchange
	whole  int64 // bytes up to the end of the last whole line
}

// Replay answers requests from a recording.
type Replay struct {
	path string
	rec  recording

	mu     sync.Mutex
	timing bool
	given  map[string]int // exchanges of a turn, or of a kind of request in it, that were given already
}

// OpenReplay reads a recording. What a process that was killed had begun to write at its end is
// passed over.
func OpenReplay(path string) (*Replay, error) {
	rec, err := readRecording(path)
	if err != nil {
		return nil, fmt.Errorf("replay %s: %w", path, err)
	}
	for turn, list := range rec.turns {
		kept := list[:0]
		for _, x := range list {
			if x.End != endCancelled {
				x.kind = requestKind(x.Method, x.Path, x.Request)
				x.Request = nil
				kept = append(kept, x)
			}
		}
		rec.turns[turn] = kept
	}
	return &Replay{path: path, rec: rec, given: map[string]int{}}, nil
}

func readRecording(path string) (recording, error) {
	rec := recording{turns: map[int][]exchange{}}
	file, err := os.Open(path)
	if err != nil {
		var reason *os.PathError
		if errors.As(err, &reason) {
			err = reason.Err
		}
		return rec, fmt.Errorf("open the recording: %w", err)
	}
	defer closeQuietly(file)
	lines := bufio.NewReader(file)
	for number := 1; ; number++ {
		text, err := lines.ReadBytes('\n')
		torn := errors.Is(err, io.EOF)
		if err != nil && !torn {
			return rec, fmt.Errorf("read the recording: %w", err)
		}
		if torn && len(text) == 0 {
			break
		}
		if number == 1 {
			if err := rec.begin(text); err != nil {
				return rec, err
			}
		} else if torn {
			break
		} else if err := rec.add(text); err != nil {
			return rec, fmt.Errorf("line %d is no exchange: %w", number, err)
		}
		rec.whole += int64(len(text))
	}
	if rec.header.Version == 0 {
		return rec, errors.New("the file is empty")
	}
	return rec, nil
}

func (r *recording) begin(text []byte) error {
	if !unmarshal(text, &r.header) || r.header.Version <= 0 {
		return errors.New("the file is no recording made by agent run --record")
	}
	if r.header.Version > recordingVersion {
		return fmt.Errorf("the recording was made by a newer agent: it has format %d, and this one reads format %d", r.header.Version, recordingVersion)
	}
	return nil
}

func (r *recording) add(text []byte) error {
	var x exchange
	if err := json.Unmarshal(text, &x); err != nil {
		return err
	}
	switch x.End {
	case endEOF, endClosed, endError, endCancelled:
	default:
		return fmt.Errorf("it ends with %q", string(x.End))
	}
	r.turns[x.Turn] = append(r.turns[x.Turn], x)
	return nil
}

// Header says what was recorded.
func (r *Replay) Header() Header { return r.rec.header }

// Timing makes the answers come with the pauses that were recorded, and lets refusals say when to
// ask again.
func (r *Replay) Timing(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timing = on
}

// Transport answers a request of a turn with what was recorded for that turn, in order: first the
// attempts that failed. Behind the last one, the last that had an answer comes again. The position
// comes from the turn that WithTurn names, so a resumed process goes on where the killed one was. A
// turn may have sent requests of several kinds, such as one for a summary: then those are given
// that answered one of the same kind.
func (r *Replay) Transport() http.RoundTripper { return replayed{r} }

type replayed struct{ r *Replay }

// RoundTrip answers without a network.
func (t replayed) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, err := readRequest(req)
	if err != nil {
		return nil, err
	}
	x, timing, err := t.r.next(turnOf(req.Context()), requestKind(req.Method, req.URL.EscapedPath(), sent))
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if x.Status == 0 {
		if err := pause(req.Context(), timing, began, x.Millis); err != nil {
			return nil, err
		}
		return nil, &brokenError{fault: x.Fault, what: x.Error}
	}
	header := http.Header{}
	for name, value := range x.Header {
		if timing || !strings.Contains(name, "retry-after") && !strings.Contains(name, "ratelimit") {
			header.Set(name, value)
		}
	}
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", x.Status, http.StatusText(x.Status)),
		StatusCode:    x.Status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          &replayedBody{ctx: req.Context(), x: x, timing: timing, began: began},
		ContentLength: -1,
		Request:       req,
	}, nil
}

func (r *Replay) next(turn int, kind string) (exchange, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.rec.turns[turn]
	if len(list) == 0 {
		return exchange{}, false, &model.Error{
			Fault:   journal.FaultRequest,
			Message: fmt.Sprintf("replay %s: turn %d is not in the recording, which has %s", r.path, turn, r.rec.extent()),
			Remedy:  "record the run to its end, where it was interrupted with: agent resume --record FILE; or ask a real model",
		}
	}
	key := strconv.Itoa(turn)
	if same := ofKind(list, kind); len(same) > 0 {
		list, key = same, key+" "+kind
	}
	at := r.given[key]
	r.given[key]++
	if at < len(list) {
		return list[at], r.timing, nil
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Status/100 == 2 && list[i].End != endError {
			return list[i], r.timing, nil
		}
	}
	return list[len(list)-1], r.timing, nil
}

func ofKind(list []exchange, kind string) []exchange {
	var same []exchange
	for _, x := range list {
		if x.kind == kind {
			same = append(same, x)
		}
	}
	return same
}

// requestKind is a digest of what a request asks besides its conversation: address, model, system
// prompt, tools, limits.
func requestKind(method, path string, body []byte) string {
	at := strings.LastIndex(path, "/v1/") // a base URL may have a path of its own
	ask := map[string]json.RawMessage{}
	if unmarshal(body, &ask) {
		for _, name := range []string{"messages", "input", "prompt_cache_key", "metadata"} {
			delete(ask, name)
		}
		if text, err := json.Marshal(ask); err == nil {
			body = text
		}
	}
	sum := sha256.Sum256(append([]byte(method+" "+path[max(at, 0):]+"\n"), body...))
	return hex.EncodeToString(sum[:])
}

// extent says how many turns there are.
func (r *recording) extent() string {
	n := 0
	for turn, list := range r.turns {
		if turn > 0 && len(list) > 0 {
			n++
		}
	}
	if n == 1 {
		return "1 turn"
	}
	return fmt.Sprintf("%d turns", n)
}

// pause waits until so long after the beginning.
func pause(ctx context.Context, timing bool, began time.Time, millis int64) error {
	wait := time.Duration(millis)*time.Millisecond - time.Since(began)
	if !timing || wait <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// replayedBody gives the recorded pieces, and ends as they did.
type replayedBody struct {
	ctx    context.Context
	x      exchange
	timing bool
	began  time.Time
	rest   bytes.Reader
}

// Read gives a piece, or the rest of one.
func (b *replayedBody) Read(p []byte) (int, error) {
	for b.rest.Len() == 0 {
		if len(b.x.Pieces) == 0 {
			if err := pause(b.ctx, b.timing, b.began, b.x.Millis); err != nil {
				return 0, err
			}
			if b.x.End == endError {
				return 0, &brokenError{body: true, fault: b.x.Fault, what: b.x.Error}
			}
			return 0, io.EOF
		}
		next := b.x.Pieces[0]
		b.x.Pieces = b.x.Pieces[1:]
		if err := pause(b.ctx, b.timing, b.began, next.Millis); err != nil {
			return 0, err
		}
		b.rest.Reset(next.data())
	}
	return b.rest.Read(p)
}

// Close has nothing to free.
func (b *replayedBody) Close() error { return nil }
