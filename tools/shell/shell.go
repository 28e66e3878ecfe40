// Package shell holds the tool that runs a script. The runner (tools/runner) carries it out in a
// process that outlives the host, the sandbox (tools/sandbox) confines it, and package inspect
// tells afterwards whether a command whose end nobody saw has happened.
package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/excerpt"
	"agent/tools/files"
	"agent/tools/githook"
	"agent/tools/gitrepo/hooklines"
	"agent/tools/runner"
	"agent/tools/sandbox"
	"agent/tools/shell/inspect"
	"agent/tools/shelltext"
)

// shell runs a script under the runner, so that it outlives the host.
type shell struct {
	calls  string
	exe    string
	file   string
	env    []string
	hidden []string    // names of variables that it does not get
	hooks  func() bool // whether git reads hooks from its configuration
	denied []string
	box    *sandbox.System
}

// Options is what the tool needs to know of its host.
type Options struct {
	Calls   string          // the folder of all calls' folders, absolute
	Exe     string          // the binary that carries out commands (runner.Main), absolute
	Program string          // the file that git may run as a hook of ours, absolute; "" is none
	Git     string          // the git that commands use; "" is the one in PATH
	Environ []string        // what commands get of the host's environment, each "NAME=value"
	Hidden  []string        // names of what they do not get of it because it looks like a secret
	Vars    []string        // what commands get beside that, each "NAME=value"
	Denied  []string        // folders that are no workspace
	Sandbox *sandbox.System // confines commands; nil confines nothing
}

type shellArgs struct {
	Command string  `json:"command"`
	Shell   string  `json:"shell"`
	Timeout float64 `json:"timeout"` // seconds
	Access  string  `json:"access"`
}

// access is what a command may do. One that does not say may do everything: old journals and
// runbooks mean that.
func (a shellArgs) access() sandbox.Access {
	if a.Access == "" {
		return sandbox.Full
	}
	return sandbox.Access(a.Access)
}

// argsOf are the arguments of a call with the access that it gets.
func argsOf(c tools.Call) (shellArgs, error) {
	a, err := tools.Decode[shellArgs](c.Args)
	if c.Access != "" {
		a.Access = c.Access
	}
	return a, err
}

// confined is what Prepare records of a command: what was asked for, what confines it, and what a
// look afterwards compares with.
type confined struct {
	Access  sandbox.Access  `json:"access,omitempty"`
	Sandbox string          `json:"sandbox,omitempty"`
	Before  *inspect.Before `json:"scene,omitempty"`
}

// record encodes it; nil where there is nothing to record.
func (c confined) record() json.RawMessage {
	if c == (confined{}) {
		return nil
	}
	return tools.Encode(c)
}

// New makes the tool.
func New(o Options) tools.Tool {
	return shell{
		calls: o.Calls, exe: o.Exe, file: o.Program, env: slices.Concat(o.Environ, o.Vars), hidden: o.Hidden, denied: o.Denied, box: o.Sandbox,
		hooks: sync.OnceValue(func() bool { return hooklines.Usable(o.Program) && githook.Configurable(o.Git) }),
	}
}

