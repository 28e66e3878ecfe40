//go:build linux

// Package server has a client of agent serve carry the stories out: it starts runs with a key,
// answers, has runs go on and cancels them, over the server's socket. The server is killed at its
// own fault points and at any moment, and so are the processes that drive for it; the client gives
// a request again that was not answered, and the next server has go on what was interrupted. The
// story ends as if nobody had been killed, what was acknowledged is recorded, and what a person
// stopped stays so.
//
// The server's points are launch.spawned and launch.accepted (a process that is to drive is there,
// and has claimed its run), recover.before_launch, answer.recorded (an answer is stored, and nobody
// has the run go on yet), look.before_mark, and the two of a commit. That a driver has claimed its
// run is drive:run.after_claim, one of the points at which those processes are killed.
//
// Two more places were thought of and are none, since nothing durable lies between their two sides:
// a stream that is behind reads pages of the journal, and who was cut off reads on from a cursor of
// its own (scripts/check streams kills servers there); a login that was used up is known to the
// memory of the one server that gave the link, and ends with it.
package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/trial"
)

// Ways of a story.
const (
	wayStart   = "start"   // the server is killed while it starts a run
	wayResume  = "resume"  // while it has a run go on that a person asks for
	wayAnswer  = "answer"  // while it takes an answer
	wayCancel  = "cancel"  // while it takes a cancel; see ways.go for what stands behind a colon
	wayRecover = "recover" // while it has runs go on at its start
	wayUp      = "up"      // while it has a run go on whose process died under it
	wayDriver  = "driver"  // who drives for it is killed
	wayStopped = "stopped" // who drives for it is ended by a person's signal, and the server is killed
	wayMoment  = "moment"  // the server is killed at any moment
)

// script is a story that a client of a server has carried out.
type script struct {
	plan.Job
	way     string
	point   string
	servers []setting
	revives func(*attempt) error // a control has a run go on that a person stopped; nil for nobody
}

func (s *script) key() string {
	return strings.Join([]string{s.way, s.point, s.Tool, s.Situation, s.Shape}, "/")
}

// kind is the way, without what stands behind its colon.
func (s *script) kind() string {
	kind, _, _ := strings.Cut(s.way, ":")
	return kind
}

// Fault is about the server.
func Fault() lab.Fault {
	return lab.Fault{
		Name: "server", What: "runs are started, answered, cancelled and carried on by agent serve, which is killed, as is who drives for it",
		Needs: func(*lab.Lab) error { return nil }, Run: run,
	}
}

// short is how many scripts a short pass has, of as many ways as it can.
const short = 12

func run(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	if c.Only == "" {
		if err := controls(ctx, l); err != nil {
			return err
		}
	}
	all := scripts()
	if c.Short && c.Only == "" {
		all = plan.Sample(all, short, c.Seed, (*script).kind)
	}
	var cases []lab.Case
	for _, s := range all {
		cases = append(cases, lab.Case{Key: s.key(), Try: func(ctx context.Context, key string) error {
			t, is, err := carryOut(ctx, l, s, c.Seed, nil)
			if err != nil {
				return err
			}
			if len(t.Found) == 0 {
				t.Found = t.judge(is)
			}
			return l.Finish(key, t.Trial, t.client.kills)
		}})
	}
	return l.RunCases(ctx, "server", c, cases)
}

// carryOut carries out a script. change alters how; nil for nothing. The caller judges it and
// closes its world.
func carryOut(ctx context.Context, l *lab.Lab, s *script, seed uint64, change func(*attempt)) (*attempt, judge.End, error) {
	was, err := l.Intact(ctx, s.Job)
	if err != nil {
		return nil, judge.End{}, err
	}
	t, err := l.Begin(plan.Job{Tool: s.Tool, Situation: s.Situation, Shape: s.Shape, Victim: s.Victim, Leave: s.Leave}, nil)
	if err != nil {
		return nil, judge.End{}, err
	}
	x := &attempt{Trial: t, script: s, was: was, client: client{world: t.World, next: slices.Clone(s.servers)}}
	if s.way == wayMoment {
		x.client.rng, x.client.left = rand.New(rand.NewPCG(seed, uint64(plan.Pick(1<<30, s.key())))), 6
	}
	if change != nil {
		change(x)
	}
	ended := t.Look() // of a world in which nothing was done there is a record too
	if ended == nil {
		ended = t.Proceed(ctx, x.step)
	}
	if err := x.client.stop(); ended == nil {
		ended = err
	}
	if ended == nil {
		ended = x.reportsIt(ctx)
	}
	is, err := l.Conclude(ctx, t, ended)
	if err != nil {
		return nil, judge.End{}, err
	}
	if !x.met && x.client.kills == 0 && s.way != wayDriver { // who drives may be followed before anybody has seen that it is gone
		l.Report.AddFigure("server: points not met", 1)
	}
	return x, is, nil
}

// reportsIt wants a run that went on by itself to show that it did.
func (s *attempt) reportsIt(ctx context.Context) error {
	if !s.carried || s.cancelled {
		return nil
	}
	o, err := s.World.Run(ctx, "show", s.run)
	if err == nil && !strings.Contains(o.Text, "goes on with the run in the background") {
		s.Found.Add(judge.Silent, "run %s went on by itself after a crash, and agent show does not say so:\n%s", s.run, o.Text)
		return trial.ErrFound
	}
	return err
}

// serverPoints are passed by a server that launches.
func serverPoints() []string {
	return []string{string(fault.DriverSpawned), string(fault.DriverAccepted)}
}

// shapes are those whose models a server reaches by its environment.
func shapes() []string { return []string{"runbook", "anthropic", "responses"} }

