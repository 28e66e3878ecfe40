package modeltest

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// sending is one answer on its way.
type sending struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	d      dialect
	say    *answer
	number int
}

func (o *sending) json(status int, v any, h http.Header) {
	for k, values := range h {
		o.w.Header()[k] = values
	}
	text := marshal(v)
	o.w.Header().Set("Content-Type", "application/json")
	o.w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	o.server.note(o.number, func(e *Exchange) { e.Status, e.Sent = status, int64(len(text)) })
	o.w.WriteHeader(status)
	// A client that is gone is no trouble of the server.
	_, _ = o.w.Write([]byte(text))
}

func (o *sending) refuse(bad *refusal, more http.Header) {
	body, h := o.d.refuse(bad, "req_01"+identity("req", o.server.base+o.number, 0, 20))
	for k, v := range more {
		h[k] = v
	}
	o.json(bad.status, body, h)
}

// instead does what a fault does in place of a stream; false when there is to be one.
func (o *sending) instead(f Fault) bool {
	h := http.Header{}
	if f.After > 0 {
		h.Set("Retry-After", strconv.FormatFloat(f.After, 'f', -1, 64))
	}
	switch f.Kind {
	case BadKey:
		key, _ := o.server.keyed(o.r)
		o.refuse(unauthorized(key), h)
	case Payment:
		o.refuse(&refusal{status: 402, code: "402", message: "This request requires more credits, or fewer max_tokens."}, h)
	case Page:
		text := "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n"
		o.w.Header().Set("Content-Type", "text/html")
		o.server.note(o.number, func(e *Exchange) { e.Status = 502 })
		o.w.WriteHeader(502)
		_, _ = o.w.Write([]byte(text)) // as in json
	case Drop:
		o.reset()
	default:
		bad := o.d.trouble(f.Kind, o.say)
		if bad == nil {
			return false
		}
		o.refuse(bad, h)
	}
	return true
}

// reset breaks the connection with a RST.
func (o *sending) reset() {
	conn, _, err := http.NewResponseController(o.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if t, ok := conn.(*net.TCPConn); ok {
		// Without it the connection is closed in order, which tests see.
		_ = t.SetLinger(0)
	}
	_ = conn.Close() // it is broken on purpose
}

// write sends and flushes; false when the client is gone.
func (o *sending) write(b []byte) bool {
	n, err := o.w.Write(b)
	o.server.note(o.number, func(e *Exchange) { e.Sent += int64(n) })
	if err != nil || o.r.Context().Err() != nil {
		return false
	}
	return http.NewResponseController(o.w).Flush() == nil
}

// stream sends the events, and does what the fault does at its position.
func (o *sending) stream(f Fault) {
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	_, ids := o.d.refuse(&refusal{status: 200}, "req_01"+identity("req", o.server.base+o.number, 0, 20))
	for k, v := range ids {
		h[k] = v
	}
	s := o.d.render(o.say)
	body := s.body.Bytes()
	o.server.note(o.number, func(e *Exchange) { e.Status, e.Ends = 200, s.ends })
	o.w.WriteHeader(200)
	if http.NewResponseController(o.w).Flush() != nil {
		return
	}
	at := len(body)
	if f.Kind != "" {
		if at = f.At; at < 0 {
			at += len(body)
		}
		if f.Kind == Flood || f.Kind == BadEvent && at == 0 {
			at = s.textAt
		}
		at = f.Kind.between(min(max(at, 0), len(body)), s.ends)
	}
	if !o.events(body[:at], s.ends) || f.Kind == "" {
		return
	}
	if o.strike(f, s) {
		o.events(body[at:], nil)
	}
}

// between moves a position to the end of the event that it is in, for what comes as an event of its
// own.
func (k Kind) between(at int, ends []int) int {
	switch k {
	case Pings, Flood, BadEvent, ErrorEvent:
		for _, e := range ends {
			if at > 0 && e >= at {
				return e
			}
		}
	}
	return at
}

// events sends bytes event by event, as a provider does; long bodies in larger pieces, so that the
// server is not what is measured.
func (o *sending) events(body []byte, ends []int) bool {
	const large = 256 << 10
	from := 0
	for _, e := range ends {
		if e >= len(body) {
			break
		}
		if len(body) > large && e-from < 8<<10 {
			continue
		}
		if !o.write(body[from:e]) {
			return false
		}
		from = e
	}
	return from == len(body) || o.write(body[from:])
}

// strike does what a fault does at its position. It says whether the rest is still to be sent.
func (o *sending) strike(f Fault, s *stream) (rest bool) {
	own := &stream{named: s.named, textIndex: s.textIndex, seq: s.seq}
	switch f.Kind {
	case Hold:
		return o.hold()
	case Reset:
		o.reset()
	case Cut:
		panic(http.ErrAbortHandler)
	case Stall:
		o.untilGone()
	case Pings:
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		o.repeat(0, func() []byte {
			<-tick.C
			own.body.Reset()
			o.d.ping(own)
			return own.body.Bytes()
		})
	case Garbage:
		noise := bytes.Repeat([]byte("\x00\xff<garbage>{]\n\n"), 512)
		o.repeat(f.Size, func() []byte { return noise })
	case Line:
		noise := bytes.Repeat([]byte("x"), 32<<10)
		if o.write([]byte("data: ")) {
			o.repeat(f.Size, func() []byte { return noise })
		}
	case Flood:
		text := strings.Repeat("word ", 1000)
		return o.repeat(f.Size, func() []byte { own.body.Reset(); o.d.more(own, o.say, text); return own.body.Bytes() }) && f.Size > 0
	case BadEvent:
		own.body.WriteString("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\n\n")
		return o.write(own.body.Bytes())
	case ErrorEvent:
		o.d.errorEvent(own)
		o.write(own.body.Bytes())
	}
	return false
}

// repeat sends size bytes, or for ever when it is 0. It says whether the client is still there.
func (o *sending) repeat(size int64, next func() []byte) bool {
	for sent := int64(0); size == 0 || sent < size; {
		b := next()
		if !o.write(b) {
			return false
		}
		sent += int64(len(b))
	}
	return true
}

func (o *sending) untilGone() {
	select {
	case <-o.r.Context().Done():
	case <-o.server.closed:
	}
}
