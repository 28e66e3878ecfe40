package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// commandTime bounds one command of agent; those that start a driver return once it is going.
const commandTime = 2 * time.Minute

// Agent runs the program agent on one state folder.
type Agent struct {
	Path    string // of the program
	Home    string // AGENT_HOME
	Witness string // the socket of the witness; "" for none
}

// RefusedError is what agent says where it declines a command.
type RefusedError struct {
	Code string // such as key_reused; often empty
	Text string
	Exit int
}

func (e *RefusedError) Error() string { return e.Text }

// refusal is the object that agent prints with --json where it declines.
type refusal struct {
	Status string `json:"status"`
	Exit   int    `json:"exit_code"`
	Code   string `json:"code"`
	Error  string `json:"error"`
}

// call runs a command that prints one JSON object, and reads it into out. *RefusedError says that
// agent declined.
func (a Agent) call(ctx context.Context, out any, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	var stdout bytes.Buffer
	stderr, err := a.output(ctx, &stdout, args...)
	what := "agent " + args[0]
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
	if err != nil && !errors.As(err, new(*exec.ExitError)) && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("%s: %w", what, err)
	}
	var r refusal
	if json.Unmarshal(stdout.Bytes(), &r) != nil {
		return a.unread(what, err, stderr)
	}
	if r.Status == "refused" {
		return &RefusedError{Code: r.Code, Text: r.Error, Exit: r.Exit}
	}
	if err := json.Unmarshal(stdout.Bytes(), out); err != nil {
		return fmt.Errorf("%s: read what it printed: %w", what, err)
	}
	return nil
}

// output runs a command, and gives what it says on stderr.
func (a Agent) output(ctx context.Context, out io.Writer, args ...string) (errs string, err error) {
	cmd := exec.CommandContext(ctx, a.Path, args...)
	cmd.Env = a.environ(driving(args[0]))
	cmd.WaitDelay = time.Second // a driver may hold on to the pipes
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &stderr
	err = cmd.Run()
	return stderr.String(), err
}

// environ is that of a command; one that drives a run has a witness, unless there is no log.
func (a Agent) environ(drives bool) []string {
	env := append(os.Environ(), "AGENT_HOME="+a.Home)
	if drives && a.Witness != "" {
		env = append(env, "AGENT_WITNESS=unix:"+a.Witness)
	}
	return env
}

// unread says how a command ended whose output cannot be read.
func (a Agent) unread(what string, err error, stderr string) error {
	how := "it ended as if all were well, and its answer cannot be read"
	if err != nil {
		how = "it ended with " + err.Error()
	}
	if last := lastLine(stderr); last != "" {
		how += ": " + last
	}
	return fmt.Errorf("%s on the state folder %s: %s; %s doctor says what is wrong there, and --agent names another program", what, a.Home, how, a.Path)
}

// lastLine is the last line of a text that says something.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
