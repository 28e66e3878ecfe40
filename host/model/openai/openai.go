// Package openai asks models over the wire protocols of OpenAI: Responses, and Chat Completions for
// OpenAI itself and every server that is compatible with it. Both are streamed. Sources: the API
// reference and the streaming guides of OpenAI as its official Go library has them; what servers do
// differently is said where it is dealt with.
//
// The official library is no part of the program: its types cost every start 1.4 ms and the binary
// 17 MB, and decode a stream at less than half the speed. The tests in scripts/judges compare
// requests and answers with it.
package openai

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"

	"agent/host/model"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// Protocol is how a server is spoken to.
type Protocol string

// The protocols.
const (
	Responses Protocol = "responses"
	Chat      Protocol = "chat"
)

// Options say which model is asked, and how.
type Options struct {
	Model    string // the server's own name of the model
	Protocol Protocol
	BaseURL  string                                // with its /v1; "" for OpenAI's
	Key      func(context.Context) (string, error) // asked at every request; nil, or an empty key, sends none
	HTTP     *http.Client                          // of transport.Client; nil for one with its standard bounds
	Secrets  func() []string                       // taken out of the texts of errors; may be nil
	Remedy   func(journal.Fault) string            // what a person can do about a failure; may be nil
}

// New is the model. Nothing is read from the environment and nothing is asked before the first
// request.
func New(o Options) model.Model {
	if o.HTTP == nil {
		o.HTTP = transport.Client(transport.Options{Secrets: o.Secrets})
	}
	return &client{o: o}
}

type client struct {
	o    Options
	mu   sync.Mutex // of sent
	sent sent
}

// Stream asks once.
func (c *client) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		res, err := c.ask(ctx, req)
		if err != nil {
			yield(model.Delta{}, c.told(ctx, err))
			return
		}
		// The answer is whole or abandoned by then: what closing says changes nothing.
		defer func() { _ = res.Body.Close() }()
		answer, err := c.read(res, yield)
		switch {
		case errors.Is(err, model.ErrLeft):
		case err != nil:
			yield(model.Delta{}, c.told(ctx, err))
		default:
			yield(model.Delta{Answer: answer}, nil)
		}
	}
}

// ask sends the request; a refusal is an error.
func (c *client) ask(ctx context.Context, req model.Request) (*http.Response, error) {
	path, encode := "chat/completions", c.chatBody
	switch c.o.Protocol {
	case Chat:
	case Responses:
		path, encode = "responses", c.responsesBody
	default:
		return nil, &model.Error{Fault: journal.FaultRequest, Message: fmt.Sprintf("%q is no wire protocol: responses and chat are", c.o.Protocol)}
	}
	c.mu.Lock()
	body, err := encode(req)
	c.mu.Unlock()
	if err != nil {
		return nil, &model.Error{Fault: journal.FaultRequest, Message: err.Error(), Err: err}
	}
	key := ""
	if c.o.Key != nil {
		if key, err = c.o.Key(ctx); err != nil {
			return nil, &model.Error{Fault: journal.FaultKey, Message: strings.Join(strings.Fields(err.Error()), " "), Err: err}
		}
	}
	return c.post(transport.WithTurn(ctx, req.Turn), path, key, body)
}

func (c *client) post(ctx context.Context, path, key string, body []byte) (*http.Response, error) {
	base := c.o.BaseURL
	if base == "" {
		base = "https://api.openai.com/v1"
	}
	header := http.Header{}
	if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	res, err := transport.Post(ctx, c.o.HTTP, strings.TrimRight(base, "/")+"/"+path, body, header)
	if err != nil {
		return nil, transport.Explain(err, false)
	}
	return res, nil
}
