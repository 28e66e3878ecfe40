//go:build linux

package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// attempt is a story while its client has it carried out.
type attempt struct {
	*trial.Trial
	*script
	client client

	was       judge.End // of the same story without servers
	run       string    // the newest
	thread    string    // of it
	status    string    // of it
	started   int       // runs that were asked for, each with a key of its own
	acks      []ack
	carried   bool           // it went on after a crash, and nobody asked for that
	met       bool           // somebody was killed, stopped or asked to end where the story says
	saw       map[string]int // when the run was cancelled, or stopped by a person
	cancelled bool           // that was acknowledged
	by        *world.Command // the server that was asked last to have it driven
	forgets   bool           // the client of a control leaves out the key
}

// ack is what a server acknowledged.
type ack struct {
	run, request, answer string // answer is JSON; "" of a start
	cancel               bool
}

// step carries out one command of a person as a request.
func (s *attempt) step(args []string) error {
	s.Commands++
	var err error
	switch args[0] {
	case "run":
		err = s.start(args)
	case "answer":
		err = s.answer(args[1], args[2])
	case "resume":
		err = s.resume(args[1])
	default:
		err = fmt.Errorf("agent %s has no request", strings.Join(args, " "))
	}
	if err == nil {
		err = s.untilIdle()
	}
	if err != nil {
		return err
	}
	return s.look()
}

// key is the start key of the newest run.
func (s *attempt) key() string {
	if s.forgets {
		return ""
	}
	return fmt.Sprintf("story-%d-%d", s.World.Number, s.started)
}

// start asks for a run until it is acknowledged, with one key.
func (s *attempt) start(args []string) error {
	text, err := json.Marshal(s.asked(args))
	if err != nil {
		return err
	}
	s.started++
	s.run = ""
	for range mostServers {
		r, err := s.client.ask(http.MethodPost, "/v1/runs", string(text), s.key())
		if err != nil {
			return err
		}
		var v struct {
			Run    string `json:"run_id"`
			Thread string `json:"thread_id"`
		}
		if err := json.Unmarshal([]byte(r.text), &v); err != nil {
			return fmt.Errorf("POST /v1/runs: %w: %s", err, r.text)
		}
		switch {
		case r.status == http.StatusCreated || r.status == http.StatusOK:
			s.run, s.thread = v.Run, v.Thread
			s.acks = append(s.acks, ack{run: v.Run})
			s.by = s.client.now
			return s.meet()
		case r.status != http.StatusServiceUnavailable:
			s.Found.Add(judge.Refused, "POST /v1/runs: %d %s", r.status, r.text)
			return trial.ErrFound
		}
		if err := s.died(); err != nil { // the process that was to drive ended before it recorded anything
			return err
		}
	}
	return fmt.Errorf("%w: no server starts the run", world.ErrStuck)
}

// asked is the body that begins the run which a command line begins.
func (s *attempt) asked(args []string) map[string]any {
	body := map[string]any{"prompt": s.Prompt, "folder": s.World.Dir}
	for i, a := range args {
		switch a {
		case "--model", "--mode":
			body[strings.TrimPrefix(a, "--")] = args[i+1]
		case "--max-turns":
			body["max_turns"] = json.Number(args[i+1])
		case "-f":
			body["prompt"], body["runbook"] = s.Story.Book(), true
		case "-c":
			body["prompt"], body["thread"] = args[i+1], s.thread
		}
	}
	return body
}

// answer gives an answer until it is acknowledged. A yes is sent as a word, and where the question
// wants no word, as true.
func (s *attempt) answer(id, word string) error {
	if err := s.beforeAnswer(); err != nil {
		return err
	}
	forms := map[string][]string{"yes": {`"yes"`, "true"}, "no": {`"no"`, "false"}}[word]
	if forms == nil {
		forms = []string{fmt.Sprintf("%q", word)}
	}
	var r reply
	for _, form := range forms {
		var err error
		if r, err = s.client.ask(http.MethodPost, "/v1/pending/"+id+"/answer", `{"answer":`+form+`}`, ""); err != nil {
			return err
		}
		if r.status == http.StatusOK {
			s.acks = append(s.acks, ack{run: s.run, request: id, answer: form})
			s.by = s.client.now
			return nil
		}
		if r.status != http.StatusUnprocessableEntity {
			break
		}
	}
	s.Found.Add(judge.Refused, "POST /v1/pending/%s/answer: %d %s", id, r.status, r.text)
	return trial.ErrFound
}

