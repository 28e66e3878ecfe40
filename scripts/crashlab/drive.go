//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// arm is a fault that is armed for one command of a story.
type arm struct {
	cmd   int // the first is 0
	point string
	n     int
}

func (a arm) String() string { return fmt.Sprintf("%d:%s:%d", a.cmd, a.point, a.n) }

// inRunner says that the point is the runner's: it is stopped there, and then who shall die is killed.
func (a arm) inRunner() bool {
	return strings.HasPrefix(a.point, "runner.") && a.point != "runner.spawned"
}

// tale is one story on its way to its end.
type tale struct {
	story  *story
	world  *world
	arms   []arm
	victim string // of a runner's point: runner, host or both
	leave  bool   // what did not happen is left, instead of run once more
	prompt string
	brief  bool // see quietEnd

	cmd      int
	fired    []arm
	unknown  int      // calls whose outcome was told as unknown
	needless []string // those of them whose tool can find out, if only the host was killed
	found    findings
	last     []*history
	record   *record
	most     int // times that an effect may happen; 0 for once
	again    int // times that what failed was continued
	answered int
	holds    bool // a runner stands still until the next command has seen it
	wary     bool // a person allows only what the witness has not seen
}

// errStuck says that the story does not come to its end.
var errStuck = errors.New("the run never ends")

const mostCommands = 30

// finish carries the story to its end as a person would: resume what was interrupted, answer what is asked.
func (t *tale) finish(ctx context.Context) error { return t.proceed(ctx, t.step) }

// proceed gives one command after the other to step, until the story is at its end.
func (t *tale) proceed(ctx context.Context, step func(args []string) error) error {
	args := t.story.runArgs(t.prompt, t.world.url())
	for args != nil {
		if t.cmd >= mostCommands {
			return fmt.Errorf("%w: %d commands, the next is agent %s", errStuck, t.cmd, strings.Join(args, " "))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(args); err != nil {
			return err
		}
		var err error
		if args, err = t.next(); err != nil {
			return err
		}
	}
	return nil
}

// step carries out one command, with what is armed for it, and looks at what it left.
func (t *tale) step(args []string) error {
	if err := t.command(args); err != nil {
		return err
	}
	if err := t.world.serversGone(); err != nil {
		return err
	}
	return t.look()
}

func (t *tale) command(args []string) error {
	at := slices.IndexFunc(t.arms, func(a arm) bool { return a.cmd == t.cmd })
	t.cmd++
	text := ""
	if at >= 0 {
		text = fmt.Sprintf("%s:%d", t.arms[at].point, t.arms[at].n)
		if t.arms[at].inRunner() {
			text = t.arms[at].point + ":1:stop" // every runner counts for itself
		}
	}
	c, err := t.world.start(text, args...)
	if err != nil {
		return err
	}
	type blow struct {
		fell bool
		err  error
	}
	struck := make(chan blow, 1)
	switch {
	case t.holds:
		t.holds = false
		go func() { struck <- blow{false, t.letGo(c)} }()
	case at >= 0 && t.arms[at].inRunner():
		go func() {
			fell, err := t.strike(c, t.arms[at])
			struck <- blow{fell, err}
		}()
	default:
		close(struck)
	}
	o, ok, err := t.attend(c)
	b := <-struck
	if err := errors.Join(err, b.err); err != nil {
		return errors.Join(err, endOf(c))
	}
	if b.fell {
		t.fired = append(t.fired, t.arms[at])
	}
	if !ok {
		return fmt.Errorf("%w: agent %s: %w after %s", errStuck, strings.Join(args, " "), errLate, limit)
	}
	if o.killed && at >= 0 && !t.arms[at].inRunner() {
		t.fired = append(t.fired, t.arms[at])
	}
	if o.code == 2 {
		return fmt.Errorf("agent %s: wrong usage:\n%s", strings.Join(args, " "), o.text)
	}
	return nil
}

func endOf(c *command) error {
	c.kill()
	_, _ = c.wait() // what it printed is kept; that it was killed is known
	return nil
}

// strike stands by while the command runs: every runner stops at the point; the n-th is where somebody is killed, the others
// go on. It says whether it came to that.
func (t *tale) strike(c *command, a arm) (fell bool, err error) {
	stood := map[process]bool{}
	for {
		p, ok := t.world.stopped(c)
		if !ok {
			return fell, nil
		}
		p.state = 0
		fresh := !stood[p]
		stood[p] = true
		if !fresh || len(stood) != a.n {
			if err := p.signal(syscall.SIGCONT); err != nil {
				return fell, err
			}
			continue
		}
		fell = true
		if t.victim != "runner" {
			c.kill()
			<-c.ended
		}
		if t.victim == "host" && t.keepsStanding(a) {
			t.holds = true
			return fell, nil
		}
		s := syscall.SIGKILL
		if t.victim == "host" {
			s = syscall.SIGCONT
		}
		if err := p.signal(s); err != nil {
			return fell, err
		}
	}
}

// keepsStanding says whether runners stand still until the next command has seen them, in half of the stories: a command of a
// story is over in a moment, and nobody would ever be met at work.
func (t *tale) keepsStanding(a arm) bool {
	for _, other := range t.arms {
		if other != a && other.inRunner() {
			return false // who stands still there is counted
		}
	}
	return pick(2, t.story.tool, t.story.situation, t.story.shape, a.String()) == 0
}

// attachPatience is how long a command may take to see that a runner is at work.
const attachPatience = 3 * time.Second

// letGo lets runners that stand still go on once the command has said that it waits for one, or does not say so in time.
func (t *tale) letGo(c *command) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(attachPatience)
	defer late.Stop()
	for waits := true; waits && !strings.Contains(c.text.String(), "still running"); {
		select {
		case <-tick.C:
		case <-late.C:
			waits = false
		case <-c.ended:
			waits = false
		}
	}
	for {
		p, ok := t.world.stopped(c)
		if !ok {
			return nil
		}
		if err := p.signal(syscall.SIGCONT); err != nil {
			return err
		}
	}
}

