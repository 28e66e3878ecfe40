package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"agent/db/redact"
	"agent/host"
	"agent/host/child"
	"agent/host/config"
	"agent/host/model/rewind"
	"agent/host/model/runbook"
	"agent/host/stream"
	"agent/host/undo"
	"agent/host/view"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/mcp"
	"agent/tools/sandbox"
)

// Which tools a run has. A runbook names built-in tools alone, so its runs start no server; any
// other run's model is shown a list of tools, so the servers are started before its run is created
// or claimed, all at once, and end with it. What does not start, or may not, is reported, and the
// run goes on without its tools.

// envOf is host.Host.EnvOf.
func (s *Folder) envOf(ctx context.Context, c journal.RunCreated) (host.Env, error) {
	env, err := s.allTools(ctx, c)
	if err == nil {
		env.Tools, err = child.Tools(env.Tools, c)
	}
	if err == nil && c.Root == "" && c.Model != rewind.Name {
		var powers []string
		powers, err = s.powers(c)
		env.Notes = append(powers, env.Notes...)
	}
	if missing := new(child.MissingToolError); errors.As(err, &missing) {
		missing.Why = notThere(missing, env.Notes, c.Folder)
	}
	if err != nil {
		env.Release()
	}
	return env, err
}

// notThere says why a tool of a server is not there, by what was noted of servers, and what a
// person can do about it.
func notThere(e *child.MissingToolError, notes []string, folder string) error {
	server, ok := strings.CutPrefix(e.Tool, mcp.Prefix)
	server, _, _ = strings.Cut(server, "__")
	if !ok {
		return e.Why
	}
	why := "no MCP server has it"
	for _, n := range notes {
		if strings.HasPrefix(n, "MCP server "+server+" ") {
			why = n
		}
	}
	return fmt.Errorf("there is no tool %q: %s; correct mcp.json, and see what there is with: agent tools --dir %s", e.Tool, why, view.ShellWord(folder))
}

// allTools is the environment of a run with the tools of its process and of its servers.
func (s *Folder) allTools(ctx context.Context, c journal.RunCreated) (host.Env, error) {
	env, environ, err := withVariables(ctx, s, c)
	if c.Model == rewind.Name && err == nil {
		return undo.Env(&s.Process, env, c.Folder)
	}
	if err != nil || c.Model == runbook.Name || c.Flow != nil {
		return env, err
	}
	found, err := s.app.findServers(c.Folder)
	if err != nil {
		return env, err
	}
	end := func() { s.kept.keep(nil) }
	list, notes, err := s.app.allowed(ctx, found, s.AskTrust)
	if env.Notes = append(env.Notes, notes...); err != nil || len(list) == 0 {
		end()
		return env, err
	}
	for _, def := range list {
		s.Store.Know(secretsOf(def)...)
	}
	o := s.app.mcpOptions(s.Home, c.Folder, environ)
	o.Admit, o.Pinned, o.Variant, o.Taken = found.admit, c.Setup.Servers, found.startsFrom, end
	set, notes := s.app.startServers(ctx, s.pool, list, o, nil)
	env.Servers, env.Notes, env.Close = set.Pins(), slices.Concat(env.Notes, notes), sync.OnceFunc(func() { s.kept.keep(set.Close) })
	if err = context.Cause(ctx); err == nil {
		env.Tools, err = join(env.Tools, set)
	}
	if err != nil {
		set.Close()
	}
	return env, err
}

// lastServers keeps the servers of the run before until the next one has named its own, so that a
// command that resumes run after run does not start the same servers for each of them. Those that
// the next run does not use end before any of its own starts: two may not fit beside each other,
// such as at one port.
type lastServers struct {
	mu  sync.Mutex // guards end
	end func()
}

// Keep ends what was kept and keeps this; nil keeps nothing.
func (l *lastServers) keep(end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != nil {
		l.end()
	}
	l.end = end
}

// startsFrom names the files of the workspace that a server starts from, with their digests:
// changed ones make it another server.
func (f *ServerFiles) startsFrom(s mcp.Server) string { return fmt.Sprint(f.scripts[scriptKey(s)]) }

