// Package runner carries out a command in a small process of its own that outlives the host, and
// finds it again.
//
// One call has one folder. What lies in it says, to whoever looks and at any moment, what became of
// the call:
//
//	lock      the call's identity; locked from before the start is recorded until its end is.
//	          Liveness is this lock, never a pid.
//	began     written and synced before the command starts. Without it the command never started.
//	out, out.N  the spool: head of the output, then its newest segments, N being the offset of the
//	          first byte
//	cancel    a request to stop; looked at before the command starts, and watched after
//	alive     not on Linux: locked while a process of the command lives that has kept what it
//	          inherited
//	exit      how it ended; its bytes are reserved before the command starts, so that a full disk
//	          cannot lose it
//
// The order of effects:
//
//  1. Prepare makes the folder and the lock file, syncs them and takes the lock. Nothing runs.
//  2. The host commits the start of the call.
//  3. Start hands the lock to the runner process and closes the host's copy. The script and its
//     environment travel in memory, so that no secret in them rests on disk.
//  4. Main, in the runner process: keep the lock from the command, reserve exit, write began, start
//     the command, spool its output, write exit, let go of the lock.
//     A command that is confined starts as `agent __sandbox`, which sets its sandbox up while began
//     is made durable, and runs the command when that is done; the sandbox and all in it end with
//     the runner, and what a command with full access leaves behind stays, as it does without one.
//  5. Inspect and Wait read the folder and change nothing. Discard removes it once the result is in
//     the database.
//
// # Without Linux
//
// On macOS, the BSDs, and Linux under the build tag portable, the same records and the same order
// stand on less: locks of flock, sessions and process groups. What the kernel of Linux does is done
// so:
//
//   - The command dies with its runner: a second small process, the guard, leads the command's
//     group and waits at a pipe. When the runner is gone and did not let it go, it kills its own
//     group, whose number cannot be another's while it lives.
//   - What is left shows: the command inherits a descriptor with the lock of alive, and all that
//     it starts does. A held lock means that something lives, and not which process: it is
//     reported, and never signalled.
//   - A pid is signalled only while its lock proves that the process lives: the runner's by the
//     lock of its call, beside the record that it made, and on macOS its start time.
//   - The specification and a long script travel through pipes, cut off nowhere: the first must be
//     whole JSON, the second ends with its digest.
//
// What is lost: a process that left the group is not stopped with the command, only reported; one
// that closed what it inherited, too, is not seen. Nothing of that makes a call run twice: the
// outcome is unknown either way, and a person decides.
package runner

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"agent/tools/gitrepo"
	"agent/tools/sandbox"
)

// Defaults of Spec.
const (
	DefaultKeep  = 8 << 20
	DefaultGrace = 2 * time.Second
)

// Command is the hidden first argument with which the binary becomes the runner process (Main) of
// the folder that follows.
const Command = "__runner"

// MarkName is the environment variable that every process of a command carries, by which strays are
// found in /proc.
const MarkName = "AGENT_CALL"

// ErrUnsupported is returned where this system cannot run commands so that they outlive the host.
var ErrUnsupported = errors.New("a command that outlives the host needs Linux, macOS or a BSD; on Windows use it inside WSL")

// Identity names one attempt of one call. Records in a folder count only if they carry the same
// identity.
type Identity struct {
	Run         string `json:"run"`
	Turn        int    `json:"turn"`
	Index       int    `json:"index"`
	Attempt     int    `json:"attempt"`
	Fingerprint string `json:"fingerprint"`
}

// Mark is the value of MarkName in the environment of the call's command.
func (id Identity) Mark() string {
	return fmt.Sprintf("%s/%d-%d-%d", id.Run, id.Turn, id.Index, id.Attempt)
}

// Folder is the call's folder below root, which is the folder of all calls.
func (id Identity) Folder(root string) string {
	return filepath.Join(root, filepath.FromSlash(id.Mark()))
}

// IdentityOf reads back whose folder it is, without the fingerprint; false for a folder of another
// name.
func IdentityOf(folder string) (id Identity, ok bool) {
	id.Run = filepath.Base(filepath.Dir(folder))
	n, err := fmt.Sscanf(filepath.Base(folder), "%d-%d-%d", &id.Turn, &id.Index, &id.Attempt)
	return id, err == nil && n == 3
}

// Spec says what to run and within which limits.
type Spec struct {
	Identity
	Script  string          // given to the shell byte for byte
	Shell   []string        // the shell and its options, such as /bin/sh -e; the first is an absolute path
	Dir     string          // absolute working folder
	Env     []string        // the command's whole environment but for the mark; anything named AGENT_FAULT… is left out
	Timeout time.Duration   // counted from the command's start; 0 is none
	Keep    int64           // bytes of output kept on disk, half of them from the head; 0: DefaultKeep
	Grace   time.Duration   // from SIGTERM to SIGKILL; 0 is DefaultGrace
	Sandbox sandbox.Profile // what confines the command; the zero profile is nothing

	// Before is what was obeyed in the workspace before the command. What the command adds to that
	// is put back at its end, before its exit record is written; nil puts nothing back.
	Before *gitrepo.Snapshot
}

