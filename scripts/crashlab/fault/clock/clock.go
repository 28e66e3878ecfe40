//go:build linux

// Package clock sets the clock of a process by hours, days and years while a story goes on.
package clock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"agent/recovery/fault"
	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/mcp"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// timedStory is a story in which the clock of a process is set while it goes on. What follows is
// chosen by its key.
type timedStory struct {
	plan.Job
	jump  string // as in clock+26h
	seed  uint64
	cmd   int // the command whose clock is set
	point string
	pass  int
	kill  string // where the same process is killed behind that; "" for nowhere
	later string // where the clock of the commands after it stands, from what it is; "" for there
}

// jumps are hours, days and years.
func jumps() []string {
	return []string{"+3h", "-3h", "+26h", "-26h", "+960h", "-960h", "+87600h", "-87600h"}
}

func tools() []string {
	return []string{"shell", "shell:write", "write_file", "fetch", "read_file", "ask_user", "confirm_action", mcp.Tool("count"), mcp.Tool("ask")}
}

// Fault sets the clock of a process.
func Fault() lab.Fault {
	return lab.Fault{
		Name: "clock", What: "the clock of a process is set by hours, days and years, ahead and back",
		Needs: func(*lab.Lab) error { return nil }, Run: run,
	}
}

// run sets the clock.
func run(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	if c.Only == "" {
		if err := controls(ctx, l); err != nil {
			return err
		}
	}
	all, err := list(c)
	if err != nil {
		return err
	}
	var stories []lab.Case
	for _, s := range all {
		stories = append(stories, lab.Case{Key: s.key(), Try: func(ctx context.Context, key string) error { return play(ctx, l, key, s) }})
	}
	return l.RunCases(ctx, "clock", c, stories)
}

// list lists every tool in every situation with every step of the clock, or some of them, or the
// one that is asked for.
func list(c lab.Choice) ([]*timedStory, error) {
	if c.Only != "" {
		s, err := parse(c.Only)
		return []*timedStory{s}, err
	}
	var out []*timedStory
	for _, tool := range tools() {
		for _, situation := range story.Situations() {
			for i, jump := range jumps() {
				for k := range story.Shapes() {
					shape := story.Shapes()[(i+k+int(c.Seed))%len(story.Shapes())]
					if _, why := story.New(tool, situation, shape, 0, "127.0.0.1:1"); why == "" {
						out = append(out, newStory(tool, situation, shape, jump, c.Seed))
						break
					}
				}
			}
		}
	}
	if !c.Short {
		return out, nil
	}
	rand.New(rand.NewPCG(c.Seed, 0)).Shuffle(len(out), func(i, k int) { out[i], out[k] = out[k], out[i] })
	var few []*timedStory
	used := map[string]bool{}
	for _, s := range out { // one of each situation, and one of each step
		if !used[s.Situation] || !used[s.jump] {
			few = append(few, s)
		}
		used[s.Situation], used[s.jump] = true, true
	}
	return few, nil
}

// key names it, after "clock/".
func (s *timedStory) key() string {
	return strings.Join([]string{s.Tool, s.Situation, s.Shape, s.jump, strconv.FormatUint(s.seed, 10)}, "/")
}

func parse(key string) (*timedStory, error) {
	f := strings.Split(key, "/")
	if len(f) != 5 {
		return nil, fmt.Errorf("%q is no story of the clock: TOOL/SITUATION/SHAPE/STEP/SEED", key)
	}
	seed, err := strconv.ParseUint(f[4], 10, 64)
	_, why := story.New(f[0], f[1], f[2], 0, "127.0.0.1:1")
	if err != nil || why != "" || !slices.Contains(story.Situations(), f[1]) || !slices.Contains(story.Shapes(), f[2]) || !slices.Contains(jumps(), f[3]) {
		return nil, fmt.Errorf("%q is no story of the clock: TOOL/SITUATION/SHAPE/STEP/SEED. %s", key, why)
	}
	return newStory(f[0], f[1], f[2], f[3], seed), nil
}

func newStory(tool, situation, shape, jump string, seed uint64) *timedStory {
	s := &timedStory{Job: plan.Job{Tool: tool, Situation: situation, Shape: shape, Victim: "host"}, jump: jump, seed: seed}
	own, _ := story.New(tool, situation, shape, 0, "127.0.0.1:1")
	r := rand.New(rand.NewPCG(seed, uint64(plan.Pick(1<<30, tool, situation, shape, jump))))
	var points, kills []string
	for _, p := range fault.Driving() {
		if own.Misses(string(p)) != "" {
			continue
		}
		points = append(points, string(p))
		if !strings.HasPrefix(string(p), "runner.") && p != fault.Started {
			kills = append(kills, string(p))
		}
	}
	if situation == "failure" && r.IntN(2) == 0 {
		points = []string{string(fault.AfterFailed)} // the wait is what it is about
	}
	s.point, s.pass = points[r.IntN(len(points))], 1+r.IntN(2)
	if situation == "recovery" {
		s.Arms, s.cmd = []plan.Arm{plan.FirstKill(tool, s.point)}, 1
	} else if p := fault.Point(s.point); p == fault.AnswerRecorded || p == fault.AfterAnswer || own.AsksSomebody() && r.IntN(3) == 0 {
		s.cmd = 1
	}
	if r.IntN(3) > 0 {
		s.kill = fmt.Sprintf("%s:%d", kills[r.IntN(len(kills))], 1+r.IntN(2))
	}
	s.later = []string{"", "-26h", "-87600h"}[r.IntN(3)]
	s.Leave = r.IntN(2) == 0
	s.Change = s.limits
	return s
}

