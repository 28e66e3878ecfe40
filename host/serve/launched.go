package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"agent/host/app"
	"agent/host/launch"
	"agent/host/view"
)

// launched is what became of a job.
type launched struct {
	run      string // it is about; "" where the process left the database to say
	accepted bool
	notes    []string
}

// launch has a job carried out that drives a run, unless so many runs are driven already; free is
// for one that drives nothing new.
func (s launches) launch(ctx context.Context, job launch.Job, run string, free bool) (launched, error) {
	leave, err := s.room(ctx, run, free)
	if err != nil {
		return launched{}, err
	}
	defer leave()
	answer, err := s.ask(ctx, job)
	got := launched{notes: append([]string{}, answer.Notes...)}
	switch {
	case errors.Is(err, launch.ErrNoAnswer):
		return got, nil
	case err != nil:
		return got, err
	case answer.Accepted != nil:
		got.run, got.accepted = answer.Accepted.Run, true
		return got, nil
	}
	var out struct {
		Run    string `json:"run_id"`
		Status string `json:"status"`
	}
	if json.Unmarshal([]byte(answer.Ended.Out), &out) != nil || out.Status == view.StatusRefused || out.Run == "" {
		return got, s.refusedBy(answer)
	}
	got.run = out.Run // it has ended, or waits, or another process drives it
	return got, nil
}

// ask has a job carried out in a process of its own, and waits for its answer.
func (s launches) ask(ctx context.Context, job launch.Job) (launch.Answer, error) {
	if s.o.Carrier == nil {
		return launch.Answer{}, notStarted("this server starts no processes", job.Run)
	}
	job.By = s.o.Folder.By(ctx)
	answer, err := within(s.starting.wait, job.Run, func() (launch.Answer, error) { return s.o.Carrier.Start(ctx, job) })
	if err != nil && !errors.Is(err, launch.ErrNoAnswer) && !errors.As(err, new(*problem)) {
		s.log.Error("start a process", "run", job.Run, "reason", s.o.App.Redacted(err.Error()))
		err = notStarted("no process could be started; the log of the state folder has the reason", job.Run)
	}
	return answer, err
}

// within waits for what a process is asked for, as long as a client waits for it: the process may
// be held up, and goes on without whoever asked.
func within[T any](wait time.Duration, run string, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := do()
		done <- result{v, err}
	}()
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case got := <-done:
		return got.value, got.err
	case <-late.C:
		var none T
		return none, notStarted("its process has not begun yet: it may start MCP servers; ask again, with the same Idempotency-Key", run)
	}
}

func notStarted(why, run string) error {
	return &problem{Code: "not_started", Detail: why, Run: run}
}

// left is the run that a process without an answer recorded, under the id that it was given or the
// key.
func (s launches) left(ctx context.Context, run, key string) (string, error) {
	if _, err := s.o.Folder.Store.Run(ctx, run); err == nil {
		return run, nil
	}
	found, _, err := s.o.Folder.Store.StartedWith(ctx, key)
	if err == nil && found == "" {
		err = notStarted("the process that was to drive the run ended before it recorded anything; ask again, with the same Idempotency-Key", "")
	}
	return found, err
}

// starting has the runs for which a process was asked that has not answered, with how many were.
type starting struct {
	sync.Mutex
	runs map[string]int
	wait time.Duration // for that answer
}

// has says whether a process was asked for that is to drive a run.
func (s *starting) has(run string) bool {
	s.Lock()
	defer s.Unlock()
	return s.runs[run] > 0
}

// enter counts a process that is asked for, until leave. It wants the lock.
func (s *starting) enter(run string) (leave func()) {
	s.runs[run]++
	return func() {
		s.Lock()
		defer s.Unlock()
		if s.runs[run]--; s.runs[run] == 0 {
			delete(s.runs, run)
		}
	}
}

// room refuses to have one more run driven where too many are. What is being started counts from
// its start until leave.
func (s launches) room(ctx context.Context, run string, free bool) (leave func(), err error) {
	s.starting.Lock()
	defer s.starting.Unlock()
	rows, err := s.o.Folder.Store.Alive(ctx)
	if err != nil {
		return nil, err
	}
	waiting, err := s.o.Folder.Store.Runs(ctx, app.Filter{Waiting: true}) // whose processes listen for a while
	if err != nil {
		return nil, err
	}
	driven := map[string]bool{}
	for id := range s.starting.runs {
		driven[id] = true
	}
	for _, row := range append(rows, waiting...) {
		if row.Root != "" {
			continue // its root's process drives it
		}
		held, err := s.o.Folder.Held(row.ID)
		if err != nil {
			return nil, err
		}
		if held {
			driven[row.ID] = true
		}
	}
	if len(driven) >= mostDriven && !driven[run] && !free {
		return nil, &problem{
			Code: "too_many", Next: []string{"agent ls"},
			Detail: fmt.Sprintf("%d runs are driven at this moment, and no more than %d at a time; ask again when one has ended", len(driven), mostDriven),
		}
	}
	return s.starting.enter(run), nil
}

// refusedError is a refusal by the process that was to do something, in its own words.
type refusedError struct{ view.Refusal }

func (e *refusedError) Error() string { return e.Refusal.Error }

// refusedBy is the refusal of a process that ended without what it was to do.
func (s launches) refusedBy(a launch.Answer) error {
	e := &refusedError{}
	if a.Ended != nil && a.Ended.Code == view.ExitDone { // as where a rewind has no file to change
		e.Refusal.Error = "there is nothing to be done"
		return e
	}
	if a.Ended == nil || json.Unmarshal([]byte(a.Ended.Out), &e.Refusal) != nil || e.Refusal.Error == "" {
		lines := make([]string, len(a.Notes))
		for i, line := range a.Notes {
			lines[i] = strings.TrimPrefix(line, "agent: ")
		}
		e.Refusal.Error = cmp.Or(strings.Join(lines, "\n"), "its process ended with status "+strconv.Itoa(cmp.Or(a.Ended, &launch.Ended{}).Code))
	}
	return e
}

// refusal is what a process was refused that was to drive a run, with what a person may do.
func (s launches) refusal(e *refusedError) *problem {
	p := &problem{Detail: e.Error(), Run: e.RunID, Next: e.Next}
	set := func(code string) *problem {
		p.Code = code
		return p
	}
	switch e.Code {
	case view.CodeThreadBusy:
		p.unasked, p.Request = &unasked{Reused: true}, s.asks(e.RunID)
		return set("thread_busy")
	case view.CodeHeld:
		return set("held")
	case view.CodeKeyReused:
		return set("key_reused")
	case view.CodePlan:
		p.Plan = e.Plan
		return set("plan_changed")
	case view.CodeLooser:
		return set("looser")
	case view.CodeFolderGone:
		return set("folder_gone")
	case view.CodeBehind:
		return set("behind")
	case view.CodeDiskFull, view.CodeReadOnly:
		if len(p.Next) == 0 {
			p.Next = []string{"agent doctor"}
		}
		if e.Code == view.CodeDiskFull && !strings.Contains(p.Detail, "disk is full") { // but what the system says of it
			p.Detail = diskFull + ": " + p.Detail
		}
		return set(e.Code)
	}
	return set("refused")
}

// asks is the question that a run waits with; nil without one.
func (s launches) asks(run string) *request {
	row, err := s.o.Folder.Store.Run(context.Background(), run)
	if err != nil || row.Pending == nil || row.Pending.Damaged != nil {
		return nil
	}
	return s.request(*row.Pending)
}
