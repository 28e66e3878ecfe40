package anthropic

import (
	"cmp"
	"context"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"

	"agent/host/model"
	"agent/host/model/sse"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// Options says how a model is asked. Nothing else does: no variable of the environment is read.
type Options struct {
	Model   string                                // the provider's own name, such as claude-sonnet-4-5
	BaseURL string                                // "" for the provider's own; "/v1/messages" follows it
	Key     func(context.Context) (string, error) // asked at every request; its error is shown as it is
	HTTP    *http.Client                          // from transport.Client
	Secrets func() []string                       // taken out of error texts; may be nil
	Remedy  func(journal.Fault) string            // what a person can do about it; may be nil
}

// New is a model asked over the Messages API.
func New(o Options) model.Model {
	if o.BaseURL == "" {
		o.BaseURL = "https://api.anthropic.com"
	}
	o.BaseURL = strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1")
	return &client{o: o, encoder: encoder{name: o.Model}}
}

type client struct {
	o       Options
	encoder encoder
}

// Stream sends the request once.
func (c *client) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		left := false
		answer, err := c.ask(ctx, req, func(d model.Delta) bool {
			left = !yield(d, nil)
			return !left
		})
		switch {
		case left:
		case err != nil:
			yield(model.Delta{}, err)
		default:
			yield(model.Delta{Answer: answer}, nil)
		}
	}
}

// apiVersion is the version of the API whose events are read here. Every request must name one.
//
// Source: platform.claude.com/docs/en/api/versioning.
const apiVersion = "2023-06-01"

func (c *client) ask(ctx context.Context, req model.Request, show func(model.Delta) bool) (*model.Answer, error) {
	key, err := c.o.Key(ctx)
	if err != nil {
		return nil, c.keyless(ctx, err)
	}
	enc, err := c.encoder.encode(req)
	if err != nil {
		return nil, c.remedied(c.fault(journal.FaultRequest, err))
	}
	header := http.Header{"Anthropic-Version": {apiVersion}}
	if key = strings.TrimSpace(key); key != "" {
		header.Set("X-Api-Key", key)
	}
	res, err := transport.Post(transport.WithTurn(ctx, req.Turn), c.o.HTTP, c.o.BaseURL+"/v1/messages", enc.body, header)
	if err != nil {
		return nil, c.refused(ctx, err)
	}
	defer res.Body.Close()
	var a assembly
	if err = a.read(res, show); err == nil {
		transport.Drain(res.Body)
		var answer *model.Answer
		if answer, err = a.answer(enc.prefix); err == nil {
			if id := requestID(res); id != "" {
				answer.Origin = id
			}
			return answer, nil
		}
	}
	return nil, c.broke(ctx, res, a.id, err)
}

func requestID(res *http.Response) string { return res.Header.Get("Request-Id") }

// read takes the events of the stream up to the one that ends it.
func (a *assembly) read(res *http.Response, show func(model.Delta) bool) error {
	if kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err == nil && kind != "text/event-stream" {
		// Whatever cannot be read of it is only missing in the message.
		start, _ := io.ReadAll(io.LimitReader(res.Body, excerptSize))
		return broken("the answer is %s and not a stream of events: %s", kind, excerpt(start))
	}
	pieces := &model.Gather{Body: res.Body, Show: show}
	events := sse.NewDecoder(pieces)
	var err error
	for err == nil && !a.ended && events.Next() {
		var d model.Delta
		e := events.Event()
		d, err = a.take(e.Name, e.Data)
		pieces.Add(d)
	}
	if !pieces.Flush() {
		return model.ErrLeft
	}
	switch err = cmp.Or(err, events.Err()); {
	case a.ended:
		return nil
	case err != nil:
		return err
	}
	return &unfinishedError{"the stream ended in the middle of the answer"}
}
