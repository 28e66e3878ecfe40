package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"

	"agent/host/model"
	"agent/host/model/sse"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// parser puts one answer together.
type parser interface {
	// take reads one event and gives what can be shown of it at once.
	take(data []byte, name string) (model.Delta, error)
	// ended says that the answer is whole and nothing of it can follow.
	ended() bool
	// answer is the whole answer, or nil where its end has not come.
	answer() (*model.Answer, error)
}

func (c *client) parser() parser {
	if c.o.Protocol == Responses {
		return &responsesParser{model: c.o.Model}
	}
	return &chatParser{}
}

// read takes the answer out of the stream; it and its errors bear the name that the provider gave
// to the exchange.
func (c *client) read(res *http.Response, yield func(model.Delta, error) bool) (*model.Answer, error) {
	if err := foreign(res.Header); err != nil {
		return nil, err
	}
	answer, err := c.receive(res, yield)
	id := res.Header.Get("X-Request-Id")
	if e, ok := errors.AsType[*model.Error](err); ok && e.Origin == "" {
		e.Origin = id
	}
	if answer != nil && id != "" {
		answer.Origin = id
	}
	return answer, err
}

// receive drains the stream. An answer whose end came is whole whatever happens to the connection
// afterwards; one whose end did not come is none, however much of it there is.
func (c *client) receive(res *http.Response, yield func(model.Delta, error) bool) (*model.Answer, error) {
	first := &opening{from: res.Body}
	pieces := &model.Gather{Body: first, Show: func(d model.Delta) bool { return yield(d, nil) }}
	events, p, began := sse.NewDecoder(pieces), c.parser(), false
	var broke error
	for broke == nil && !p.ended() && events.Next() {
		e := events.Event()
		data := bytes.TrimSpace(e.Data)
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			break
		}
		began = true
		var delta model.Delta
		delta, broke = p.take(data, e.Name)
		pieces.Add(delta)
	}
	if !pieces.Flush() {
		return nil, model.ErrLeft
	}
	if broke != nil {
		return nil, c.broken(broke, res.Header)
	}
	answer, err := p.answer()
	switch {
	case err != nil:
		return nil, c.broken(err, res.Header)
	case answer != nil:
		transport.Drain(first)
		return answer, nil
	case !began && events.Err() == nil && first.foreign():
		return nil, garbage("the server sent no events but text", nil)
	}
	return nil, cut(events.Err(), began)
}

// cut says how a stream without an end ended.
func cut(err error, began bool) error {
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return transport.Explain(err, began)
}

// foreign is the error of a success that is no stream of events. A server that names no type, or a
// bare one, is believed until its first bytes say otherwise.
func foreign(h http.Header) error {
	switch media, _, _ := mime.ParseMediaType(h.Get("Content-Type")); media {
	case "text/event-stream", "", "text/plain", "application/octet-stream":
		return nil
	default:
		return garbage(fmt.Sprintf("the server answered with %s instead of a stream of events", media), nil)
	}
}

func garbage(message string, err error) error {
	return &model.Error{Fault: journal.FaultGarbage, Message: message, Err: err}
}

// decode reads JSON. A field of another type than the protocol's counts as absent: compatible
// servers differ in what nobody needs.
func decode(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// opening keeps the first bytes of a body.
type opening struct {
	from io.Reader
	head []byte
}

func (o *opening) Read(p []byte) (int, error) {
	n, err := o.from.Read(p)
	if len(o.head) < 64 {
		o.head = append(o.head, p[:min(n, 64-len(o.head))]...)
	}
	return n, err
}

// foreign says whether the body cannot have been meant as a stream of events: a line of one has a
// colon behind a word that the format knows, or begins with it.
func (o *opening) foreign() bool {
	head := bytes.TrimSpace(o.head)
	word, _, found := bytes.Cut(head, []byte(":"))
	if !found {
		return len(head) > len("event")
	}
	return !slices.Contains([]string{"", "data", "event", "id", "retry"}, string(word))
}
