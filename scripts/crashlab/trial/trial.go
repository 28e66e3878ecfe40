//go:build linux

// Package trial carries one story through its world to its end, as a person would: it gives the
// next command, kills where the plan says, answers what is asked, and has the judge look after each
// command.
package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/world"
)

// Trial is one story on its way to its end.
type Trial struct {
	Story  *story.Story
	World  *world.World
	Arms   []plan.Arm
	Victim string // of a runner's point: runner, host or both
	Leave  bool   // what did not happen is left, instead of run once more
	Prompt string
	Brief  bool // see CheckAtEnd

	Commands     int
	Fired        []plan.Arm
	Unknown      int      // calls whose outcome was recorded as unknown
	Needless     []string // those of them whose tool can find out, if only the host was killed
	Found        judge.Findings
	Histories    []*judge.History
	Record       *journal.Record
	MostTimes    int // times that an effect may happen; 0 for once
	continued    int // times that what failed was continued
	answered     int
	RunnerHalted bool // a runner is stopped until the next command has seen it
	runnersArmed bool // runners of an earlier command may still come to the point at which they are stopped
	Wary         bool // a person allows only what the witness has not seen
}

const MostCommands = 30

// Finish carries the story to its end as a person would: resume what was interrupted, answer what
// is asked.
func (t *Trial) Finish(ctx context.Context) error { return t.Proceed(ctx, t.Step) }

// Proceed gives one command after the other to step, until the story is at its end.
func (t *Trial) Proceed(ctx context.Context, step func(args []string) error) error {
	args := t.Story.RunArgs(t.Prompt, t.World.URL())
	for args != nil {
		if t.Commands >= MostCommands {
			return fmt.Errorf("%w: %d commands, the next is agent %s", world.ErrStuck, t.Commands, strings.Join(args, " "))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(args); err != nil {
			return err
		}
		var err error
		if args, err = t.Next(); err != nil {
			return err
		}
	}
	return nil
}

// Step carries out one command, with what is armed for it, and looks at what it left.
func (t *Trial) Step(args []string) error {
	if err := t.run(args); err != nil {
		return err
	}
	if err := t.World.WaitServers(); err != nil {
		return err
	}
	return t.Look()
}

func (t *Trial) run(args []string) error {
	at := slices.IndexFunc(t.Arms, func(a plan.Arm) bool { return a.Command == t.Commands })
	t.Commands++
	text := ""
	if at >= 0 {
		text = fmt.Sprintf("%s:%d", t.Arms[at].Point, t.Arms[at].Pass)
		if t.Arms[at].InRunner() {
			text = t.Arms[at].Point + ":1:stop" // every runner counts for itself
		}
	}
	c, err := t.World.Start(text, args...)
	if err != nil {
		return err
	}
	type blow struct {
		fell bool
		err  error
	}
	struck := make(chan blow, 1)
	switch {
	case t.RunnerHalted:
		t.RunnerHalted = false
		go func() { struck <- blow{false, t.ReleaseRunners(c)} }()
	case at >= 0 && t.Arms[at].InRunner():
		t.runnersArmed = true
		go func() {
			fell, err := t.killAt(c, t.Arms[at])
			struck <- blow{fell, err}
		}()
	case t.runnersArmed: // of several at once, some come to it only when the host is dead
		go func() { struck <- blow{false, t.World.ReleaseStopped(c)} }()
	default:
		close(struck)
	}
	o, ok, err := t.Attend(c)
	b := <-struck
	if err := errors.Join(err, b.err); err != nil {
		return errors.Join(err, Abort(c))
	}
	if b.fell {
		t.Fired = append(t.Fired, t.Arms[at])
	}
	if !ok {
		return fmt.Errorf("%w: agent %s: %w after %s", world.ErrStuck, strings.Join(args, " "), world.ErrLate, world.Limit)
	}
	if o.Killed && at >= 0 && !t.Arms[at].InRunner() {
		t.Fired = append(t.Fired, t.Arms[at])
	}
	if o.Code == 2 {
		return fmt.Errorf("agent %s: wrong usage:\n%s", strings.Join(args, " "), o.Text)
	}
	return nil
}

func Abort(c *world.Command) error {
	c.Kill()
	_, _ = c.Wait() // what it printed is kept; that it was killed is known
	return nil
}

// killAt waits while the command runs. Every runner stops at the point; at the n-th the victim is
// killed, the others go on. It says whether somebody was killed.
func (t *Trial) killAt(c *world.Command, a plan.Arm) (fell bool, err error) {
	stood := map[world.Process]bool{}
	for {
		p, ok := t.World.WaitStopped(c)
		if !ok {
			return fell, nil
		}
		p.State = 0
		fresh := !stood[p]
		stood[p] = true
		if !fresh || len(stood) != a.Pass {
			if err := p.Signal(syscall.SIGCONT); err != nil {
				return fell, err
			}
			continue
		}
		fell = true
		if t.Victim != "runner" {
			c.Kill()
			<-c.Ended
		}
		if t.Victim == "host" && t.staysHalted(a) {
			t.RunnerHalted = true
			return fell, nil
		}
		s := syscall.SIGKILL
		if t.Victim == "host" {
			s = syscall.SIGCONT
		}
		if err := p.Signal(s); err != nil {
			return fell, err
		}
	}
}

// staysHalted says whether runners are stopped until the next command has seen them, in half of the
// stories: a command of a story is over in a moment, and no runner would ever be found at work.
func (t *Trial) staysHalted(a plan.Arm) bool {
	for _, other := range t.Arms {
		if other != a && other.InRunner() {
			return false // who is stopped there is counted
		}
	}
	return plan.Pick(2, t.Story.Tool, t.Story.Situation, t.Story.Shape, a.String()) == 0
}

// AttachPatience is how long a command may take to see that a runner is at work.
const AttachPatience = 3 * time.Second

// ReleaseRunners lets runners that are stopped go on once the command has printed that it waits for
// one, or does not print it in time.
func (t *Trial) ReleaseRunners(c *world.Command) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(AttachPatience)
	defer late.Stop()
	for waits := true; waits && !strings.Contains(c.Text.String(), "still running"); {
		select {
		case <-tick.C:
		case <-late.C:
			waits = false
		case <-c.Ended:
			waits = false
		}
	}
	return t.World.ReleaseStopped(c)
}

