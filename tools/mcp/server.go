package mcp

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agent/recovery/journal"
)

// maxFails is how often in a row a server may end or fail to start before it stays ended for the
// run.
const maxFails = 3

// checkPatience is how long a server may take to say what its tools are before a call.
const checkPatience = 10 * time.Second

// Options is what the servers of a run need to know of their host.
type Options struct {
	Folder  string                // the run's workspace, absolute
	Environ []string              // what commands get of the host's environment
	Version string                // of the host, sent to servers
	Wrap    func(*exec.Cmd) error // has a server start within the sandbox; nil where there is none
	Level   string                // words what Wrap holds; a yes is bound to it
	Admit   func(Server) error    // says at each start why a server may not be started now; nil admits all
	Pinned  []journal.ServerPin   // what servers said of their tools when the run began
	Variant func(Server) string   // differs between servers of one definition, such as by files they start from; nil: none do
	Taken   func()                // called once the servers are counted as used and before any is started; nil for nothing
}

// server is one server, over all its lives, for all runs that use it.
type server struct {
	Server
	o Options

	turn  chan struct{} // held by who starts it or looks at it; guards the next four
	live  *live
	lived bool  // it was started before
	fails int   // in a row
	last  error // why it failed last

	mu     sync.Mutex // guards flying and count
	flying map[string]*flight
	count  int
}

// live is one life of a server.
type live struct {
	session *sdk.ClientSession
	process *process      // nil for one at an address
	gone    chan struct{} // closed when the connection is over
	counted bool          // its end is counted as a failure; for who holds turn
}

func newServer(s Server, o Options) *server {
	return &server{Server: s, o: o, turn: make(chan struct{}, 1), flying: map[string]*flight{}}
}

// connect starts the server, agrees on a protocol, and asks for its tools.
func (s *server) connect(ctx context.Context, admit func(Server) error) (*live, []*sdk.Tool, error) {
	startCtx, cancel := context.WithTimeoutCause(ctx, s.Start,
		fmt.Errorf("it did not answer within %s; start_timeout in its definition gives it longer", s.Start))
	defer cancel()
	l := &live{gone: make(chan struct{})}
	transport, err := s.transport(l, admit)
	if err != nil {
		return nil, nil, err
	}
	l.session, err = s.client().Connect(startCtx, transport, nil)
	var list []*sdk.Tool
	if err == nil {
		go func() {
			_ = l.session.Wait() // who used the connection gets the reason why it ended
			close(l.gone)
		}()
		list, err = listTools(startCtx, l.session)
	}
	if err != nil {
		err = l.explain(startCtx, err)
		l.close()
		return nil, nil, err
	}
	return l, list, nil
}

// transport is the way to the server; one on stdio is started.
func (s *server) transport(l *live, admit func(Server) error) (sdk.Transport, error) {
	if s.URL != "" {
		t, _ := newHTTP(s.Server)
		return t, nil
	}
	if admit != nil {
		if err := admit(s.Server); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Dir = s.startDir(s.o.Folder)
	cmd.Env = append([]string{}, s.o.Environ...)
	for _, e := range s.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	if cmd.Err != nil {
		return nil, fmt.Errorf("find %s: %v", brief(s.Command, 200), cmd.Err)
	}
	p, err := startProcess(cmd, s.o.Wrap)
	if err != nil {
		return nil, fmt.Errorf("start %s: %v", brief(s.Command, 200), err)
	}
	l.process = p
	return newStdio(p), nil
}

// client is our side of the protocol. It offers neither sampling nor roots, which the protocol
// dropped in 2026: a server on stdio starts in the workspace.
func (s *server) client() *sdk.Client {
	return sdk.NewClient(&sdk.Implementation{Name: "agent", Version: s.o.Version}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{
			Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
		}},
		ElicitationHandler:          s.elicit,
		ProgressNotificationHandler: s.progress,
	})
}