// join puts the tools of servers behind those that are built in.
func join(base *tools.Registry, set *mcp.Set) (*tools.Registry, error) {
	var all []tools.Tool
	for _, name := range base.Names() {
		t, err := base.Get(name)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return tools.NewRegistry(append(all, set.Tools()...)...)
}

// ServerFiles is what the files of definitions say for a folder.
type ServerFiles struct {
	folder    string
	person    string // path of the person's file
	Workspace string // path of the workspace's
	mine      mcp.File
	theirs    mcp.File
	Digest    string // SHA-256 of the workspace's file; "" where there is none
	Wrong     error  // why the workspace's file is not used

	scripts map[string]map[string]string // files of the workspace that servers start from, with their digests, by server
	Own     []mcp.Server                 // of the person, that are asked about since such files changed
	OwnOnly bool                         // nothing else is asked about
	trustAt string                       // where the person's decision is kept
}

// findServers reads the definitions. What is wrong in the person's file is refused; a workspace's
// file comes with its repository, so what is wrong in it is noted and does not stop a run.
func (a *App) findServers(folder string) (*ServerFiles, error) {
	user := config.UserPath(a.Env)
	f := &ServerFiles{folder: folder, person: config.MCPPath(user), Workspace: config.WorkspaceMCPPath(folder), trustAt: config.TrustPath(user)}
	text, there, err := config.ReadPerson(f.person)
	if err != nil {
		return nil, err
	}
	if there {
		if f.mine, err = mcp.Read(f.person, mcp.FromPerson, text, a.lookup); err != nil {
			return nil, Usage(err)
		}
	}
	text, there, err = config.ReadWorkspace(f.Workspace)
	if err == nil && there {
		sum := sha256.Sum256(text)
		f.Digest = hex.EncodeToString(sum[:])
		f.theirs, err = mcp.Read(f.Workspace, mcp.FromWorkspace, text, a.lookup)
	}
	if err != nil {
		f.theirs, f.Wrong = mcp.File{}, fmt.Errorf("the servers of %s are not started: %w", f.Workspace, err)
	}
	return f, f.look()
}

func (a *App) lookup(name string) (string, bool) {
	v := a.Env(name)
	return v, v != ""
}

// startServers starts servers and notes how each came up. What the journal should say of them is
// returned. each hears of every server; nil for nobody.
func (a *App) startServers(ctx context.Context, pool *mcp.Pool, list []mcp.Server, o mcp.Options, each func(mcp.Started)) (*mcp.Set, []string) {
	var notes []string
	slow := time.AfterFunc(time.Second, func() {
		a.Notice(stream.Sanitize("waiting for MCP servers: " + strings.Join(namesOf(list), ", ")))
	})
	defer slow.Stop()
	set := pool.Start(ctx, list, o, func(st mcp.Started) {
		name := st.Server.Name
		switch {
		case st.Err != nil:
			notes = append(notes, fmt.Sprintf("MCP server %s is not there, and so are its tools: %v", name, st.Err))
		default:
			a.Notice(stream.Sanitize(fmt.Sprintf("MCP server %s: %s in %.1f s", name, view.Count(st.Tools, "tool"), st.Took.Seconds())))
		}
		for _, n := range st.Notes {
			notes = append(notes, fmt.Sprintf("MCP server %s: %s", name, n))
		}
		if each != nil {
			each(st)
		}
	})
	slices.Sort(notes) // servers come up in any order
	return set, append(notes, set.Notes()...)
}

func namesOf(list []mcp.Server) []string {
	var names []string
	for _, s := range list {
		if !s.Disabled {
			names = append(names, s.Name)
		}
	}
	return names
}

// mcpOptions is what servers start with: the environment that commands get, within the sandbox of a
// command that may do anything. They see neither the state folder nor the host, and cannot change
// the policy.
func (a *App) mcpOptions(home, folder string, environ []string) mcp.Options {
	o := mcp.Options{Folder: folder, Environ: environ, Version: a.Version, Level: "none"}
	exe, err := Binary()
	if err != nil {
		return o // nothing can be set up without it; the level says so
	}
	s := a.sandbox(exe, home)
	s.Settings = nil // what the person opens for commands is not opened for servers
	p, err := s.Profile(sandbox.Full, folder, "", nil)
	o.Wrap, o.Level = wrapper(p, exe), p.Support.Level(sandbox.Full)
	if err != nil {
		o.Wrap = func(*exec.Cmd) error { return err }
	}
	return o
}

// secretsOf are the values of a definition that no record may hold: those whose names say so, and
// all headers.
func secretsOf(s mcp.Server) []redact.Known {
	var environ []string
	for _, e := range s.Env {
		environ = append(environ, e.Name+"="+e.Value)
	}
	known := redact.FromEnvironment(environ)
	for _, h := range s.Headers {
		value := h.Value
		if _, after, ok := strings.Cut(value, " "); ok { // Bearer and its like
			value = after
		}
		known = append(known, redact.Known{Rule: "mcp-header", Value: value})
	}
	return known
}

// notStarted says in one line why a workspace's servers are not started, with the command that
// helps.
func (f *ServerFiles) notStarted(why string) string {
	return fmt.Sprintf("the MCP servers of %s (%s) are not started: %s; see and allow them with: agent tools --trust --dir %s",
		f.Workspace, strings.Join(namesOf(f.theirs.Servers), ", "), why, view.ShellWord(f.folder))
}

// errNoTrustFile says that a person's decision has no place to be kept.
var errNoTrustFile = errors.New("neither XDG_CONFIG_HOME nor HOME says where to keep it")

// wrapper has a command start within a profile.
func wrapper(p sandbox.Profile, exe string) func(*exec.Cmd) error {
	return func(cmd *exec.Cmd) error { return p.Wrap(cmd, exe) }
}
