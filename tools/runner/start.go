//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"agent/recovery/fault"
	"agent/tools/gitrepo"
	"agent/tools/sandbox"
)

// Descriptors that the runner inherits.
const (
	lockFD = 3
	jobFD  = 4
)

// wire is a Spec as it travels to the runner. Bytes that may not be UTF-8 stay bytes.
type wire struct {
	Identity Identity
	Script   []byte
	Shell    [][]byte
	Dir      []byte
	Env      [][]byte
	Timeout  time.Duration
	Keep     int64
	Grace    time.Duration
	Sandbox  sandbox.Profile
	Before   *gitrepo.Snapshot
}

// Start starts `exe __runner <folder>` in a session of its own, with env as the runner's own
// environment and nothing of the host but the call's lock and specification. After it the lock is
// the runner's alone: the host's end changes nothing for it. The start of the call must be durable
// before. If Start returns an error nothing runs, and the job is still the caller's to Abandon.
func (j *Job) Start(exe string, env []string) error {
	job, sent, err := j.spec.pack()
	if err != nil {
		return fmt.Errorf("start runner of call %s: %w", j.spec.Mark(), err)
	}
	cmd := exec.Command(exe, Command, j.folder)
	cmd.Args[0], cmd.Dir = "agent", "/" // exe may be no name that says anything to a person
	// It waits for nearly all of its life; a second processor would only cost its start threads and
	// caches.
	cmd.Env = slices.Concat(env, []string{"GOMAXPROCS=1"}, fault.Race())
	cmd.ExtraFiles = []*os.File{j.lock.File(), job}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = job.Close() // the runner has its own copy: closing this one can lose nothing
	if sent(err == nil); err != nil {
		return fmt.Errorf("start runner of call %s: %w", j.spec.Mark(), err)
	}
	// Its end is known by the lock; waiting only reaps it, and how it ended says nothing about the
	// command.
	go func() { _ = cmd.Wait() }()
	// A close, never an unlock, which would free the runner's lock too. Its error is no news: the
	// text in the file was synced, the descriptor is gone either way, and the runner is going.
	_ = j.lock.Close()
	return nil
}

// encode is a Spec as it travels.
func (s Spec) encode() ([]byte, error) {
	return json.Marshal(wire{
		Identity: s.Identity, Script: []byte(s.Script), Shell: sandbox.ToBytes(s.Shell), Dir: []byte(s.Dir), Env: sandbox.ToBytes(s.Env),
		Timeout: s.Timeout, Keep: s.Keep, Grace: s.Grace, Sandbox: s.Sandbox, Before: s.Before,
	})
}

// spec is the way back from encode.
func (w wire) spec() Spec {
	return Spec{
		Identity: w.Identity, Script: string(w.Script), Shell: sandbox.ToStrings(w.Shell), Dir: string(w.Dir), Env: sandbox.ToStrings(w.Env),
		Timeout: w.Timeout, Keep: w.Keep, Grace: w.Grace, Sandbox: w.Sandbox, Before: w.Before,
	}
}