// Look reads the record and compares it with everything that is known so far.
func (t *Trial) Look() error {
	r, err := journal.Load(t.World.State, t.World.Root)
	if err != nil {
		return err
	}
	all, f := judge.Check(r, func(string) bool { return true }) // whoever was killed left its run as it was: the next start marks it
	saw, err := t.World.Witness.Counts()
	if err != nil {
		return err
	}
	if t.Wary { // what was done before is not in this record
		f = append(f, judge.Overdone(saw, max(t.MostTimes, 1))...)
	} else {
		f = append(f, judge.CompareRepeated(all, saw, max(t.MostTimes, 1))...)
	}
	f = append(f, judge.CompareKept(t.Histories, all)...)
	if len(all) == 1 { // now, and not only at the end: by then what was lost may have been done again
		f = append(f, judge.CompareShown(all[0], r, t.World.Outputs)...)
	}
	t.Found = append(t.Found, f...)
	t.Histories, t.Record = all, r
	if len(f) > 0 {
		return ErrFound
	}
	return nil
}

// ErrFound ends a story in which something was found already.
var ErrFound = errors.New("something is not as promised")

// Next is the command that a person would give now; nil at the end.
func (t *Trial) Next() ([]string, error) {
	if len(t.Histories) == 0 {
		return t.Story.RunArgs(t.Prompt, t.World.URL()), nil
	}
	h := t.Histories[len(t.Histories)-1]
	switch h.Run.Status {
	case "failed":
		if t.Story.Shape == "runbook" && t.continued < 2 && !t.Wary { // who answered no does not want the step
			t.continued++
			return t.Story.ContinueArgs(t.World.URL()), nil
		}
		return nil, nil
	case "completed", "cancelled":
		return nil, nil
	}
	for _, q := range t.Record.Requests {
		if q.Run == h.Run.No && q.Status == "open" {
			word, err := t.Reply(h, h.Asked[q.ID])
			t.answered++
			return []string{"answer", q.ID, word}, err
		}
	}
	return []string{"resume", h.Run.ID}, nil
}

// Reply is how the lab answers: about an unknown outcome what the witness saw, else what lets the
// story go on.
func (t *Trial) Reply(h *judge.History, b journal.Body) (string, error) {
	q := b.Request
	if q.Kind == "ask_user" || q.Kind == "elicitation" {
		return "blue", nil
	}
	happens := q.Kind == "twin" || q.Kind == "copy" // it is asked whether the effect is there
	if !happens && (!t.Wary || q.Call == nil) {
		return "yes", nil
	}
	saw, err := t.World.Witness.Counts()
	if err != nil || q.Call == nil {
		return "", errors.Join(err, errors.New("a question about a call names none"))
	}
	c := h.Call(q.Call.Turn, q.Call.Index)
	if c == nil {
		return "", fmt.Errorf("request %s is about call %d.%d, which nobody asked for", q.ID, q.Call.Turn, q.Call.Index)
	}
	switch happened := slices.ContainsFunc(c.Marks, func(m string) bool { return saw[m] > 0 }); {
	case !happens && happened:
		return "no", nil
	case !happens:
		return "yes", nil
	case happened:
		return "happened", nil
	}
	if t.Leave || !slices.Contains(q.Choices, "run") {
		if slices.Contains(q.Choices, "stop-asking") {
			return "stop-asking", nil
		}
		return "leave", nil
	}
	return "run", nil
}
