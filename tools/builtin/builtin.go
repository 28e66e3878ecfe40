// Package builtin makes the registry of the tools that every host has. The small ones lie here:
// questions to a person, fetch, and the output of earlier calls.
package builtin

import (
	"fmt"
	"path/filepath"

	"agent/tools"
	"agent/tools/fetch"
	"agent/tools/files"
	"agent/tools/sandbox"
	"agent/tools/shell"
)

// Options is what the built-in tools need to know of their host.
type Options struct {
	State   string   // the state folder, absolute; no file tool reaches it
	Calls   string   // the folder of all calls' folders, absolute
	Exe     string   // the binary that carries out commands (runner.Main), absolute
	Program string   // the file that git may run as a hook of ours, absolute; "" is none
	Environ []string // what commands get of the host's environment, each "NAME=value"
	Hidden  []string // names of what they do not get of it because it looks like a secret
	Vars    []string // what commands get beside that, each "NAME=value"
	Outputs Outputs
	Fetch   fetch.Options
	Sandbox *sandbox.System // confines commands; nil confines nothing
	Ignores func() string   // finds the file of what the person ignores everywhere, as gitconfig.Ignores does; nil is none
}

// Tools makes the tools that every host has.
func Tools(o Options) ([]tools.Tool, error) {
	for what, path := range map[string]string{"state folder": o.State, "folder of calls": o.Calls, "runner's binary": o.Exe} {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("make built-in tools: the %s %q is not an absolute path", what, path)
		}
	}
	if o.Outputs == nil {
		return nil, fmt.Errorf("make built-in tools: nothing was given to read outputs from")
	}
	denied := []string{o.State, o.Calls}
	list := []tools.Tool{
		askUser{}, confirmAction{}, fetchTool{o.Fetch}, readOutput{o.Outputs},
		shell.New(shell.Options{Calls: o.Calls, Exe: o.Exe, Program: o.Program, Environ: o.Environ, Hidden: o.Hidden, Vars: o.Vars, Denied: denied, Sandbox: o.Sandbox}),
	}
	return append(list, files.Tools(denied, o.Sandbox.Policy, o.Ignores)...), nil
}

// Registry has the built-in tools. Their schemas are the binary's own, so each is parsed when a
// call first needs it: every command has the tools, and most call none.
func Registry(o Options) (*tools.Registry, error) {
	list, err := Tools(o)
	if err != nil {
		return nil, err
	}
	return tools.LazyRegistry(list)
}