// Spec describes the tool.
func (shell) Spec() tools.Spec {
	return tools.Spec{
		Name: "shell",
		Description: "Run a script in the workspace and return what it printed, stdout and stderr together, and its exit status. " +
			"It stops at the first command that fails (sh -e). Input is empty, so nothing can be typed. " +
			"Of a long output the beginning and the end come back. " +
			"Give each command the least access that it needs: it then runs with fewer questions, and can be repeated or looked at safely.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"command": {"type": "string", "minLength": 1, "description": "the script"},
				"shell": {"enum": ["sh", "bash"], "description": "sh -e (if left out) or bash -e -o pipefail"},
				"timeout": {
					"type": "number", "exclusiveMinimum": 0, "maximum": 31536000,
					"description": "seconds after which it is stopped; no limit if left out"
				},
				"access": {
					"enum": ["read", "write", "full"],
					"description": "what it may do. read: look at anything, write nothing, no network (ls, grep, git log, go vet). write: change the workspace and an empty /tmp that the run keeps, no network but 127.0.0.1 of its own (builds, tests, formatters, git commit); no unix sockets, and what git or an editor would run unasked (.git/config, hooks, .envrc, .vscode/tasks.json, .agent) stays as it is or is put back. full (if left out): everything else, such as the network, installing, files outside the workspace, a server that keeps running"
				}
			},
			"required": ["command"],
			"additionalProperties": false
		}`),
	}
}

// Describe says what the operating system keeps the command to. A command that can write nothing
// may be run twice.
func (t shell) Describe(_ string, args json.RawMessage) tools.Traits {
	a, err := tools.Decode[shellArgs](args)
	if err != nil {
		return tools.Traits{Effect: journal.EffectWriteExternal}
	}
	is := t.traits(a)
	if a.access() == sandbox.Full && t.box.Support().Holds(sandbox.Write) {
		a.Access = string(sandbox.Write)
		lower := t.traits(a)
		is.Lower = &lower
	}
	return is
}

func (t shell) traits(a shellArgs) tools.Traits {
	e := t.effect(a)
	return tools.Traits{Effect: e, RetrySafe: e == journal.EffectRead, Confinement: t.confinement(a)}
}

// effect is an external write with access full, and where nothing confines the command.
func (t shell) effect(a shellArgs) journal.Effect {
	switch {
	case a.access() == sandbox.Full || !t.box.Support().Holds(a.access()):
		return journal.EffectWriteExternal
	case a.access() == sandbox.Read:
		return journal.EffectRead
	case a.access() == sandbox.Write:
		return journal.EffectWriteLocal
	}
	return journal.EffectWriteExternal
}

// onlyRead says whether a command was kept to reading when it was started, and would be now:
// however it ended, it changed nothing.
func (t shell) onlyRead(c tools.Call) bool {
	if a, err := argsOf(c); err != nil || t.effect(a) != journal.EffectRead {
		return false
	}
	if len(c.Before) == 0 {
		return c.Handle != nil // this process prepared it
	}
	is, err := tools.Decode[confined](c.Before)
	return err == nil && is.Access == sandbox.Read && is.Sandbox == t.box.Support().Level(sandbox.Read)
}

// confinement words what holds for the command.
func (t shell) confinement(a shellArgs) string {
	if t.box == nil {
		return ""
	}
	return "access " + string(a.access()) + ": " + t.box.Support().Level(a.access())
}

// Check refuses what no shell can be given.
func (shell) Check(args json.RawMessage) error {
	a, err := tools.Decode[shellArgs](args)
	if err == nil && strings.IndexByte(a.Command, 0) >= 0 {
		err = errors.New("a script cannot hold a NUL byte")
	}
	return err
}

func identity(c tools.Call) runner.Identity {
	return runner.Identity{Run: c.Run, Turn: c.Turn, Index: c.Index, Attempt: c.Attempt, Fingerprint: c.Fingerprint}
}

func (t shell) callFolder(c tools.Call) string { return identity(c).Folder(t.calls) }

// Prepare makes the call's folder and takes its lock. Nothing runs.
func (t shell) Prepare(_ context.Context, c tools.Call) (json.RawMessage, any, error) {
	a, err := argsOf(c)
	if err != nil {
		return nil, nil, err
	}
	w, err := files.OpenWorkspace(c.Folder, t.denied)
	if err != nil {
		return nil, nil, err
	}
	is := confined{Before: inspect.Record(w, c.Folder, a.Command, a.Shell, t.file, t.env)}
	w.Close()
	interpreter, err := interpreterOf(a.Shell)
	if err != nil {
		return nil, nil, err
	}
	spec := runner.Spec{
		Identity: identity(c), Script: shelltext.ForShell(a.Command, a.Shell), Shell: interpreter, Dir: c.Folder, Env: t.commandEnv(a),
		Timeout: time.Duration(a.Timeout * float64(time.Second)),
	}
	if t.box != nil {
		var fixed []string
		if spec.Before, fixed, err = t.before(c, a); err != nil {
			return nil, nil, err
		}
		if spec.Sandbox, err = t.box.Profile(a.access(), c.Folder, c.Run, besideOf(c), fixed...); err != nil {
			return nil, nil, err
		}
		is.Access, is.Sandbox = a.access(), spec.Sandbox.Support.Level(a.access())
	}
	job, err := runner.Prepare(t.callFolder(c), spec)
	if err == nil && spec.Before != nil {
		if err = job.Keep(spec.Before); err != nil {
			err = errors.Join(err, job.Abandon())
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return is.record(), job, nil
}

// commandEnv is the environment of a command. Git is to run this program for the messages of its
// commits, where nothing has to be installed for that; a command that only reads makes none.
func (t shell) commandEnv(a shellArgs) []string {
	if a.access() == sandbox.Read || !t.hooks() {
		return t.env
	}
	return hooklines.Join(t.env, t.file)
}

// Tidy removes what the commands of a run share, once the run is over.
func (t shell) Tidy(run string) error {
	if t.box == nil {
		return nil
	}
	return errors.Join(sandbox.RemoveTemp(run), sandbox.TrimCaches(t.box.Caches, fault.Now()))
}

func interpreterOf(name string) ([]string, error) {
	if name != "bash" {
		return []string{"/bin/sh", "-e"}, nil
	}
	path, err := exec.LookPath("bash")
	if err != nil {
		return nil, fmt.Errorf("find bash: %v", err)
	}
	return []string{path, "-e", "-o", "pipefail"}, nil
}

// Call starts the command and waits for its end. If ctx ends first the command goes on, and the
// call stays without a result.
func (t shell) Call(ctx context.Context, c tools.Call) (journal.Result, error) {
	job, ok := c.Handle.(*runner.Job)
	if !ok {
		return tools.Failed(journal.AppliedNo, errors.New("run the command: nothing was prepared for it"))
	}
	if err := job.Start(t.exe, append(fault.Env(), t.env...)); err != nil {
		return tools.Failed(journal.AppliedNo, errors.Join(err, job.Abandon()))
	}
	fault.Hit(fault.RunnerStarted)
	return t.await(ctx, c, journal.HowExecuted)
}

// Attach waits for the end of a command that an earlier host started.
func (t shell) Attach(ctx context.Context, c tools.Call) (journal.Result, error) {
	return t.await(ctx, c, journal.HowAttached)
}

// await shows the output from the beginning, waits for the end, and makes the result.
func (t shell) await(ctx context.Context, c tools.Call, how journal.How) (journal.Result, error) {
	folder := t.callFolder(c)
	// What cannot be shown can still be waited for; a spool that cannot be read is said with the
	// result.
	_, _ = runner.Follow(ctx, folder, 0, c.Show)
	seen, err := runner.Wait(ctx, folder, identity(c))
	if err != nil {
		return tools.Failed(journal.AppliedUnknown, err)
	}
	switch seen.State {
	case runner.Ended:
		return t.resultOf(c, seen.Exit, how), nil
	case runner.NeverStarted:
		return tools.Failed(journal.AppliedNo, &notStarted{seen})
	case runner.Unknown:
		left, err := t.Kill(ctx, c)
		if r, known, err := t.judged(ctx, c); known {
			return r, err
		}
		if err == nil && len(left) == 0 && t.onlyRead(c) {
			return tools.Failed(journal.AppliedNo, fmt.Errorf(
				"run the command: the process that ran it is gone: %s; it could only read, so it changed nothing and may be run again", seen.Why))
		}
		r, _ := tools.Failed(journal.AppliedUnknown, nil)
		r.Outcome, r.How, r.Alive = journal.OutcomeUnknown, how, left
		if len(left) > 0 {
			r.Data = tools.Encode(seen.Trace())
		}
		r.Content = withAccess(c, lostText(seen.Why, left, err))
		if r.PutBack = runner.PutBackNotes(folder); len(r.PutBack) > 0 {
			r.Content = excerpt.AddLine(r.Content, putBackText(r.PutBack))
		}
		r.Size = int64(len(r.Content))
		return r, nil
	}
	return tools.Failed(journal.AppliedUnknown, fmt.Errorf("wait for the command: its files are gone: %s", seen.Why))
}

func lostText(why string, left []string, err error) string {
	text := "outcome unknown: the process that ran the command is gone: " + why
	if len(left) > 0 {
		text += "; may still be running: " + strings.Join(left, ", ")
	}
	if err != nil {
		text += "; " + err.Error()
	}
	return text + "\nWhat the command did until then stands. It was not repeated."
}

// Find reads what the call's files say.
func (t shell) Find(_ context.Context, c tools.Call) recovery.ProcessEvidence {
	seen, err := runner.Inspect(t.callFolder(c), identity(c))
	if err != nil {
		return recovery.ProcessEvidence{
			Why: err.Error(), Alive: []string{"the command, whose files cannot be read"}, Trace: tools.Encode(seen.Trace()),
		}
	}
	s := recovery.ProcessEvidence{Why: seen.Why, Alive: named(seen.Survivors)}
	switch seen.State {
	case runner.Running:
		s.State, s.Trace = recovery.ProcessRunning, tools.Encode(seen.Trace())
	case runner.Ended:
		r := t.resultOf(c, seen.Exit, journal.HowAdopted)
		s.State, s.Result = recovery.ProcessEnded, &r
	case runner.NeverStarted:
		s.State, s.Refused = recovery.ProcessNever, seen.Refused
	case runner.Unknown:
		s.State, s.Output, s.Trace = recovery.ProcessLost, t.printed(c), tools.Encode(seen.Trace())
		s.PutBack = runner.PutBackNotes(t.callFolder(c))
	}
	return s
}

// named lists processes as a person would name them.
func named(processes []runner.Process) []string {
	var list []string
	for _, p := range processes {
		if p.Pid == 0 { // it does not show which one it is
			list = append(list, p.Name)
			continue
		}
		list = append(list, strings.TrimSpace(fmt.Sprintf("process %d %s", p.Pid, p.Name)))
	}
	return list
}

// Kill kills what is left of a command, its runner first if that does not react to a stop, and
// waits until it is dead. What cannot be shown dead is returned.
func (t shell) Kill(ctx context.Context, c tools.Call) ([]string, error) {
	folder := t.callFolder(c)
	seen, err := runner.Inspect(folder, identity(c))
	if err == nil && seen.State == runner.Running && seen.Began != nil {
		if err = runner.KillRunner(folder, *seen.Began); err == nil {
			seen, err = runner.Wait(ctx, folder, identity(c))
		}
	}
	if err != nil {
		return []string{"the command"}, err
	}
	switch seen.State {
	case runner.Running:
		return []string{"the command, whose runner has not begun"}, nil
	case runner.Unknown:
	default:
		return nil, nil
	}
	left, err := runner.Sweep(ctx, folder, *seen.Began)
	if err != nil && len(left) == 0 {
		return []string{"something that the command started"}, err
	}
	return named(left), errors.Join(err, runner.PutBack(folder))
}

// Survivors looks again for what could not be shown dead of a command.
func (t shell) Survivors(trace json.RawMessage) ([]string, error) {
	at, err := tools.Decode[runner.Trace](trace)
	if err != nil {
		return nil, fmt.Errorf("read the trace of a command: %v", err)
	}
	living, err := at.Survivors()
	return named(living), err
}

// Stop asks the command's runner to end it and everything that it started.
func (t shell) Stop(c tools.Call, reason string) error { return runner.Cancel(t.callFolder(c), reason) }

// Discard removes the call's files.
func (t shell) Discard(c tools.Call) error { return runner.Discard(t.callFolder(c)) }
