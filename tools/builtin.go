package tools

import (
	"fmt"
	"path/filepath"

	"agent/recovery"
	"agent/tools/fetch"
	"agent/tools/sandbox"
)

// Options is what the built-in tools need to know of their host.
type Options struct {
	State   string   // the state folder, absolute; no file tool reaches it
	Calls   string   // the folder of all calls' folders, absolute
	Exe     string   // the binary that carries out commands (runner.Main), absolute
	Environ []string // the host's environment; a command gets what the allowlist lets through
	Outputs Outputs
	Fetch   fetch.Options
	Sandbox *sandbox.System // confines commands; nil confines nothing
}

// Builtin makes the tools that every host has, in alphabetical order.
func Builtin(o Options) ([]Tool, error) {
	for what, path := range map[string]string{"state folder": o.State, "folder of calls": o.Calls, "runner's binary": o.Exe} {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("make built-in tools: the %s %q is not an absolute path", what, path)
		}
	}
	if o.Outputs == nil {
		return nil, fmt.Errorf("make built-in tools: nothing was given to read outputs from")
	}
	f := files{barred: []string{o.State, o.Calls}, policy: o.Sandbox.Policy}
	return []Tool{
		applyPatch{f}, askUser{}, confirmAction{}, editFile{f}, fetchTool{o.Fetch}, findFiles{f}, listDir{f}, readFile{f}, readOutput{o.Outputs}, search{f},
		newShell(o, f), writeFile{f},
	}, nil
}

// files is what the file tools share.
type files struct {
	barred []string        // folders that no path leads to
	policy func() []string // the person's policy: folders and files that are read and never written; nil is none
}

// openToWrite opens a workspace for what writes in it.
func (f files) openToWrite(folder string) (*workspace, error) {
	w, err := openWorkspace(folder, f.barred)
	if err == nil && f.policy != nil {
		for _, path := range f.policy() {
			w.policy = append(w.policy, barOf(path))
		}
	}
	return w, err
}

// done is the result of a call that did what was asked.
func done(applied recovery.Applied, content string) recovery.Result {
	return recovery.Result{
		Outcome: recovery.OutcomeOK, Applied: applied, How: recovery.HowExecuted, Content: content, Size: int64(len(content)),
	}
}

// failed is what a call returns that went wrong: the host words the result from the error.
func failed(applied recovery.Applied, err error) (recovery.Result, error) {
	return recovery.Result{Applied: applied, How: recovery.HowExecuted}, err
}
