package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"agent/host/config"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// Call is what a hook before a call reads: one object, in one line. Fields are only ever added. It
// has passed redaction.
type Call struct {
	Version int             `json:"version"`
	Event   string          `json:"event"` // before_call
	Time    time.Time       `json:"time"`
	Run     string          `json:"run_id"`
	Thread  string          `json:"thread_id"`
	Folder  string          `json:"folder"`
	Mode    journal.Mode    `json:"mode"`
	ID      string          `json:"call_id"`
	Tool    string          `json:"tool"`
	Effect  journal.Effect  `json:"effect"`
	Confine string          `json:"confinement,omitempty"` // what the system confines it to
	Args    json.RawMessage `json:"arguments"`
	Message string          `json:"message"` // the tool, with the beginning of its arguments, in one line
}

// denies is the exit status by which a hook denies a call.
const denies = 2

// mostReason is how much of what a hook prints is a reason; bytes.
const mostReason = 1 << 10

// Before asks the hooks that a call concerns, one after the other, whether it may act, and returns
// why not, "" where none of them is against it, and whether one was asked. One that fails or takes
// too long denies it too: whoever has put a guard there does not want it passed because it
// stumbled. It returns ctx's error, and no reason, where that ends first. A hook can allow nothing:
// who asks has still to look at the rules.
func (c *Caller) Before(ctx context.Context, run journal.RunCreated, mode journal.Mode, call *recovery.Call) (why string, looked bool, err error) {
	if c == nil {
		return "", false, nil
	}
	all, err := c.guards()
	if err != nil {
		return "the hooks of config.toml cannot be read: " + c.o.Redact(err.Error()), false, nil
	}
	var text []byte
	for _, h := range all {
		if !h.About(call.Tool) {
			continue
		}
		if text == nil {
			if text, err = json.Marshal(c.o.Clean(newCall(run, mode, call))); err != nil {
				return fmt.Sprintf("what its hooks are to read: %v", err), false, nil
			}
			text = append(text, '\n')
		}
		why, err := c.ask(ctx, h, text)
		if why != "" {
			c.log().Warn("hook", "event", config.OnCall, "run", run.Run, "call", call.ID, "command", h.Command[0], "reason", c.o.Redact(why))
		}
		if why != "" || err != nil {
			return why, true, err
		}
	}
	return "", text != nil, nil
}

func newCall(run journal.RunCreated, mode journal.Mode, call *recovery.Call) Call {
	return Call{
		Version: 1, Event: config.OnCall, Time: fault.Now(), Run: run.Run, Thread: run.Thread, Folder: clean(run.Folder), Mode: mode,
		ID: call.ID, Tool: call.Tool, Effect: call.Effect, Confine: call.Sandbox, Args: call.Args, Message: call.Tool + ": " + oneLine(string(call.Args)),
	}
}

// ask calls one hook, and returns why it denies.
func (c *Caller) ask(ctx context.Context, h config.Hook, text []byte) (string, error) {
	printed, err := c.carryOut(ctx, h, text, func() {})
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	name := "hook " + clean(h.Command[0])
	reason := cut(strings.Join(strings.Fields(printed), " "), mostReason)
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, errOpen):
		return "", nil // with what it left behind it has said nothing against the call
	case errors.As(err, &exit) && exit.ExitCode() == denies:
		return fmt.Sprintf("%s denies it: %s", name, cmp.Or(reason, "it gives no reason")), nil
	case reason != "":
		reason = ": " + reason
	}
	return fmt.Sprintf("%s failed, and a call that it is to look at is not carried out: %s%s (%s)", name, c.o.Redact(err.Error()), reason, h.Where), nil
}
