package app

import (
	"agent/host/commits"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"

	"agent/db"
	"agent/host"
	"agent/host/child"
	"agent/host/config"
	"agent/host/environ"
	"agent/host/flow"
	"agent/host/records"
	"agent/host/stream"
	"agent/host/witness"
	"agent/host/workspace"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/builtin"
	"agent/tools/gitrepo/gitconfig"
	"agent/tools/process"
)

// Home is the state folder: $AGENT_HOME, else $XDG_STATE_HOME/agent, else ~/.local/state/agent.
func (a *App) Home() (string, error) {
	if h := a.Env("AGENT_HOME"); h != "" {
		return filepath.Abs(h)
	}
	if x := a.Env("XDG_STATE_HOME"); filepath.IsAbs(x) {
		return filepath.Join(x, "agent"), nil
	}
	h, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the state folder: %v; set AGENT_HOME", err)
	}
	return filepath.Join(h, ".local", "state", "agent"), nil
}

// marksFolder is where marks of state folders lie that no copy of one brings with it:
// $XDG_CACHE_HOME/agent/marks, else ~/.cache/agent/marks; "" where neither is known.
func marksFolder(a *App) string {
	if x := a.Env("XDG_CACHE_HOME"); filepath.IsAbs(x) {
		return filepath.Join(x, "agent", "marks")
	}
	if h := a.Env("HOME"); filepath.IsAbs(h) {
		return filepath.Join(h, ".cache", "agent", "marks")
	}
	return ""
}

func (a *App) host(home string, store *db.Store) (*host.Host, error) {
	a.redactsWith(store)
	exe, err := Binary()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %v", err)
	}
	h := &host.Host{Process: host.Process{
		Store: store, Home: home, Hub: stream.NewHub(), Now: fault.Now, Version: a.Version, Self: process.Self(),
		Who: who(),
	}}
	carrier := &child.Carrier{Process: &h.Process}
	vars, _ := variables(a) // what is wrong with the configuration is reported where a run begins
	if h.Env.Tools, err = builtIn(a, h, exe, vars, nil, &child.Delegate{Carrier: carrier, Setup: func(ctx context.Context, parent journal.RunCreated, model string) (string, journal.Setup, error) {
		return setupFor(ctx, a, parent, model)
	}}); err != nil {
		return nil, err
	}
	h.Env.Model = a.newModel
	keeper := &workspace.Keeper{Process: &h.Process, Limit: keptLimit(a), Homes: []string{a.Env("HOME")}, Own: []string{marksFolder(a)}, Ignores: ignores(a)}
	h.Files = &commits.Watcher{Files: keeper, Process: &h.Process}
	if h.Witness, err = witnessOf(a, h); err != nil {
		return nil, err
	}
	h.Flows = (&flow.Engine{Carrier: carrier, Denied: []string{home}}).Open
	return h, nil
}

// witnessOf is who hears what runs of this process did before they act: AGENT_WITNESS names it,
// else the configuration; nil for nobody. What is wrong with the file is reported where a run
// begins.
func witnessOf(a *App, h *host.Host) (host.Witness, error) {
	conf, _ := a.Settings("")
	if conf == nil {
		conf = &Settings{}
	}
	address := cmp.Or(a.Env("AGENT_WITNESS"), conf.Witness.Address)
	if address == "" {
		return nil, nil
	}
	return witness.New(witness.Options{Address: address, Wrong: config.CheckWitness(address), Home: h.Home, Patience: conf.Witness.Or().Patience, Store: h.Store, Version: a.Version, Warn: h.Warn}), nil
}

// builtIn makes the tools that every run has. Commands get what was chosen for them; delegate is
// one of the process, which knows what it drives.
func builtIn(a *App, h *host.Host, exe string, from environ.Chosen, vars []string, delegate tools.Tool) (*tools.Registry, error) {
	program, err := os.Executable()
	if err != nil {
		program = "" // git runs nothing of ours then
	}
	list, err := builtin.Tools(builtin.Options{
		State: h.Home, Calls: h.CallsDir(), Exe: exe, Program: program, Environ: from.Variables, Hidden: from.Hidden, Vars: vars, Outputs: records.Outputs{Store: h.Store},
		Fetch: a.fetchOptions(), Sandbox: a.sandbox(exe, h.Home), Ignores: ignores(a),
	})
	if err != nil {
		return nil, err
	}
	return tools.LazyRegistry(append(list, delegate))
}

// ignores finds the file of what the person ignores in every repository.
func ignores(a *App) func() string {
	return func() string { return gitconfig.Ignores(a.Env("HOME")) }
}

// keptLimit is how many bytes of contents are kept.
func keptLimit(a *App) func() int64 {
	return func() int64 {
		conf, err := a.Settings("")
		if err != nil || conf.Keep == 0 {
			return config.KeepContents // what is wrong with the file is reported where a run begins
		}
		return conf.Keep
	}
}

// Binary is what this process starts itself again by. Where the kernel has it that is no name: a
// command that may write where the binary lies, a workspace with its own build among them, could
// put another in its place, and the host would start that one outside of every sandbox.
func Binary() (string, error) {
	const self = "/proc/self/exe"
	if runtime.GOOS == "linux" {
		if _, err := os.Stat(self); err == nil {
			return self, nil
		}
	}
	return os.Executable()
}

func who() string {
	u, err := user.Current()
	if err != nil {
		return "somebody" // the name is for people only
	}
	return u.Username
}
