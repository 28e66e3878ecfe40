package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"agent/host/model"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// excerptSize is how much of what was not understood may be quoted, in bytes; a message is cut
// shorter.
const excerptSize = 1024

func excerpt(data []byte) string { return string(data[:min(len(data), excerptSize)]) }

// fault is an error in our own words. What they quote of the provider's is made one line without
// secrets, as wire does with a body of text.
func (c *client) fault(f journal.Fault, err error) *model.Error {
	e := transport.Status(0, nil, []byte(err.Error()), c.secrets())
	return &model.Error{Fault: f, Message: e.Message, Err: err}
}

// remedied adds what a person can do about it, unless that is said already.
func (c *client) remedied(e *model.Error) *model.Error {
	if c.o.Remedy != nil && e.Remedy == "" {
		e.Remedy = c.o.Remedy(e.Fault)
	}
	return e
}

// keyless says why there is no key, in the words of who was asked for it.
func (c *client) keyless(ctx context.Context, err error) error {
	var known *model.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known):
		return known
	}
	return c.remedied(&model.Error{Fault: journal.FaultKey, Message: err.Error(), Err: err})
}

// refused says why there is no stream.
func (c *client) refused(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.remedied(transport.Explain(err, false))
}

// broke says why a stream that began is no answer; id is that of the message, where it came.
func (c *client) broke(ctx context.Context, res *http.Response, id string, err error) error {
	var garbage *protocolError
	var unfinished *unfinishedError
	var sent *streamError
	var e *model.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, model.ErrLeft):
		return err
	case errors.As(err, &sent):
		e = c.inStream(res, sent)
	case errors.As(err, &garbage):
		e = c.fault(journal.FaultGarbage, err)
	case errors.As(err, &unfinished):
		e = c.fault(journal.FaultCut, err)
	default:
		e = transport.Explain(err, true)
	}
	e.Began = true
	if e.Origin == "" {
		e.Origin = cmp.Or(requestID(res), id)
	}
	return c.remedied(e)
}

// inStream explains an error event of a stream that began well.
//
// Source: platform.claude.com/docs/en/api/errors.
func (c *client) inStream(res *http.Response, sent *streamError) *model.Error {
	body, err := json.Marshal(map[string]any{
		"type": "error", "request_id": sent.origin,
		"error": map[string]string{"type": sent.kind, "message": sent.message},
	})
	if err != nil {
		panic(err) // strings always encode
	}
	e := transport.Status(res.StatusCode, res.Header, body, c.secrets())
	e.Err = sent
	return e
}

func (c *client) secrets() []string {
	if c.o.Secrets == nil {
		return nil
	}
	return c.o.Secrets()
}
