// Package openai asks models over the wire protocols of OpenAI: Responses, and Chat Completions for OpenAI itself and every
// server that is compatible with it. Both are streamed. Sources: the API reference and the streaming guides of OpenAI as its
// official Go library has them; what servers do differently is said where it is dealt with.
package openai

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"agent/host/model"
	"agent/host/model/wire"
	"agent/recovery"
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
	HTTP     *http.Client                          // of wire.Client; nil for one with its standard bounds
	Secrets  func() []string                       // taken out of the texts of errors; may be nil
	Remedy   func(recovery.Fault) string           // what a person can do about a failure; may be nil
}

// New is the model. Nothing is read from the environment and nothing is asked before the first request.
func New(o Options) model.Model {
	if o.HTTP == nil {
		o.HTTP = wire.Client(wire.Options{Secrets: o.Secrets})
	}
	// A client that is not made by the library's constructor reads no OPENAI_* variables.
	set := []option.RequestOption{
		option.WithEnvironmentProduction(), option.WithHTTPClient(o.HTTP), option.WithMaxRetries(0),
		option.WithHeader("Accept", "text/event-stream"),
	}
	if o.BaseURL != "" {
		set = append(set, option.WithBaseURL(o.BaseURL))
	}
	return &client{o: o, sdk: sdk.Client{Options: set}}
}

type client struct {
	o   Options
	sdk sdk.Client
}

// Stream asks once.
func (c *client) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		res, err := c.ask(ctx, req)
		if err != nil {
			yield(model.Delta{}, c.told(ctx, err))
			return
		}
		// The answer is whole or given up by then: what closing says changes nothing.
		defer func() { _ = res.Body.Close() }()
		answer, err := c.read(res, yield)
		switch {
		case errors.Is(err, errLeft):
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
		return nil, &model.Error{Fault: recovery.FaultRequest, Message: fmt.Sprintf("%q is no wire protocol: responses and chat are", c.o.Protocol)}
	}
	body, err := encode(req)
	if err != nil {
		return nil, &model.Error{Fault: recovery.FaultRequest, Message: err.Error(), Err: err}
	}
	var opts []option.RequestOption
	if c.o.Key != nil {
		key, err := c.o.Key(ctx)
		if err != nil {
			return nil, &model.Error{Fault: recovery.FaultKey, Message: strings.Join(strings.Fields(err.Error()), " "), Err: err}
		}
		if key != "" {
			opts = append(opts, option.WithAPIKey(key))
		}
	}
	var res *http.Response
	if err := c.sdk.Post(wire.WithTurn(ctx, req.Turn), path, body, &res, opts...); err != nil {
		return nil, wire.Explain(err, false)
	}
	return res, nil
}
