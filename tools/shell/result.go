package shell

import (
	"errors"
	"fmt"
	"strings"

	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/excerpt"
	"agent/tools/runner"
	"agent/tools/sandbox"
)

// ran is Result.Data of a command.
type ran struct {
	Status    int    `json:"status"` // exit status, 128 + number after a signal, -1 when there was none
	Signal    string `json:"signal,omitempty"`
	Cause     string `json:"cause"`
	Bytes     int64  `json:"bytes"` // printed
	Kept      int64  `json:"kept"`  // of them kept
	Truncated bool   `json:"truncated,omitempty"`
}

// resultOf makes a command's result from its exit record and its output. A command that ended by
// itself has a known outcome, whatever its status; of one that was stopped on its way nobody knows
// how far it came, unless it could only read.
func (t shell) resultOf(c tools.Call, e *runner.Exit, how journal.How) journal.Result {
	r := journal.Result{
		How: how, Size: e.Output,
		Data: tools.Encode(ran{
			Status: e.Status, Signal: e.Signal, Cause: string(e.Cause), Bytes: e.Output, Kept: e.Kept, Truncated: e.Truncated,
		}),
	}
	if !e.Started.IsZero() {
		r.Took = e.Took
	}
	switch {
	case e.Cause == runner.CauseExited && e.Status == 0:
		r.Outcome, r.Applied = journal.OutcomeOK, journal.AppliedYes
	case e.Cause == runner.CauseExited:
		r.Outcome, r.Applied = journal.OutcomeError, journal.AppliedYes
	case e.Started.IsZero(), t.onlyRead(c):
		r.Outcome, r.Applied = journal.OutcomeError, journal.AppliedNo
	default:
		r.Outcome, r.Applied = journal.OutcomeUnknown, journal.AppliedUnknown
	}
	out := t.outputOf(c)
	r.Content, r.Full = out.text, out.full
	if line := endLine(e); line != "" {
		r.Content = excerpt.AddLine(r.Content, line)
	}
	if r.Outcome == journal.OutcomeError {
		for _, why := range []string{t.deniedBy(c, r.Content), t.withoutVariables(c, r.Content)} {
			if why != "" {
				r.Content = excerpt.AddLine(r.Content, why)
			}
		}
	}
	if r.PutBack = runner.PutBackNotes(t.callFolder(c)); len(r.PutBack) == 0 {
		r.PutBack = e.PutBack
	}
	if len(r.PutBack) > 0 {
		r.Content = excerpt.AddLine(r.Content, putBackText(r.PutBack))
	}
	if r.Content == "" {
		r.Content = "[no output]"
	}
	r.Content = withAccess(c, r.Content)
	return r
}

// withAccess puts the access of a command that requested more in front of its result.
func withAccess(c tools.Call, content string) string {
	if c.Access == "" {
		return content
	}
	return fmt.Sprintf("[ran with access %s: %s. If it failed for that, ask again with access full]\n%s", c.Access, c.Why, content)
}

// withoutVariables says which variables of the person's the command did not get, where it or what
// it printed names one of them.
func (t shell) withoutVariables(c tools.Call, printed string) string {
	a, err := tools.Decode[shellArgs](c.Args)
	if err != nil {
		return ""
	}
	var named []string
	for _, name := range t.hidden {
		if names(a.Command, name) || names(printed, name) {
			named = append(named, name)
		}
	}
	if len(named) == 0 {
		return ""
	}
	return fmt.Sprintf("[not in a command's environment, because they are secrets: %s; the person can let them through: agent help secrets]", strings.Join(named, ", "))
}

// names says whether a text has the name of a variable in it, as a word of its own.
func names(text, name string) bool {
	part := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '_' || text[i] >= '0' && text[i] <= '9' || text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z')
	}
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		if i += at; !part(i-1) && !part(i+len(name)) {
			return true
		}
		at = i + 1
	}
}

