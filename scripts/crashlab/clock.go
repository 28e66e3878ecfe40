//go:build linux

package main

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
)

// clockStory is a story in which the clock of a process is set while it goes on. What follows is chosen by its key.
type clockStory struct {
	job
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

func clockTools() []string {
	return []string{"shell", "shell:write", "write_file", "fetch", "read_file", "ask_user", "confirm_action", mcpTool("count"), mcpTool("ask")}
}

// clockTrouble sets the clock of a process.
func clockTrouble() trouble {
	return trouble{
		name: "clock", what: "the clock of a process is set by hours, days and years, ahead and back",
		needs: func(*lab) error { return nil }, run: runClock,
	}
}

// runClock sets the clock.
func runClock(ctx context.Context, l *lab, c troubleChoice) error {
	if c.only == "" {
		if err := clockControls(ctx, l); err != nil {
			return err
		}
	}
	all, err := clockStories(c)
	if err != nil {
		return err
	}
	var stories []ordeal
	for _, s := range all {
		stories = append(stories, ordeal{s.key(), func(ctx context.Context, key string) error { return playClock(ctx, l, key, s) }})
	}
	return l.ordeals(ctx, "clock", c, stories)
}

// clockStories lists every tool in every situation with every step of the clock, or some of them, or the one that is asked for.
func clockStories(c troubleChoice) ([]*clockStory, error) {
	if c.only != "" {
		s, err := clockStoryOf(c.only)
		return []*clockStory{s}, err
	}
	var out []*clockStory
	for _, tool := range clockTools() {
		for _, situation := range situations() {
			for i, jump := range jumps() {
				for k := range shapes() {
					shape := shapes()[(i+k+int(c.seed))%len(shapes())]
					if _, why := tell(tool, situation, shape, 0, "127.0.0.1:1"); why == "" {
						out = append(out, newClockStory(tool, situation, shape, jump, c.seed))
						break
					}
				}
			}
		}
	}
	if !c.short {
		return out, nil
	}
	rand.New(rand.NewPCG(c.seed, 0)).Shuffle(len(out), func(i, k int) { out[i], out[k] = out[k], out[i] })
	var few []*clockStory
	used := map[string]bool{}
	for _, s := range out { // one of each situation, and one of each step
		if !used[s.situation] || !used[s.jump] {
			few = append(few, s)
		}
		used[s.situation], used[s.jump] = true, true
	}
	return few, nil
}

// key names it, after "clock/".
func (s *clockStory) key() string {
	return strings.Join([]string{s.tool, s.situation, s.shape, s.jump, strconv.FormatUint(s.seed, 10)}, "/")
}

func clockStoryOf(key string) (*clockStory, error) {
	f := strings.Split(key, "/")
	if len(f) != 5 {
		return nil, fmt.Errorf("%q is no story of the clock: TOOL/SITUATION/SHAPE/STEP/SEED", key)
	}
	seed, err := strconv.ParseUint(f[4], 10, 64)
	_, why := tell(f[0], f[1], f[2], 0, "127.0.0.1:1")
	if err != nil || why != "" || !slices.Contains(situations(), f[1]) || !slices.Contains(shapes(), f[2]) || !slices.Contains(jumps(), f[3]) {
		return nil, fmt.Errorf("%q is no story of the clock: TOOL/SITUATION/SHAPE/STEP/SEED. %s", key, why)
	}
	return newClockStory(f[0], f[1], f[2], f[3], seed), nil
}

func newClockStory(tool, situation, shape, jump string, seed uint64) *clockStory {
	s := &clockStory{job: job{tool: tool, situation: situation, shape: shape, victim: "host"}, jump: jump, seed: seed}
	told, _ := tell(tool, situation, shape, 0, "127.0.0.1:1")
	r := rand.New(rand.NewPCG(seed, uint64(pick(1<<30, tool, situation, shape, jump))))
	var points, kills []string
	for _, p := range fault.All() {
		if told.passes(string(p)) != "" {
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
		s.arms, s.cmd = []arm{before(tool, s.point)}, 1
	} else if p := fault.Point(s.point); p == fault.AnswerRecorded || p == fault.AfterAnswer || told.asked() && r.IntN(3) == 0 {
		s.cmd = 1
	}
	if r.IntN(3) > 0 {
		s.kill = fmt.Sprintf("%s:%d", kills[r.IntN(len(kills))], 1+r.IntN(2))
	}
	s.later = []string{"", "-26h", "-87600h"}[r.IntN(3)]
	s.leave = r.IntN(2) == 0
	s.change = s.limits
	return s
}

// limits give the story what depends on time. A run that was killed may be charged for the time until it is taken up again, by
// the clock: nothing else knows of it.
func (s *clockStory) limits(told *story) {
	told.after = 1
	if s.kill == "" && len(s.arms) == 0 {
		told.flags = append(told.flags, "--timeout", "5m")
	}
	if s.leave {
		told.flags = append(told.flags, "--expire", "10h")
	}
	for _, turn := range told.turns {
		for i, st := range turn {
			if st.tool == "shell" && told.shape != "runbook" {
				st.args["timeout"] = 120
				turn[i] = st
			}
		}
	}
}

// arm is what is armed for one of the story's commands.
func (s *clockStory) arm(cmd int) string {
	switch {
	case cmd < len(s.arms):
		return fmt.Sprintf("%s:%d", s.arms[cmd].point, s.arms[cmd].n)
	case cmd == s.cmd && s.kill != "":
		return fmt.Sprintf("%s:%d:clock%s,%s:kill", s.point, s.pass, s.jump, s.kill)
	case cmd == s.cmd:
		return fmt.Sprintf("%s:%d:clock%s", s.point, s.pass, s.jump)
	case cmd > s.cmd && s.later != "":
		return "process.started:1:clock" + s.later
	}
	return ""
}

// playClock carries one of them out.
func playClock(ctx context.Context, l *lab, key string, s *clockStory) error {
	was, err := l.of(ctx, s.job)
	if err != nil {
		return err
	}
	t, err := l.begin(s.job, nil)
	if err != nil {
		return err
	}
	t.arms = nil // they are the story's own
	told := t.proceed(ctx, func(args []string) error { return s.step(t, args) })
	if told == nil {
		told = s.looks(t)
	}
	is, err := l.conclude(ctx, t, told)
	if err != nil {
		return err
	}
	for _, c := range t.needless {
		t.found.add(needless, "only the host was killed, and the outcome of call %s is told as unknown", c)
	}
	expired, f, err := expiries(filepath.Join(t.world.root, "copy.db"))
	if err != nil {
		return errors.Join(err, t.world.close(true))
	}
	t.found = append(t.found, f...)
	t.found = append(t.found, ages(t.world.outputs)...)
	if len(t.found) == 0 && expired == 0 {
		left := t.unknown > 0 && (s.leave || s.shape == "runbook")
		t.found = append(t.found, compareEnds(was, is, t.unknown > 0, left)...)
	}
	l.report.figure("clocks set", clockJumps(t))
	l.report.figure("questions expired", expired)
	return l.verdictOn(key, t, 0)
}

func (s *clockStory) step(t *tale, args []string) error {
	text := s.arm(t.cmd)
	t.cmd++
	c, err := t.world.start(text, args...)
	if err != nil {
		return err
	}
	o, ok, err := t.attend(c)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%w: agent %s: %w after %s", errStuck, strings.Join(args, " "), errLate, limit)
	}
	if o.killed {
		t.fired = append(t.fired, arm{t.cmd - 1, text, 1})
	}
	if o.code == 2 {
		return fmt.Errorf("agent %s: wrong usage:\n%s", strings.Join(args, " "), o.text)
	}
	if err := t.world.serversGone(); err != nil {
		return err
	}
	return t.look()
}

// looks shows the end where the clock is right, where it stands behind, and where it stands ahead.
func (s *clockStory) looks(t *tale) error {
	for _, clock := range []string{"", "+87600h", "-87600h"} {
		if clock != "" {
			clock = "process.started:1:clock" + clock
		}
		for _, args := range [][]string{{"ls", "--all"}, {"show", "last"}, {"show", "--json", "last"}, {"pending"}} {
			if t.brief && clock != "" && args[0] != "ls" {
				continue
			}
			c, err := t.world.start(clock, args...)
			if err != nil {
				return err
			}
			o, ok := c.wait()
			if !ok || o.code != 0 {
				return fmt.Errorf("%w: agent %s ends with %d", errStuck, strings.Join(args, " "), o.code)
			}
		}
	}
	return nil
}

// clockJumps counts the places in the journal at which the time goes back, or ahead by more than any story takes.
func clockJumps(t *tale) int {
	n := 0
	for _, facts := range t.record.facts {
		for i, x := range facts {
			if i > 0 && (x.time < facts[i-1].time || x.time-facts[i-1].time > time.Hour.Microseconds()) {
				n++
			}
		}
	}
	return n
}

// expiries counts the questions that expired, and finds those whose time was not over by the clock of who closed them.
func expiries(path string) (n int, f findings, err error) {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = each(db, `SELECT id, opened_at, coalesce(expires_at, 0), closed_at FROM pending_requests WHERE status = 'expired'`, func(rows *sql.Rows) error {
		var id string
		var asked, expires, closed int64
		err := rows.Scan(&id, &asked, &expires, &closed)
		if n++; expires == 0 || closed < expires {
			f.add(stuck, "request %s expired %s before its time was over", id, time.Duration(expires-closed)*time.Microsecond)
		}
		if hours := (time.Duration(expires-asked) * time.Microsecond).Round(time.Second); hours != 10*time.Hour {
			f.add(broken, "request %s is open for %s, not for 10h", id, hours)
		}
		return err
	})
	return n, f, err
}
