package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"agent/db"
	"agent/db/redact"
	"agent/host"
	"agent/host/child"
	"agent/host/environ"
	"agent/host/model/runbook"
	"agent/host/stream"
	"agent/host/view"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/githook"
	"agent/tools/gitrepo/hooklines"
	"agent/tools/mcp"
	"agent/tools/runner"
	"agent/tools/sandbox"
)

// Tools shows the tools of a run in a folder, or one of them, with the MCP servers, which are
// started for it; end ends them. Before that decide is given the servers that the files name.
func (a *App) Tools(ctx context.Context, folder, only string, decide func(*ServerFiles) error) (v view.Tools, end func(), err error) {
	end = func() {}
	home, err := a.Home()
	if err != nil {
		return v, end, err
	}
	// Nothing is carried out here, so the tools need no open state folder.
	h, err := a.host(home, &db.Store{})
	if err != nil {
		return v, end, err
	}
	a.redact = nil // that store knows no secrets
	reg, servers, end, err := a.servedTools(ctx, home, folder, h.Env.Tools, decide)
	if err != nil {
		return v, end, err
	}
	v = view.Tools{
		Version: 1, Tools: []view.Tool{}, Digest: reg.Digest(), Sandbox: a.sandboxWords(home),
		Servers: append([]view.Server{}, servers...),
	}
	v.Environment, v.Hidden = variableList(a)
	names := reg.Names()
	if only != "" {
		names = []string{only}
	}
	for _, name := range names {
		t, err := reg.Get(name)
		if err != nil {
			return v, end, fmt.Errorf("show tool %s: %v", name, err)
		}
		v.Tools = append(v.Tools, toolView(t))
	}
	return v, end, nil
}

func toolView(t tools.Tool) view.Tool {
	spec := t.Spec()
	v := view.Tool{Name: spec.Name, Schema: spec.Schema, Description: spec.Description, Written: runbook.Written(spec.Name), Server: originView(t)}
	v.Asks = spec.Asks
	_, v.Inspects = t.(tools.Inspector)
	_, v.Outlives = t.(tools.Process)
	for _, sample := range samples(spec.Name) {
		is := t.Describe("", sample.args)
		e := view.Effect{Effect: is.Effect, When: sample.when, Modes: map[journal.Mode]journal.Decision{}}
		for _, m := range journal.Modes() {
			e.Modes[m] = journal.DecisionAllow // a question needs no permission, nor does what is decided call by call
			if !v.Asks && !is.Inner {
				e.Modes[m] = host.Permit(m, e.Effect, is.Outward != "")
			}
		}
		if len(v.Effects) == 0 || v.Effects[0].Effect != e.Effect {
			v.Effects = append(v.Effects, e)
		}
	}
	return v
}

// sample is arguments that make one effect of a tool.
type sample struct {
	args json.RawMessage
	when string
}

// samples are arguments for each effect that a tool may have: those that say nothing make the usual
// one, and those that cannot be read the most dangerous.
func samples(tool string) []sample {
	list := []sample{{args: json.RawMessage(`{}`)}, {}}
	if tool == "shell" {
		for _, access := range []sandbox.Access{sandbox.Write, sandbox.Read} {
			list = append(list, sample{json.RawMessage(fmt.Sprintf(`{"command":"true","access":%q}`, access)), "access " + string(access)})
		}
	}
	return list
}

func serverView(s mcp.Server) view.Server {
	v := view.Server{Name: s.Name, From: s.From, URL: s.URL, Trusted: s.Trusted, Disabled: s.Disabled}
	if s.Command != "" {
		v.Command = append([]string{s.Command}, s.Args...)
	}
	return v
}

func originView(t tools.Tool) *view.Origin {
	o, ok := mcp.OriginOf(t)
	if !ok {
		return nil
	}
	return &view.Origin{Server: o.Server.Name, Name: o.Remote, Trusted: o.Server.Trusted, Pin: o.Pin, Outward: o.Outward}
}