// limits give the story what depends on time. A run that was killed may be charged for the time
// until it is taken up again, by the clock: nothing else knows of it.
func (s *timedStory) limits(own *story.Story) {
	own.RetryAfter = 1
	if s.kill == "" && len(s.Arms) == 0 {
		own.Flags = append(own.Flags, "--timeout", "5m")
	}
	if s.Leave {
		own.Flags = append(own.Flags, "--expire", "10h")
	}
	for _, turn := range own.Turns {
		for i, st := range turn {
			if st.Tool == "shell" && own.Shape != "runbook" {
				st.Args["timeout"] = 120
				turn[i] = st
			}
		}
	}
}

// arm is what is armed for one of the story's commands.
func (s *timedStory) arm(cmd int) string {
	switch {
	case cmd < len(s.Arms):
		return fmt.Sprintf("%s:%d", s.Arms[cmd].Point, s.Arms[cmd].Pass)
	case cmd == s.cmd && s.kill != "":
		return fmt.Sprintf("%s:%d:clock%s,%s:kill", s.point, s.pass, s.jump, s.kill)
	case cmd == s.cmd:
		return fmt.Sprintf("%s:%d:clock%s", s.point, s.pass, s.jump)
	case cmd > s.cmd && s.later != "":
		return "process.started:1:clock" + s.later
	}
	return ""
}

// play carries one of them out.
func play(ctx context.Context, l *lab.Lab, key string, s *timedStory) error {
	was, err := l.Intact(ctx, s.Job)
	if err != nil {
		return err
	}
	t, err := l.Begin(s.Job, nil)
	if err != nil {
		return err
	}
	t.Arms = nil // they are the story's own
	ended := t.Proceed(ctx, func(args []string) error { return s.step(t, args) })
	if ended == nil {
		ended = s.looks(t)
	}
	is, err := l.Conclude(ctx, t, ended)
	if err != nil {
		return err
	}
	for _, c := range t.Needless {
		t.Found.Add(judge.Needless, "only the host was killed, and the outcome of call %s is recorded as unknown", c)
	}
	expired, f, err := expiries(filepath.Join(t.World.Root, "copy.db"))
	if err != nil {
		return errors.Join(err, t.World.Close(true))
	}
	t.Found = append(t.Found, f...)
	t.Found = append(t.Found, ages(t.World.Outputs)...)
	if len(t.Found) == 0 && expired == 0 {
		left := t.Unknown > 0 && (s.Leave || s.Shape == "runbook")
		t.Found = append(t.Found, judge.CompareEnds(was, is, t.Unknown > 0, left)...)
	}
	l.Report.AddFigure("clocks set", clockJumps(t))
	l.Report.AddFigure("questions expired", expired)
	return l.Finish(key, t, 0)
}

func (s *timedStory) step(t *trial.Trial, args []string) error {
	text := s.arm(t.Commands)
	t.Commands++
	c, err := t.World.Start(text, args...)
	if err != nil {
		return err
	}
	o, ok, err := t.Attend(c)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%w: agent %s: %w after %s", world.ErrStuck, strings.Join(args, " "), world.ErrLate, world.Limit)
	}
	if o.Killed {
		t.Fired = append(t.Fired, plan.Arm{Command: t.Commands - 1, Point: text, Pass: 1})
	}
	if o.Code == 2 {
		return fmt.Errorf("agent %s: wrong usage:\n%s", strings.Join(args, " "), o.Text)
	}
	if err := t.World.WaitServers(); err != nil {
		return err
	}
	return t.Look()
}

// looks shows the end where the clock is right, where it stands behind, and where it stands ahead.
func (s *timedStory) looks(t *trial.Trial) error {
	for _, clock := range []string{"", "+87600h", "-87600h"} {
		if clock != "" {
			clock = "process.started:1:clock" + clock
		}
		for _, args := range [][]string{{"ls", "--all"}, {"show", "last"}, {"show", "--json", "last"}, {"pending"}} {
			if t.Brief && clock != "" && args[0] != "ls" {
				continue
			}
			c, err := t.World.Start(clock, args...)
			if err != nil {
				return err
			}
			o, ok := c.Wait()
			if !ok || o.Code != 0 {
				return fmt.Errorf("%w: agent %s ends with %d", world.ErrStuck, strings.Join(args, " "), o.Code)
			}
		}
	}
	return nil
}

// clockJumps counts the places in the journal at which the time goes back, or ahead by more than
// any story takes.
func clockJumps(t *trial.Trial) int {
	n := 0
	for _, facts := range t.Record.Facts {
		for i, x := range facts {
			if i > 0 && (x.Time < facts[i-1].Time || x.Time-facts[i-1].Time > time.Hour.Microseconds()) {
				n++
			}
		}
	}
	return n
}

// expiries counts the questions that expired, and finds those whose time was not over by the clock
// of who closed them.
func expiries(path string) (n int, f judge.Findings, err error) {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = journal.Each(db, `SELECT id, opened_at, coalesce(expires_at, 0), closed_at FROM pending_requests WHERE status = 'expired'`, func(rows *sql.Rows) error {
		var id string
		var asked, expires, closed int64
		err := rows.Scan(&id, &asked, &expires, &closed)
		if n++; expires == 0 || closed < expires {
			f.Add(judge.Stuck, "request %s expired %s before its time was over", id, time.Duration(expires-closed)*time.Microsecond)
		}
		if hours := (time.Duration(expires-asked) * time.Microsecond).Round(time.Second); hours != 10*time.Hour {
			f.Add(judge.Broken, "request %s is open for %s, not for 10h", id, hours)
		}
		return err
	})
	return n, f, err
}
