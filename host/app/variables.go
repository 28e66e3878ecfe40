package app

import (
	"context"
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
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/githook"
	"agent/tools/gitrepo/hooklines"
	"agent/tools/runner"
)

// variables are what commands get of this process's environment, by what the person's configuration
// says of it.
func (a *App) variables() (environ.Chosen, error) {
	conf, _, err := a.config("")
	if err != nil {
		return environ.Chosen{}, err
	}
	return environ.Choose(os.Environ(), environ.Rules(conf.Env), redact.SecretVariable), nil
}

// variableList names what a command finds in its environment, the mark of its call included, and
// what it does not find there because it looks like a secret.
func (a *App) variableList() (names, hidden []string, err error) {
	chosen, err := a.variables()
	env := chosen.Variables
	if exe, exeErr := os.Executable(); exeErr == nil && hooklines.Usable(exe) && githook.Configurable("") {
		env = hooklines.Join(env, exe)
	}
	names = append(environ.Names(env), runner.MarkName)
	slices.Sort(names)
	return slices.Compact(names), append([]string{}, chosen.Hidden...), err
}

// withVariables is the environment that every run has, with the variables that the commands of this
// one get, which are returned too. A run that is not created yet gets those of this process, to be
// recorded with it; so does, unrecorded, one whose journal names none. Any other gets what was
// recorded, wherever it is driven: a yes is bound to the names of these variables, and a build that
// is resumed by another process must not behave differently.
func withVariables(ctx context.Context, s *Folder, c journal.RunCreated) (host.Env, []string, error) {
	env := s.Env
	chosen, err := s.app.variables()
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
