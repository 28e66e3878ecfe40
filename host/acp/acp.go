// Package acp is the window of an editor: the Agent Client Protocol, version 1, over standard input
// and output (https://agentclientprotocol.com).
//
// A session is a thread. A prompt is a run in it, driven by a process of its own that goes on
// whatever becomes of the editor or of this process: only session/cancel ends it. What an editor
// sees comes from the journal and the live file, as for every window, and is cleaned of secrets.
package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	protocol "github.com/coder/acp-go-sdk"

	"agent/host"
	"agent/host/app"
	"agent/host/carry"
)

// Options are what the window stands on.
type Options struct {
	App     *app.App
	Folder  *app.Folder
	Carrier carry.Carrier
	Version string
}

// editor is one connection.
type editor struct {
	Options
	ctx  context.Context // ends with the connection
	conn *protocol.Connection

	mu       sync.Mutex
	sessions map[protocol.SessionId]*session
	name     string // of the editor, as it says
	watching sync.WaitGroup
	order    order
}

// Serve speaks with an editor until that closes the connection, or until ctx ends. Runs go on.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	e := &editor{Options: o, ctx: ctx, sessions: map[protocol.SessionId]*session{}}
	e.order.changed.L = &e.order.mu
	w := &lines{to: out, order: &e.order}
	from, give := io.Pipe()
	e.conn = protocol.NewConnection(e.handle, w, from)
	e.conn.SetLogger(slog.New(slog.DiscardHandler)) // it would log what was said, which may be secret
	read := make(chan error, 1)
	go func() { read <- w.check(in, give) }()
	var err error
	select {
	case err = <-read:
	case <-e.conn.Done():
	case <-ctx.Done():
	}
	_ = from.Close() // nobody reads any more
	e.order.end()
	stop()
	over := make(chan struct{})
	go func() {
		e.watching.Wait()
		close(over)
	}()
	late := time.NewTimer(lastWords)
	defer late.Stop()
	select {
	case <-over:
	case <-late.C: // an editor that takes nothing any more keeps nobody
	}
	return err
}

// lastWords is how long an editor may take for what is on its way to it.
const lastWords = time.Second

// handle carries out what the editor asks for or says. No error of it holds a secret.
func (e *editor) handle(ctx context.Context, method string, params json.RawMessage) (any, *protocol.RequestError) {
	r, err := e.carryOut(ctx, method, params)
	if err != nil {
		err.Message = e.App.Redacted(err.Message)
	}
	return r, err
}

func (e *editor) carryOut(ctx context.Context, method string, params json.RawMessage) (any, *protocol.RequestError) {
	switch method {
	case protocol.AgentMethodSessionPrompt:
		ctx, begun := e.order.prompt(ctx)
		defer begun()
		return answered(ctx, params, e.prompt)
	case protocol.AgentMethodSessionCancel:
		defer e.order.told()
		return answered(ctx, params, e.cancel)
	case protocol.AgentMethodInitialize:
		return answered(ctx, params, e.initialize)
	case protocol.AgentMethodAuthenticate:
		return nil, protocol.NewInvalidRequest("there is no login here: agent help models says where a key is taken from")
	case protocol.AgentMethodSessionNew:
		return answered(ctx, params, e.newSession)
	case protocol.AgentMethodSessionLoad:
		return answered(ctx, params, e.loadSession)
	case protocol.AgentMethodSessionResume:
		return answered(ctx, params, e.resumeSession)
	case protocol.AgentMethodSessionList:
		return answered(ctx, params, e.listSessions)
	case protocol.AgentMethodSessionSetMode:
		return answered(ctx, params, e.setMode)
	case protocol.AgentMethodSessionSetConfigOption:
		return answered(ctx, params, e.setOption)
	}
	return nil, protocol.NewMethodNotFound(method)
}

// checked is a request that can say what is wrong with it.
type checked[P any] interface {
	*P
	Validate() error
}

// answered reads the parameters of a method, and carries it out.
func answered[P, R any, C checked[P]](ctx context.Context, params json.RawMessage, do func(context.Context, P) (R, error)) (any, *protocol.RequestError) {
	var p P
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, protocol.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	if err := C(&p).Validate(); err != nil {
		return nil, protocol.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	r, err := do(ctx, p)
	var refused *protocol.RequestError
	switch {
	case err == nil:
		return r, nil
	case errors.As(err, &refused):
		return nil, refused
	case ctx.Err() != nil:
		return nil, protocol.NewRequestCancelled(nil)
	}
	return nil, &protocol.RequestError{Code: -32603, Message: err.Error()}
}

// wrong refuses what was asked for.
func wrong(format string, args ...any) error {
	return &protocol.RequestError{Code: -32602, Message: fmt.Sprintf(format, args...)}
}

func (e *editor) initialize(_ context.Context, p protocol.InitializeRequest) (protocol.InitializeResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p.ClientInfo != nil {
		e.name = p.ClientInfo.Name
	}
	title := "agent"
	return protocol.InitializeResponse{
		ProtocolVersion: protocol.ProtocolVersionNumber,
		AgentInfo:       &protocol.Implementation{Name: "agent", Title: &title, Version: e.Version},
		AuthMethods:     []protocol.AuthMethod{},
		AgentCapabilities: protocol.AgentCapabilities{
			LoadSession:        true,
			PromptCapabilities: protocol.PromptCapabilities{Image: true, EmbeddedContext: true},
			SessionCapabilities: protocol.SessionCapabilities{
				List: &protocol.SessionListCapabilities{}, Resume: &protocol.SessionResumeCapabilities{},
			},
		},
	}, nil
}

// by is who acts: the user, through the editor.
func (e *editor) by() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := e.name
	if name == "" {
		name = "unnamed"
	}
	return fmt.Sprintf("%s (editor %s)", e.Folder.Who, name)
}

// acting is the context of what is done for the editor, however soon its request ends.
func (e *editor) acting() context.Context {
	return host.ActedBy(context.WithoutCancel(e.ctx), e.by())
}

// update shows something to the editor.
func (e *editor) update(id protocol.SessionId, u protocol.SessionUpdate) {
	// An editor that went away sees nothing any more, and the connection ends.
	_ = e.conn.SendNotification(e.ctx, protocol.ClientMethodSessionUpdate, protocol.SessionNotification{SessionId: id, Update: u})
}
