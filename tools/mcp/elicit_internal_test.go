package mcp

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agent/recovery/journal"
	"agent/tools"
)

// The time that a person takes is not the call's, which has all of its own time behind the answer.
func TestElicitPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = time.Minute
		ctx, limit := newLimit(t.Context(), most)
		defer limit.end()
		person := func(ctx context.Context, _ journal.Question) (json.RawMessage, error) {
			<-time.After(72 * time.Hour)
			return json.RawMessage(`"decline"`), context.Cause(ctx)
		}
		f := &flight{call: tools.Call{Ask: person}, ctx: ctx, limit: limit, ask: make(chan struct{}, 1)}
		<-time.After(most - 1)

		s := newServer(Server{Name: "srv"}, Options{})
		question := &sdk.ElicitRequest{Params: &sdk.ElicitParams{Message: "Who are you?"}}
		answer, err := s.elicit(context.WithValue(ctx, flightKey{}, f), question)
		if err != nil || answer.Action != Decline {
			t.Errorf("%+v %v", answer, err)
		}

		<-time.After(most - 1)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Errorf("the call ended in its time: %v", context.Cause(ctx))
		}
		<-time.After(1)
		synctest.Wait()
		if context.Cause(ctx) != errLimit {
			t.Errorf("behind its time: %v", context.Cause(ctx))
		}
	})
}