func at(point string, pass int) string { return fmt.Sprintf("%s:%d", point, pass) }

func drive(point string, pass int) string { return "drive:" + at(point, pass) }

// newScript is a script of a tool; its servers follow.
func newScript(way, point, tool, situation, shape string, servers ...setting) *script {
	f := plan.NewFamily(tool, situation, shape, string(fault.AfterEffect), false)
	f.Job.Victim, f.Job.Arms = "host", nil
	return &script{Job: f.Job, way: way, point: point, servers: servers}
}

func scripts() []*script {
	return slices.Concat(launches(), answers(), cancels(), recoveries(), stops(), drivers(), moments())
}

// launches lists servers that are killed when they start a run or have one go on.
func launches() (out []*script) {
	const died = string(fault.AfterEffect)
	for _, shape := range shapes() {
		for _, point := range serverPoints() {
			out = append(out,
				newScript(wayStart, point, "shell", "first", shape, setting{arm: at(point, 1)}),
				newScript(wayResume, point, "shell", "first", shape, setting{drive(died, 1), true}, setting{at(point, 1), true}),
				newScript(wayUp, point, "shell", "first", shape, setting{arm: drive(died, 1) + ":stop," + at(point, 2)}))
		}
		out = append(out,
			newScript(wayUp, string(fault.BeforeRecovery), "shell", "first", shape, setting{arm: drive(died, 1) + ":stop," + at(string(fault.BeforeRecovery), 1)}),
			newScript(wayUp, "-", "shell", "first", shape, setting{arm: drive(died, 1) + ":stop"}))
	}
	return out
}

// answers lists servers that are killed when they take an answer.
func answers() (out []*script) {
	points := append(serverPoints(), string(fault.AnswerRecorded), string(fault.BeforeCommit), string(fault.AfterCommit))
	for _, shape := range shapes() {
		for _, point := range points {
			for _, tool := range []string{"ask_user", "confirm_action"} {
				out = append(out, newScript(wayAnswer, point, tool, "first", shape, setting{}, setting{arm: at(point, 1)}))
			}
			out = append(out, newScript(wayAnswer, point, "shell", "limit", shape, setting{}, setting{arm: at(point, 1)}))
		}
	}
	return out
}

// cancels lists servers that are killed when they take a cancel.
func cancels() (out []*script) {
	for _, shape := range shapes() {
		for n, where := range []fault.Point{fault.AfterStarted, fault.AfterEffect, fault.BeforeModel, fault.AfterTurn} {
			first := setting{arm: drive(string(where), 1) + ":stop"}
			for _, how := range []string{cancelLive, cancelDead, cancelOnce} {
				for _, point := range []fault.Point{fault.BeforeCommit, fault.AfterCommit} {
					pass := 1 + n%2
					if how == cancelOnce {
						pass = 2 // the first is the mark of who died
					}
					last := setting{idle: how == cancelDead}
					s := newScript(wayCancel+":"+how, at(string(point), pass)+"@"+string(where), "shell", "first", shape, first, setting{at(string(point), pass), how != cancelLive}, last)
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// recoveries lists servers that are killed when they have a run go on at their start.
func recoveries() (out []*script) {
	points := append(serverPoints(), string(fault.BeforeRecovery), string(fault.BeforeMark), string(fault.BeforeCommit), string(fault.AfterCommit))
	for _, shape := range shapes() {
		for _, point := range points {
			for _, tool := range []string{"shell", "write_file", "fetch:get"} {
				out = append(out, newScript(wayRecover, point, tool, "first", shape, setting{arm: drive(string(fault.AfterStarted), 1)}, setting{arm: at(point, 1)}))
			}
		}
	}
	return out
}

// stops lists runs that a person stops by a signal to who drives.
func stops() (out []*script) {
	for _, shape := range shapes() {
		for _, point := range []fault.Point{fault.AfterStarted, fault.AfterEffect, fault.BeforeModel, fault.AfterTurn} {
			for _, sig := range []string{"TERM", "INT"} {
				out = append(out, newScript(wayStopped+":"+sig, string(point), "shell", "first", shape, setting{arm: drive(string(point), 1) + ":stop"}))
			}
		}
	}
	return out
}

// drivers lists the points at which who drives is killed.
func drivers() (out []*script) {
	tools := []string{"shell", "write_file", "shell:write", "ask_user", "apply_patch", "shell:read"}
	for n, point := range fault.Driving() {
		if a := (plan.Arm{Point: string(point)}); a.InRunner() || strings.HasPrefix(a.Point, "runner.") || point == fault.AnswerRecorded {
			continue
		}
		taken := 0
		for m := range tools {
			tool := tools[(n+m)%len(tools)]
			situation, shape, ok := plan.StoryPassing(tool, string(point), n+m)
			if !ok || shape == "chat" || taken == 2 {
				continue
			}
			taken++
			servers := []setting{{arm: drive(string(point), 1)}}
			if situation == "recovery" {
				first := plan.FirstKill(tool, string(point))
				servers = slices.Insert(servers, 0, setting{arm: drive(first.Point, first.Pass)})
			}
			out = append(out, newScript(wayDriver, string(point), tool, situation, shape, servers...))
		}
	}
	return out
}

// moments lists stories in which servers are killed by chance.
func moments() (out []*script) {
	for _, shape := range shapes() {
		for n, tool := range []string{"shell", "ask_user", "write_file", "confirm_action"} {
			for _, situation := range []string{"first", "limit"} {
				if situation == "limit" && tool != "shell" {
					continue
				}
				out = append(out, newScript(wayMoment, fmt.Sprint(n), tool, situation, shape))
			}
		}
	}
	return out
}