// deniedBy says that the command's access may be why it failed, where what it printed reads like
// that.
func (t shell) deniedBy(c tools.Call, printed string) string {
	a, err := argsOf(c)
	if err != nil || !t.box.Support().Holds(a.access()) {
		return ""
	}
	var may string
	switch a.access() {
	case sandbox.Read:
		may = "changes nothing and reaches no network"
	case sandbox.Write:
		may = "changes the workspace (but for what git or an editor would run unasked, such as .git/config and hooks) and /tmp, and reaches no network"
	default:
		return ""
	}
	for _, sign := range []string{
		"Read-only file system", "Network is unreachable", "Temporary failure in name resolution", "Could not resolve host", "Device or resource busy",
		"read-only file system", "network is unreachable", "EROFS", "ENETUNREACH", "EAI_AGAIN",
	} {
		if strings.Contains(printed, sign) {
			return fmt.Sprintf("[a command with access %s %s: ask for more access if it needs more]", a.access(), may)
		}
	}
	return ""
}

// notStarted says why a runner never began. It unwraps to the error of a disk that took nothing,
// where that is why.
type notStarted struct{ seen runner.Evidence }

func (e *notStarted) Error() string { return "run the command: it was not started: " + e.seen.Why }

func (e *notStarted) Unwrap() error { return e.seen.Disk }

// endLine says how a command ended; empty after a plain success.
func endLine(e *runner.Exit) string {
	if e.Started.IsZero() {
		return joined("not started", string(e.Cause), e.Message)
	}
	switch e.Cause {
	case runner.CauseExited:
		line := ""
		if e.Status != 0 {
			line = fmt.Sprintf("exit status %d", e.Status)
		}
		return joined(line, e.Message)
	case runner.CauseSignalled:
		return joined("killed by signal "+e.Signal, e.Message)
	case runner.CauseTimeout:
		return joined("timed out", e.Message)
	case runner.CauseCancelled:
		return joined("cancelled", e.Message)
	}
	return joined("stopped", string(e.Cause), e.Message)
}

func joined(parts ...string) string {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return excerpt.Valid(strings.Join(said, ": "))
}

// output is what a command printed.
type output struct {
	text string // for the model: head and tail
	full []byte // all that is kept, when text is only a part of it
	size int64  // of all that was printed
}

func (t shell) outputOf(c tools.Call) output {
	head, tail, total, truncated, err := runner.Output(t.callFolder(c), runner.DefaultKeep)
	if err != nil && !errors.Is(err, runner.ErrSpoolDamaged) {
		return output{text: fmt.Sprintf("[the output cannot be read: %v]", err)}
	}
	full := head
	if truncated {
		gap := total - int64(len(head)) - int64(len(tail))
		full = append(fmt.Appendf(head, "\n[%d bytes of output are not kept]\n", gap), tail...)
	}
	o := output{size: total, text: bounded(full, total, total-int64(len(head)+len(tail)), c.ID)}
	if len(full) > excerpt.MaxOutput || truncated {
		o.full = full
	}
	if text := excerpt.Valid(o.text); text != o.text {
		o.text = excerpt.AddLine(text, "[bytes that are not UTF-8 are shown as \uFFFD]")
		o.full = full
	}
	if err != nil {
		o.text = excerpt.AddLine(o.text, "[the kept output is not what the command's record says: it was changed since]")
	}
	return o
}

// bounded is the head and the tail of a long output, with what is between them said, and how much
// of it is gone.
func bounded(full []byte, total, gone int64, call string) string {
	if len(full) <= excerpt.MaxOutput {
		return string(full)
	}
	reads := "read_output with call " + call + " reads them"
	if gone > 0 {
		reads = fmt.Sprintf("%d of those are not kept; read_output with call %s reads the others", gone, call)
	}
	head, tail := excerpt.Head(full, excerpt.MaxOutput/2), excerpt.Tail(full, excerpt.MaxOutput/2)
	left := total - int64(len(head)) - int64(len(tail))
	return fmt.Sprintf("%s\n[%d of %d bytes are left out here; %s]\n%s", head, left, total, reads, tail)
}

// printed is what a command had printed when its runner was lost; nil when that is nothing.
func (t shell) printed(c tools.Call) *journal.Result {
	out := t.outputOf(c)
	if notes := putBackText(runner.PutBackNotes(t.callFolder(c))); notes != "" {
		out.text = excerpt.AddLine(out.text, notes)
	}
	if out.text == "" {
		return nil
	}
	return &journal.Result{Content: out.text, Full: out.full, Size: out.size}
}
