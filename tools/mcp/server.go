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

	"agent/recovery"
)

// maxFails is how often in a row a server may end or fail to start before it is given up for the run.
const maxFails = 3

// checkPatience is how long a server may take to say what its tools are before a call.
const checkPatience = 10 * time.Second

// Options is what the servers of a run need to know of their host.
type Options struct {
	Folder  string                // the run's workspace, absolute
	Environ []string              // what commands get of the host's environment
	Version string                // of the host, told to servers
	Wrap    func(*exec.Cmd) error // has a server start within the sandbox; nil where there is none
	Level   string                // words what Wrap holds; a yes is bound to it
	Admit   func(Server) error    // says at each start why a server may not be started now; nil admits all
	Pinned  []recovery.ServerPin  // what servers said of their tools when the run began
}

// server is one server, over all its lives.
type server struct {
	Server
	o     Options
	tools []pinned // fixed once it was started
	notes []string
	err   error // why it was not started

	turn    chan struct{} // held by who starts it or looks at it
	live    *live
	fails   int               // in a row
	last    error             // why it failed last
	changed map[string]string // how tools differ from what they are pinned as, by the server's names
	missing map[string]bool   // tools that the last list lacked

	mu     sync.Mutex // guards flying
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
	return &server{
		Server: s, o: o, turn: make(chan struct{}, 1), flying: map[string]*flight{}, changed: map[string]string{},
	}
}

// first starts the server and fixes its tools.
func (s *server) first(ctx context.Context) {
	l, list, err := s.connect(ctx)
	if err != nil {
		s.err = err
		return
	}
	s.live = l
	s.tools, s.notes = pinAll(s.Server, list)
	s.hold()
}

// connect starts the server, agrees on a protocol, and asks for its tools.
func (s *server) connect(ctx context.Context) (*live, []*sdk.Tool, error) {
	startCtx, cancel := context.WithTimeoutCause(ctx, s.Start,
		fmt.Errorf("it did not answer within %s; start_timeout in its definition gives it longer", s.Start))
	defer cancel()
	l := &live{gone: make(chan struct{})}
	transport, err := s.transport(l)
	if err != nil {
		return nil, nil, err
	}
	l.session, err = s.client().Connect(startCtx, transport, nil)
	var list []*sdk.Tool
	if err == nil {
		go func() {
			_ = l.session.Wait() // who used the connection is told why it ended
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
func (s *server) transport(l *live) (sdk.Transport, error) {
	if s.URL != "" {
		t, _ := newHTTP(s.Server)
		return t, nil
	}
	if s.o.Admit != nil {
		if err := s.o.Admit(s.Server); err != nil {
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

// client is our side of the protocol. It offers neither sampling nor roots, which the protocol gave up in 2026: a server on
// stdio starts in the workspace.
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

// explain says in an error what became of the server meanwhile. Where our own patience ended, that is the reason.
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
var errGivenUp = errors.New("given up for this run")

// ready returns the server alive, with its tools compared with their pins. It starts a server that ended, and one that does not
// answer.
func (s *server) ready(ctx context.Context) (*live, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	var why error
	if l := s.live; l != nil {
		if !l.over() {
			err := s.compare(ctx, l)
			if err == nil {
				return l, nil
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
		why = l.explain(ctx, errors.New("it does not answer any more"))
		s.drop(l)
	}
	return s.restart(ctx, why)
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

// restart starts the server once more; why is what became of it.
func (s *server) restart(ctx context.Context, why error) (*live, error) {
	if why != nil {
		s.last = why
	}
	if s.fails >= maxFails {
		return nil, fmt.Errorf("%w: it ended or failed %d times in a row, last: %v", errGivenUp, s.fails, s.last)
	}
	l, list, err := s.connect(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.fails++
			s.last = err
		}
		return nil, fmt.Errorf("start it again: %v", err)
	}
	s.live = l
	s.differ(list)
	return l, nil
}

// compare asks a living server for its tools once more.
func (s *server) compare(ctx context.Context, l *live) error {
	ctx, cancel := context.WithTimeoutCause(ctx, checkPatience, fmt.Errorf("it did not answer within %s", checkPatience))
	defer cancel()
	list, err := listTools(ctx, l.session)
	if err == nil {
		s.differ(list)
	}
	return err
}

// differ notes which of the pinned tools are not what they were. One that was changed once stays refused, whatever it is now.
func (s *server) differ(list []*sdk.Tool) {
	now := map[string]recovery.ToolPin{}
	for _, t := range list {
		if pin, err := pinOf(t); err == nil {
			now[t.Name] = pin
		}
	}
	s.missing = map[string]bool{}
	for _, t := range s.tools {
		pin, there := now[t.remote]
		if !there {
			s.missing[t.remote] = true
		} else if d := difference(t.pin, pin); d != "" && s.changed[t.remote] == "" {
			s.changed[t.remote] = d
		}
	}
}

// refuse says why a tool may not be called now; nil when it may. The caller got the server ready.
func (s *server) refuse(p pinned) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	switch {
	case s.changed[p.remote] != "":
		return fmt.Errorf("MCP server %s changed what it says of tool %s since this run's list of tools was made, so it is not called (%s); "+
			"a new run shows it as it is now", s.Name, p.remote, s.changed[p.remote])
	case s.missing[p.remote]:
		return fmt.Errorf("MCP server %s no longer has tool %s", s.Name, p.remote)
	}
	return nil
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