// servedTools are the tools here with those of MCP servers, which are started for it; end ends
// them.
func (a *App) servedTools(ctx context.Context, home, folder string, base *tools.Registry, decide func(*ServerFiles) error) (
	reg *tools.Registry, servers []view.Server, end func(), err error,
) {
	end = func() {}
	f, err := a.findServers(folder)
	if err == nil {
		err = decide(f)
	}
	if err != nil {
		return nil, nil, end, err
	}
	list, notes, err := a.allowed(ctx, f, nil)
	if err != nil {
		return nil, nil, end, err
	}
	secret := known()
	for _, s := range slices.Concat(f.mine.Servers, f.theirs.Servers) {
		servers = append(servers, serverView(s))
		secret = append(secret, secretsOf(s)...)
	}
	a.redact = db.RedactorOf(secret) // no state folder is open that would know them
	noticeAll(a, notes)
	if len(namesOf(list)) == 0 {
		return base, servers, end, nil
	}
	vars, _ := variables(a) // doctor reports what is wrong with the configuration
	o := a.mcpOptions(home, folder, vars.Variables)
	o.Admit = f.admit
	set, notes := a.startServers(ctx, mcp.NewPool(), list, o, func(st mcp.Started) {
		at := slices.IndexFunc(servers, func(v view.Server) bool { return v.Name == st.Server.Name && v.From == st.Server.From })
		servers[at].Tools, servers[at].Notes, servers[at].Started = st.Tools, st.Notes, st.Err == nil
		if st.Err != nil {
			servers[at].Error = a.Redacted(st.Err.Error())
		}
	})
	noticeAll(a, notes)
	reg, err = join(base, set)
	return reg, servers, set.Close, err
}

func noticeAll(a *App, lines []string) {
	for _, line := range lines {
		a.Notice(stream.Sanitize(a.Redacted(line)))
	}
}

// variables are what commands get of this process's environment, by what the person's configuration
// says of it.
func variables(a *App) (environ.Chosen, error) {
	conf, _, err := a.config("")
	if err != nil {
		return environ.Chosen{}, err
	}
	return environ.Choose(os.Environ(), environ.Rules(conf.Env), redact.SecretVariable), nil
}

// variableList names what a command finds in its environment, the mark of its call included, and
// what it does not find there because it looks like a secret.
func variableList(a *App) (names, hidden []string) {
	chosen, _ := variables(a) // doctor reports what is wrong with the configuration
	env := chosen.Variables
	if exe, exeErr := os.Executable(); exeErr == nil && hooklines.Usable(exe) && githook.Configurable("") {
		env = hooklines.Join(env, exe)
	}
	names = append(environ.Names(env), runner.MarkName)
	slices.Sort(names)
	return slices.Compact(names), append([]string{}, chosen.Hidden...)
}

// withVariables is the environment that every run has, with the variables that the commands of this
// one get, which are returned too. A run that is not created yet gets those of this process, to be
// recorded with it; so does, unrecorded, one whose journal names none. Any other gets what was
// recorded, wherever it is driven: a yes is bound to the names of these variables, and a build that
// is resumed by another process must not behave differently.
func withVariables(ctx context.Context, s *Folder, c journal.RunCreated) (host.Env, []string, error) {
	env := s.Env
	chosen, err := variables(s.app)
	if err != nil {
		return env, nil, err
	}
	own := chosen.Variables
	s.Store.Know(redact.FromEnvironment(own)...) // what was let through stays out of the record
	vars := own
	switch {
	case c.Run == "":
		env.Environ = environ.Recorded(own)
		env.Variables = environ.Names(env.Environ)
		if len(chosen.Hidden) > 0 {
			env.Told = append(slices.Clone(env.Told), fmt.Sprintf(
				"commands do not get %s: by name or value they are secrets (agent help secrets)", strings.Join(chosen.Hidden, ", ")))
		}
		return env, own, nil
	case c.Env == "":
		env.Variables = environ.Names(environ.Recorded(own))
	default:
		kept, err := s.Store.Environment(ctx, c.Env)
		if lost := (*db.LostEnvironmentError)(nil); errors.As(err, &lost) {
			env.Variables = environ.Names(environ.Recorded(own))
			env.Notes = append(slices.Clone(env.Notes), fmt.Sprintf(
				"the environment that commands got when the run was started cannot be given back: %v; they get that of this process", lost))
			break
		}
		if err != nil {
			return env, nil, err
		}
		s.Store.Know(redact.FromEnvironment(kept)...)
		env.Variables, vars = environ.Names(kept), environ.Restored(kept, own)
	}
	if slices.Equal(vars, own) && len(c.Vars) == 0 {
		return env, vars, nil
	}
	exe, err := Binary()
	var delegate tools.Tool
	if err == nil {
		delegate, err = env.Tools.Get(child.Name)
	}
	if err == nil {
		env.Tools, err = builtIn(s.app, s.Host, exe, environ.Chosen{Variables: vars, Hidden: chosen.Hidden}, c.Vars, delegate)
	}
	if err != nil {
		return env, nil, fmt.Errorf("give the commands of run %s their environment: %w", c.Run, err)
	}
	return env, vars, nil
}

// variableNames names the variables that were recorded for the commands of a run; nil where none
// were, or where they cannot be given back.
func variableNames(ctx context.Context, s *db.Store, c journal.RunCreated) []string {
	if c.Env == "" {
		return nil
	}
	kept, err := s.Environment(ctx, c.Env)
	if err != nil {
		return nil // who drives the run reports it
	}
	return environ.Names(kept)
}
