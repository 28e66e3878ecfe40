// Package launch carries out a command in a process of its own, a driver, which goes on whatever
// becomes of the one that asked for it: of its terminal, its session, or the process itself.
//
// The driver is this binary, started as `agent __drive` in a session of its own. It reads a [Job]
// from descriptor 3 and writes one [Answer] to descriptor 4: once the run is recorded and claimed,
// or when it ends without that. Descriptor 3 is open until the answer is read, so its end says that
// nobody waits for one. Its input is that of whoever starts it, unless that is a terminal.
// From the answer on nobody reads what it prints; its log is the log of the state folder. A driver
// that ends without an answer leaves the database to say what became of the run.
package launch

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"agent/recovery/fault"
)

// Command is the hidden command that a driver is started with.
const Command = "__drive"

// The driver's descriptors.
const (
	jobAt    = 3
	answerAt = 4
)

// version of the job and of the answer. Both are of the same binary, which may be replaced between
// a look at its path and its start.
const version = 1

// Job is what a driver carries out.
type Job struct {
	Version int      `json:"version"`
	Args    []string `json:"args"`             // a command line, without the binary's name
	Dir     string   `json:"dir"`              // the current folder, absolute
	Run     string   `json:"run,omitempty"`    // the id of the run, where the command starts one
	Thread  string   `json:"thread,omitempty"` // the id of its thread, where that begins
	Why     string   `json:"why,omitempty"`    // why the run goes on without a person who asked for it
	By      string   `json:"by,omitempty"`     // who asked for it, where that is not the user as such

	Pictures [][]byte `json:"pictures,omitempty"` // that go with the prompt, beside those that Args name
}

// Digest is the same for jobs that ask for the same.
func (j Job) Digest() string {
	h := sha256.New()
	for _, arg := range j.Args {
		fmt.Fprintf(h, "%d:%s", len(arg), arg) // never fails
	}
	for _, p := range j.Pictures {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return string(h.Sum(nil))
}

// Answer is what a driver reports, once.
type Answer struct {
	Version  int       `json:"version"`
	Accepted *Accepted `json:"accepted,omitempty"`
	Ended    *Ended    `json:"ended,omitempty"`

	Notes []string `json:"notes,omitempty"` // what it printed until then, a line each
	PID   int      `json:"-"`               // of the driver, also of one without an answer
}

// Accepted names a run that is recorded and that the driver holds.
type Accepted struct {
	Run     string `json:"run"`
	Thread  string `json:"thread"`
	Process int    `json:"process"`
}

// Ended is the end of a command that drove nothing.
type Ended struct {
	Code int    `json:"code"`          // the exit code
	Out  string `json:"out,omitempty"` // what it wrote on stdout, such as the object of --json
}

// ErrNoAnswer means that a driver ended without one.
var ErrNoAnswer = errors.New("its process ended without an answer")

// grace is how long a driver that is asked to stop may take to answer.
const grace = 10 * time.Second

// Start starts a driver with the environment env and waits for its answer. exe is the binary, in is
// what it reads; nil for nothing. When ctx ends first, the driver is asked to stop, and what it
// answers then still counts.
func Start(ctx context.Context, exe string, env []string, in *os.File, job Job) (Answer, error) {
	job.Version = version
	text, err := json.Marshal(job)
	if err != nil {
		return Answer{}, fmt.Errorf("start a process for it: %w", err)
	}
	p, err := spawn(exe, env, in)
	if err != nil {
		return Answer{}, fmt.Errorf("start a process for it: %w", err)
	}
	defer p.answer.Close() // it was only read
	fault.Hit(fault.DriverSpawned)
	stop := context.AfterFunc(ctx, func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it has ended, else
		time.AfterFunc(grace, func() { _ = p.answer.Close() })
	})
	defer stop()
	defer p.job.Close() // until then it says that somebody waits

	if _, err := p.job.Write(text); err != nil && !errors.Is(err, syscall.EPIPE) { // else it ended, which the answer shows
		return Answer{}, fmt.Errorf("give process %d its task: %w", p.cmd.Process.Pid, err)
	}
	a, err := hear(p.answer)
	a.PID = p.cmd.Process.Pid
	if err == nil {
		fault.Hit(fault.DriverAccepted)
	}
	return a, err
}

// spawned is a driver that was started.
type spawned struct {
	cmd    *exec.Cmd
	job    *os.File // it reads the other end
	answer *os.File // it writes the other end
}

func spawn(exe string, env []string, in *os.File) (*spawned, error) {
	heard, said, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	got, give, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, heard.Close(), said.Close())
	}
	cmd := exec.Command(exe, Command)
	cmd.Args[0], cmd.Dir, cmd.Env = "agent", "/", env
	cmd.ExtraFiles, cmd.SysProcAttr = []*os.File{got, said}, apart()
	if in != nil {
		cmd.Stdin = in
	}
	err = errors.Join(cmd.Start(), got.Close(), said.Close()) // the driver has its own copies
	if err != nil {
		return nil, errors.Join(err, heard.Close(), give.Close())
	}
	go func() { _ = cmd.Wait() }() // how it ends is in the database
	return &spawned{cmd: cmd, job: give, answer: heard}, nil
}

// hear waits for the answer.
func hear(from io.Reader) (Answer, error) {
	line, err := bufio.NewReader(from).ReadBytes('\n')
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, os.ErrClosed):
		return Answer{}, ErrNoAnswer
	case err != nil:
		return Answer{}, fmt.Errorf("wait for its process: %w", err)
	}
	var a Answer
	if err := json.Unmarshal(line, &a); err != nil {
		return Answer{}, fmt.Errorf("read the answer of its process: %w", err)
	}
	if a.Version != version || (a.Accepted == nil) == (a.Ended == nil) {
		return Answer{}, fmt.Errorf("read the answer of its process: it is of another version of agent (%.200s)", line)
	}
	return a, nil
}