// listTools asks for all tools, page by page.
func listTools(ctx context.Context, session *sdk.ClientSession) ([]*sdk.Tool, error) {
	var list []*sdk.Tool
	seen := map[string]bool{}
	params := &sdk.ListToolsParams{}
	for {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("ask for its tools: %w", err)
		}
		list = append(list, page.Tools...)
		if len(list) > maxTools {
			return nil, fmt.Errorf("ask for its tools: it has more than %d; all that it lists are read, even if its definition takes few", maxTools)
		}
		next := page.NextCursor
		if next == "" {
			return list, nil
		}
		if seen[next] || len(seen) > maxTools {
			return nil, errors.New("ask for its tools: its list has no end")
		}
		seen[next] = true
		params = &sdk.ListToolsParams{Cursor: next}
	}
}

// explain says in an error what became of the server meanwhile. Where our own patience ended, that
// is the reason.
func (l *live) explain(ctx context.Context, err error) error {
	words := brief(strings.TrimPrefix(err.Error(), "calling "), 300)
	switch cause := context.Cause(ctx); {
	case cause != nil:
		words = brief(cause.Error(), 300)
		if l.process != nil && l.process.errs.last() != "" {
			words += "; it wrote last: " + l.process.errs.last()
		}
	case l.process != nil:
		l.process.gone(100 * time.Millisecond) // its end says more than that of its pipes
		words += ": " + l.process.how()
	}
	return errors.New(words)
}

func (l *live) close() {
	if l.session != nil {
		closed := make(chan struct{})
		go func() {
			_ = l.session.Close() // what it says of its end changes nothing
			close(closed)
		}()
		t := time.NewTimer(leavePatience + 2*termPatience)
		defer t.Stop()
		select {
		case <-closed:
		case <-t.C:
		}
	}
	if l.process != nil {
		l.process.end()
	}
}

func (l *live) over() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

// errGivenUp says that a server is not started once more.
var errGivenUp = errors.New("not started again in this run")

// ready returns the server alive, with the tools that it has now. It starts a server that was not
// started or ended, and one that does not answer. admit says why that may not be; anew forgets how
// often it failed.
func (s *server) ready(ctx context.Context, admit func(Server) error, anew bool) (*live, []*sdk.Tool, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	if anew {
		s.fails = 0
	}
	var why error
	if l := s.live; l != nil {
		if !l.over() {
			list, err := s.listed(ctx, l)
			if err == nil {
				return l, list, nil
			}
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
			if s.busy() { // its end would be the end of that call too, which may be another run's
				return nil, nil, fmt.Errorf("it does not answer while it carries out another call: %w", err)
			}
		}
		why = l.explain(ctx, errors.New("it does not answer any more"))
		s.drop(l)
	}
	return s.start(ctx, why, admit)
}

// busy says whether a call is under way.
func (s *server) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.flying) > 0
}

// drop ends a life that is over or of no use, and counts it. The caller holds turn.
func (s *server) drop(l *live) {
	if !l.counted {
		l.counted = true
		s.fails++
	}
	l.close()
	s.live = nil
}

// start starts the server, or starts it once more; why is what became of it.
func (s *server) start(ctx context.Context, why error, admit func(Server) error) (*live, []*sdk.Tool, error) {
	if why != nil {
		s.last = why
	}
	if s.fails >= maxFails {
		return nil, nil, fmt.Errorf("%w: it ended or failed %d times in a row, last: %v", errGivenUp, s.fails, s.last)
	}
	l, list, err := s.connect(ctx, admit)
	if err != nil {
		if ctx.Err() == nil {
			s.fails++
			s.last = err
		}
		if s.lived {
			err = fmt.Errorf("start it again: %v", err)
		}
		return nil, nil, err
	}
	s.live, s.lived = l, true
	return l, list, nil
}

// listed asks a living server for its tools once more.
func (s *server) listed(ctx context.Context, l *live) ([]*sdk.Tool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, checkPatience, fmt.Errorf("it did not answer within %s", checkPatience))
	defer cancel()
	return listTools(ctx, l.session)
}

// died counts an end of the server that nobody wished.
func (s *server) died(l *live) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.live == l && !l.counted {
		l.counted = true
		s.fails++
	}
}

// worked begins the count of failures anew.
func (s *server) worked() {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.fails = 0
	if s.live != nil {
		s.live.counted = false
	}
}

func (s *server) close() {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.live != nil {
		s.live.close()
		s.live = nil
	}
	s.fails = maxFails // nothing starts it once more
}