// resume has a run go on that waits for a person.
func (s *attempt) resume(run string) error {
	for range mostServers {
		r, err := s.client.ask(http.MethodPost, "/v1/runs/"+run+"/resume", "{}", "")
		if err != nil {
			return err
		}
		switch r.status {
		case http.StatusAccepted, http.StatusConflict: // a server that was killed then, or the next one by itself, had it go on
			s.by = s.client.now
			return nil
		case http.StatusServiceUnavailable:
			if err := s.died(); err != nil {
				return err
			}
		default:
			s.Found.Add(judge.Refused, "POST /v1/runs/%s/resume: %d %s", run, r.status, r.text)
			return trial.ErrFound
		}
	}
	return fmt.Errorf("%w: no server has run %s go on", world.ErrStuck, run)
}

// died is for a process that was killed where it drives: the next server comes by another point, or
// none.
func (s *attempt) died() error {
	if !s.kills() {
		return nil
	}
	s.met = true
	s.client.kills++
	if plan.Pick(2, s.script.key()) == 0 {
		return s.client.kill()
	}
	return s.client.stop()
}

// untilIdle waits until the run has ended, asks, or stays as it is, whatever becomes of servers and
// of who drives.
func (s *attempt) untilIdle() error {
	var v position
	err := until(func() (idle bool, err error) {
		if v, err = s.client.run(s.run); err != nil {
			return false, err
		}
		s.status, s.thread = v.Run.Status, v.Run.Thread
		if s.isIdle(v) {
			return true, nil
		}
		if err := s.release(); err != nil || !s.abandoned() {
			return false, err
		}
		if v, err = s.client.run(s.run); err == nil && !s.isIdle(v) && s.abandoned() {
			err = s.died()
		}
		return false, err
	})
	if errors.Is(err, world.ErrLate) {
		return fmt.Errorf("%w: run %s is %s (%s)", world.ErrStuck, s.run, v.Run.Status, v.Run.Cause)
	}
	return err
}

// until looks until it is so; world.ErrLate where that takes too long.
func until(so func() (bool, error)) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(world.Limit)
	for {
		if ok, err := so(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-late:
			return world.ErrLate
		}
	}
}

// isIdle says that nothing comes any more unless somebody asks for it.
func (s *attempt) isIdle(v position) bool {
	switch v.Run.Status {
	case "completed", "failed", "cancelled":
		return true
	case "waiting":
		return v.Run.Asked.Status == "open" // else who drives is about to take the answer
	case "interrupted":
		s.carried = s.carried || v.Run.Cause == "crash" && !s.client.is.idle
		return v.Run.Cause == "shutdown" || s.client.is.idle && !s.kills()
	}
	return false
}

// kills says that the processes that drive for this server are killed at a point.
func (s *attempt) kills() bool { return strings.Contains(s.client.is.arm, "drive:") && !s.stops() }

// abandoned says that a process that this server had drive was killed.
func (s *attempt) abandoned() bool {
	if !s.kills() || s.client.now == nil {
		return false
	}
	had := s.by == s.client.now || strings.Contains(s.client.now.Text.String(), "run "+s.run+" ")
	return had && len(s.World.Drivers()) == 0
}

// stops says that the processes that drive are stopped at their point, and not killed.
func (s *attempt) stops() bool { return strings.Contains(s.client.is.arm, ":stop") }

// release lets processes go on that are stopped where another one was before.
func (s *attempt) release() error {
	for _, p := range s.World.Drivers() {
		if p.State == 'T' {
			if err := p.Signal(syscall.SIGCONT); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitStopped waits for a process that drives and is stopped at its point.
func (s *attempt) awaitStopped() (found world.Process, err error) {
	err = until(func() (bool, error) {
		i := slices.IndexFunc(s.World.Drivers(), func(p world.Process) bool { found = p; return p.State == 'T' })
		return i >= 0, nil
	})
	if err != nil {
		return found, fmt.Errorf("%w: nobody who drives run %s comes by the point", world.ErrStuck, s.run)
	}
	return found, nil
}

// undriven waits until nobody drives any more.
func (s *attempt) undriven() error {
	if !s.World.WaitDrivers(func() bool { return false }) {
		return fmt.Errorf("%w: the process that drives in the background: %w", world.ErrStuck, world.ErrLate)
	}
	return nil
}

// look compares the record with what was seen, while nobody writes to it.
func (s *attempt) look() error {
	if s.status != "waiting" { // else who drives listens for a while
		if err := s.undriven(); err != nil {
			return err
		}
		if err := s.World.WaitServers(); err != nil {
			return err
		}
	}
	still := s.World.Drivers()
	if s.client.now != nil {
		if p, ok := world.ProcessAt(s.client.now.Cmd.Process.Pid); ok {
			still = append(still, p)
		}
	}
	for _, p := range still {
		if err := p.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		for now, ok := world.ProcessAt(p.PID); ok && now.State != 'T'; now, ok = world.ProcessAt(p.PID) {
			continue // it comes to a stop at once
		}
	}
	err := s.Look()
	for _, p := range still {
		err = errors.Join(err, p.Signal(syscall.SIGCONT))
	}
	return err
}