// look reads the record and holds it against everything that is known.
func (t *tale) look() error {
	r, err := load(t.world.state, t.world.root)
	if err != nil {
		return err
	}
	all, f := check(r, func(string) bool { return true }) // whoever was killed left its run as it was: the next start marks it
	saw, err := t.world.witness.counts()
	if err != nil {
		return err
	}
	if t.wary { // what was done before is not in this record
		f = append(f, overdone(saw, max(t.most, 1))...)
	} else {
		f = append(f, compareRepeated(all, saw, max(t.most, 1))...)
	}
	f = append(f, compareKept(t.last, all)...)
	if len(all) == 1 { // now, and not only at the end: by then what was lost may have been done again
		f = append(f, compareShown(all[0], r, t.world.outputs)...)
	}
	t.found = append(t.found, f...)
	t.last, t.record = all, r
	if len(f) > 0 {
		return errFound
	}
	return nil
}

// errFound ends a story in which something was found already.
var errFound = errors.New("something is not as promised")

// next is the command that a person would give now; nil at the end.
func (t *tale) next() ([]string, error) {
	if len(t.last) == 0 {
		return t.story.runArgs(t.prompt, t.world.url()), nil
	}
	h := t.last[len(t.last)-1]
	switch h.run.status {
	case "failed":
		if t.story.shape == "runbook" && t.again < 2 && !t.wary { // who said no does not want the step
			t.again++
			return t.story.continueArgs(t.world.url()), nil
		}
		return nil, nil
	case "completed", "cancelled":
		return nil, nil
	}
	for _, q := range t.record.requests {
		if q.run == h.run.no && q.status == "open" {
			word, err := t.reply(h, h.asked[q.id])
			t.answered++
			return []string{"answer", q.id, word}, err
		}
	}
	return []string{"resume", h.run.id}, nil
}

// reply is the lab's policy: about an unknown outcome what the witness saw, else what lets the story go on.
func (t *tale) reply(h *history, b body) (string, error) {
	q := b.Request
	if q.Kind == "ask_user" || q.Kind == "elicitation" {
		return "blue", nil
	}
	if q.Kind != "twin" && (!t.wary || q.Call == nil) {
		return "yes", nil
	}
	saw, err := t.world.witness.counts()
	if err != nil || q.Call == nil {
		return "", errors.Join(err, errors.New("a question about a call names none"))
	}
	c := h.call(q.Call.Turn, q.Call.Index)
	if c == nil {
		return "", fmt.Errorf("request %s is about call %d.%d, which nobody asked for", q.ID, q.Call.Turn, q.Call.Index)
	}
	switch happened := slices.ContainsFunc(c.marks, func(m string) bool { return saw[m] > 0 }); {
	case q.Kind != "twin" && happened:
		return "no", nil
	case q.Kind != "twin":
		return "yes", nil
	case happened:
		return "happened", nil
	}
	if t.leave || !slices.Contains(q.Choices, "run") {
		if slices.Contains(q.Choices, "stop-asking") {
			return "stop-asking", nil
		}
		return "leave", nil
	}
	return "run", nil
}

// end is what a story leaves behind, with its world's number taken out.
type end struct {
	files   map[string]string
	saw     map[string]int
	answer  string
	status  string
	reads   []string // what calls that change nothing brought
	cmds    int
	results int
	limits  int // questions that a limit asked
}

func (t *tale) end() (end, error) {
	e := end{files: map[string]string{}, saw: map[string]int{}, cmds: t.cmd}
	plain := func(text string) string {
		text = strings.ReplaceAll(text, t.world.root, "")
		return strings.ReplaceAll(text, markIn(t.world.number, ""), "mark-")
	}
	entries, err := os.ReadDir(t.world.dir)
	if err != nil {
		return e, err
	}
	for _, x := range entries {
		b, err := os.ReadFile(filepath.Join(t.world.dir, x.Name()))
		if err != nil {
			return e, err
		}
		e.files[plain(x.Name())] = plain(string(b))
	}
	for _, q := range t.record.requests {
		if q.kind == "max_turns" {
			e.limits++
		}
	}
	saw, err := t.world.witness.counts()
	for m, n := range saw {
		e.saw[plain(m)] = n
	}
	for _, h := range t.last {
		e.answer, e.status = plain(h.text), h.run.status
		for _, c := range h.calls {
			if len(c.results) == 0 {
				continue
			}
			r := c.results[0].Result
			if r.Outcome == "unknown" {
				t.unknown++
				if !subjects()[c.tool].blind {
					t.needless = append(t.needless, fmt.Sprintf("%d.%d %s", c.turn, c.index, c.tool))
				}
			}
			if subjects()[c.tool].class == reads && c.tool != "read_output" {
				e.reads = append(e.reads, c.tool+" "+r.Outcome+": "+plain(r.Content))
			}
			e.results++
		}
	}
	return e, err
}
