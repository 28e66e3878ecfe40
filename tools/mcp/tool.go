package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agent/recovery/journal"
	"agent/tools"
)

// IdempotencyKey is the member of a call's _meta that is the same for every attempt at the same
// call.
const IdempotencyKey = "agent/idempotency-key"

// tool is a server's tool as a run sees it.
type tool struct {
	pinned
	of *lease
}

// Spec describes the tool in the server's words.
func (t *tool) Spec() tools.Spec {
	return tools.Spec{Name: t.name, Description: t.description, Schema: t.schema}
}

// Describe says what was fixed when the list of tools was made. That a call may be repeated is what
// a trusted server says.
func (t *tool) Describe(string, json.RawMessage) tools.Traits {
	return tools.Traits{Effect: t.effect, RetrySafe: t.retrySafe, Outward: t.leads(), Confinement: t.confinement()}
}

// leads names where the call leads, unless a trusted server says that it stays here.
func (t *tool) leads() string {
	if !t.outward {
		return ""
	}
	if u, err := url.Parse(t.of.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return "MCP server " + t.of.Name
}

// confinement is what a yes is bound to beside the arguments: the server's definition, what it said
// of the tool, and the sandbox that it runs in.
func (t *tool) confinement() string {
	return fmt.Sprintf("mcp %s %s %s %s", t.of.Name, t.of.digest()[:16], t.pin.Pin[:16], t.of.o.Level)
}

// Unchecked lets a schema through that cannot be resolved here.
func (t *tool) Unchecked() bool { return t.unchecked }

// digest identifies a definition.
func (s *server) digest() string {
	text, err := json.Marshal(s.Server)
	if err != nil {
		panic(err) // texts always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// flight is a call under way.
type flight struct {
	call  tools.Call
	ctx   context.Context
	limit *limit
	ask   chan struct{} // held by who asks a person
	shown time.Time     // when progress was shown last; guarded by the server's mu
}

// Call has the server carry the call out.
func (t *tool) Call(ctx context.Context, c tools.Call) (journal.Result, error) {
	s := t.of
	l, err := s.ready(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("call MCP server %s: stopped before it was asked: %w", s.Name, context.Cause(ctx))
		} else {
			err = fmt.Errorf("call MCP server %s: %w", s.Name, err)
		}
		return notDone(err)
	}
	if err := s.refuse(t.pinned); err != nil {
		return notDone(err)
	}
	callCtx, limit := newLimit(ctx, s.Server.Call)
	defer limit.end()
	f := &flight{call: c, ctx: callCtx, limit: limit, ask: make(chan struct{}, 1)}
	token := s.takeOff(f)
	defer s.land(token)
	params := &sdk.CallToolParams{
		Meta: sdk.Meta{IdempotencyKey: keyOf(c)}, Name: t.remote, Arguments: c.Args,
	}
	params.SetProgressToken(token)
	res, err := l.session.CallTool(context.WithValue(callCtx, flightKey{}, f), params)
	if err != nil {
		return t.failed(callCtx, l, err)
	}
	s.worked()
	return t.result(c, res), nil
}

// keyOf is the same for every attempt at a call, and for no other call.
func keyOf(c tools.Call) string { return fmt.Sprintf("%s/%d/%d", c.Run, c.Turn, c.Index) }

// notDone is the result of a call that the server was not asked for.
func notDone(err error) (journal.Result, error) {
	return journal.Result{Outcome: journal.OutcomeError, Applied: journal.AppliedNo, How: journal.HowExecuted}, err
}

// failed says what is known of a call that brought no result. What is left open is told from the
// effect by the host: a read did nothing, of anything else nobody knows.
func (t *tool) failed(ctx context.Context, l *live, err error) (journal.Result, error) {
	unknown := journal.Result{Outcome: journal.OutcomeError, How: journal.HowExecuted}
	var answer *jsonrpc.Error
	var dial *net.OpError
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errLimit):
		return unknown, fmt.Errorf("call MCP server %s: it did not answer within %s and was asked to stop; "+
			"timeout in its definition gives it longer", t.of.Name, t.of.Server.Call)
	case ctx.Err() != nil:
		return unknown, fmt.Errorf("call MCP server %s: it was asked to stop before it answered: %w", t.of.Name, context.Cause(ctx))
	case errors.As(err, &answer) && !errors.Is(err, sdk.ErrConnectionClosed) && !ours(answer):
		t.of.worked()
		refused := unknown
		refused.Applied = journal.AppliedYes
		switch answer.Code {
		case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams:
			refused.Applied = journal.AppliedNo // it was not taken up
		}
		if t.effect == journal.EffectRead {
			refused.Applied = journal.AppliedNo
		}
		return refused, fmt.Errorf("MCP server %s answered with an error: %s", t.of.Name, cut(clean(answer.Message), 2000))
	case errors.Is(err, sdk.ErrSessionMissing), errors.As(err, &dial) && dial.Op == "dial":
		t.of.died(l)
		return notDone(fmt.Errorf("call MCP server %s: it did not take the call: %v", t.of.Name, l.explain(ctx, err)))
	}
	t.of.died(l)
	return unknown, fmt.Errorf("call MCP server %s: the connection was lost in the call: %v", t.of.Name, l.explain(ctx, err))
}

// ours says whether an error that looks like a server's answer was made on our side: the SDK words
// so what it could not send or hear. It takes any failed request for one that did not arrive, which
// is not so where the server took it and ended.
func ours(e *jsonrpc.Error) bool {
	const closing, closed, rejected = -32003, -32004, -32005
	return e.Code == closing || e.Code == closed || e.Code == rejected
}

func (s *server) takeOff(f *flight) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	token := fmt.Sprintf("%s-%d", f.call.ID, s.count)
	s.flying[token] = f
	return token
}

func (s *server) land(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.flying, token)
}

// progressPace is how often progress of one call is shown at most.
const progressPace = 100 * time.Millisecond

// progress shows what a server says of a call under way.
func (s *server) progress(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
	token, _ := req.Params.ProgressToken.(string) // any other token is not ours
	s.mu.Lock()
	f, now := s.flying[token], time.Now()
	show := f != nil && now.Sub(f.shown) >= progressPace
	if show {
		f.shown = now
	}
	s.mu.Unlock()
	if !show {
		return
	}
	line := fmt.Sprintf("%g", req.Params.Progress)
	if req.Params.Total > 0 {
		line += fmt.Sprintf(" of %g", req.Params.Total)
	}
	if m := brief(req.Params.Message, 200); m != "" {
		line += " " + m
	}
	f.call.Show([]byte(line + "\n"))
}

// errLimit is why a call ends that takes too long.
var errLimit = errors.New("it took too long")

// limit bounds a call, but for the time in which a person is asked.
type limit struct {
	timer  *time.Timer
	most   time.Duration
	cancel context.CancelCauseFunc
}

func newLimit(ctx context.Context, most time.Duration) (context.Context, *limit) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &limit{timer: time.AfterFunc(most, func() { cancel(errLimit) }), most: most, cancel: cancel}
}

// pause stops the clock; go on begins it anew.
func (l *limit) pause() { l.timer.Stop() }
func (l *limit) goOn()  { l.timer.Reset(l.most) }

func (l *limit) end() {
	l.timer.Stop()
	l.cancel(nil)
}