// Process names a process beyond doubt: a pid alone may be used again.
type Process struct {
	Pid   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks from boot
	Name  string `json:"name,omitempty"`
}

// brief names a process in a record. Where the system does not show which one is alive, its name is
// all that is known.
func (p Process) brief() string {
	if p.Pid == 0 {
		return p.Name
	}
	return fmt.Sprintf("%d %s", p.Pid, p.Name)
}

// Began is the record that a command may have started.
type Began struct {
	Identity
	Boot   string    `json:"boot"`   // boot id of the kernel
	Space  string    `json:"space"`  // pid namespace; a pid of another one means nothing here
	Runner Process   `json:"runner"` // also the session that the command runs in
	At     time.Time `json:"at"`
}

// Cause is why a command is at its end.
type Cause string

// The causes. Started of an Exit is the zero time when the command never started.
const (
	CauseExited     Cause = "exited"
	CauseSignalled  Cause = "signalled"
	CauseTimeout    Cause = "timeout"
	CauseCancelled  Cause = "cancelled"
	CauseStartError Cause = "start error"
	CauseLost       Cause = "lost" // it ended, and the system did not say how
)

// Exit is the record of how a command ended.
type Exit struct {
	Identity
	Status    int       `json:"status"` // exit code, 128 + number after a signal, -1 when there was none
	Signal    string    `json:"signal,omitempty"`
	Cause     Cause     `json:"cause"`
	Message   string    `json:"message,omitempty"` // for people: the reason of a cancel, a start error, what may still be running
	Output    int64     `json:"output"`            // bytes produced
	Kept      int64     `json:"kept"`              // bytes in the spool
	Truncated bool      `json:"truncated,omitempty"`
	Digest    string    `json:"digest"`  // sha256 of the spool, in hex
	Started   time.Time `json:"started"` // zero if it never started
	Ended     time.Time `json:"ended"`

	Took    time.Duration `json:"took,omitempty"`     // nanoseconds that passed, whatever the clock was set to meanwhile
	PutBack []string      `json:"put_back,omitempty"` // what the command planted, and what became of it, as sentences
}

// State is what a call's folder proves.
type State string

// The states.
const (
	Running      State = "running"       // the lock is held
	Ended        State = "ended"         // the lock is free and a matching exit record is there
	NeverStarted State = "never started" // the lock is free, its file is there, and neither began nor exit is
	NoEvidence   State = "no evidence"   // no folder, no lock file, or it names another call
	Unknown      State = "unknown"       // it may have started; nothing says how it ended
)

// Evidence is what Inspect found.
type Evidence struct {
	State     State
	Exit      *Exit     // of Ended
	Began     *Began    // of Running and Unknown, where it could be read; in Unknown always there, for Sweep
	Survivors []Process // of Unknown: what is left of the command
	Refused   bool      // of NeverStarted: the runner recorded that it started nothing
	Why       string    // one sentence for people
	Disk      error     // of NeverStarted: with what the disk of the call's folder took no record; nil for any other reason

	folder string // where it was found; for Trace
}

// Trace says where to look for the processes of a call that could not be shown dead.
type Trace struct {
	Boot  string    `json:"boot"`            // boot id of the kernel under which they were seen
	Began *Began    `json:"began,omitempty"` // nil if it could not be read
	Left  []Process `json:"left,omitempty"`
	Alive string    `json:"alive,omitempty"` // where processes do not show: the lock that is held while one lives
}

// withDefaults fills in the limits and refuses a specification that no runner could carry out.
func (s Spec) withDefaults() (Spec, error) {
	if len(s.Shell) == 0 || !filepath.IsAbs(s.Shell[0]) {
		return s, fmt.Errorf("prepare call %s: the shell %q is not an absolute path", s.Mark(), s.Shell)
	}
	if !filepath.IsAbs(s.Dir) {
		return s, fmt.Errorf("prepare call %s: the working folder %q is not an absolute path", s.Mark(), s.Dir)
	}
	if n := len(s.Run) + len(s.Fingerprint); n > 512 {
		return s, fmt.Errorf("prepare call: run and fingerprint have %d bytes, room is for 512", n)
	}
	if s.Keep <= 0 {
		s.Keep = DefaultKeep
	}
	if s.Grace <= 0 {
		s.Grace = DefaultGrace
	}
	return s, nil
}
