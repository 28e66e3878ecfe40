package drive

import (
	"context"
	"encoding/json"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agent/db"
	"agent/host/model"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/process"
)

// stage is a process with a state folder of its own, in a bubble in which time passes once
// everybody waits. Its store is a real one; its model and its tools do what the story says, and
// nothing but the story hints that the database changed.
type stage struct {
	*Process
	t       *testing.T
	model   *actor
	journal *flaky
	hints   chan struct{}
	created journal.RunCreated

	mu    sync.Mutex     // guards what follows
	notes []string       // what was published for whoever watches
	shown []journal.Kind // facts that were
}

// story plays in a bubble of its own.
func story(t *testing.T, lines []line, props []tools.Tool, tell func(*stage)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		home := filepath.Join(t.TempDir(), "state")
		store, err := db.Open(t.Context(), home, db.Options{NoBallast: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}()
		reg, err := tools.NewRegistry(props...)
		if err != nil {
			t.Fatal(err)
		}
		s := &stage{t: t, model: &actor{lines: lines}, journal: &flaky{Store: store}, hints: make(chan struct{}, 1)}
		s.Process = &Process{
			Store: store, Journal: s.journal, Home: home, Hub: stream.NewHub(), Now: time.Now, Version: "test", Self: process.Self(), Who: "tester",
			Env: Env{Tools: reg, Model: func(journal.RunCreated, *tools.Registry) (model.Model, error) { return s.model, nil }},
		}
		s.waker.Open = func(...string) (stream.HintSource, error) { return watched{s.hints, make(chan struct{})}, nil }
		s.Guard()
		s.Hub.Through(func(e stream.Event) []stream.Event {
			s.mu.Lock()
			defer s.mu.Unlock()
			if e.Note != "" {
				s.notes = append(s.notes, e.Note)
			}
			if e.Fact != nil {
				s.shown = append(s.shown, e.Fact.Body.Kind())
			}
			return []stream.Event{e}
		})
		defer s.Hub.Close()
		s.created = journal.RunCreated{
			Run: NewID("r"), Thread: NewID("t"), Prompt: "go", Folder: t.TempDir(), Model: "actor", Mode: journal.ModeYolo, Version: "test",
			Limits: journal.Limits{MaxTurns: 10}, ToolsHash: reg.Digest(),
		}
		tell(s)
	})
}

// watched gives the hints of a story.
type watched struct{ hints, done chan struct{} }

func (w watched) C() <-chan struct{}    { return w.hints }
func (w watched) Done() <-chan struct{} { return w.done }
func (w watched) Close()                { close(w.done) }

// pass lets time pass.
func pass(d time.Duration) { <-time.After(d) }

// hint says that another process may have written.
func (s *stage) hint() { s.hints <- struct{}{} }

// start creates the run and drives it.
func (s *stage) start(ctx context.Context) (Outcome, error) {
	return Create(ctx, s.Process, New{Created: s.created, Env: s.Env, Model: s.model, Fresh: true})
}

// mustStart is start where nothing is to go wrong.
func (s *stage) mustStart() Outcome {
	s.t.Helper()
	out, err := s.start(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// resume claims the run and drives it on, as the next process does.
func (s *stage) resume() Outcome {
	s.t.Helper()
	out, err := Claim(s.t.Context(), s.Process, s.created.Run, Changes{}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// facts are the kinds of the recorded facts, in order.
func (s *stage) facts() (kinds []string) {
	s.t.Helper()
	for e, err := range s.Store.Load(s.t.Context(), s.created.Run, 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		kinds = append(kinds, string(e.Body.Kind()))
	}
	return kinds
}

// count is how many facts of a kind are recorded.
func (s *stage) count(kind journal.Kind) (n int) {
	s.t.Helper()
	for _, k := range s.facts() {
		if k == string(kind) {
			n++
		}
	}
	return n
}

// call is a call of the first turn, as the journal has it.
func (s *stage) call(i int) *recovery.Call {
	s.t.Helper()
	state, err := s.State(s.t.Context(), s.created.Run)
	if err != nil {
		s.t.Fatal(err)
	}
	return state.Turns[0].Calls[i]
}

// wants complains where the run is not where it should be.
func (s *stage) wants(out Outcome, status recovery.Status, cause journal.Cause) {
	s.t.Helper()
	if out.Status != status || out.Cause != cause {
		s.t.Errorf("the run is %s (%s: %s), want %s (%s); facts: %s", out.Status, out.Cause, out.Detail, status, cause, strings.Join(s.facts(), " "))
	}
}

// said tells whether a note holds the words.
func (s *stage) said(words string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.notes, func(n string) bool { return strings.Contains(n, words) })
}

// flaky is a journal whose commits fail as the story says.
type flaky struct {
	*db.Store
	fail   func(facts []journal.Event) (kept bool, err error) // nil: none fails
	wrote  int                                                // commits that were asked for
	before func(facts []journal.Event)                        // what happens just before a commit
}

func (f *flaky) Create(ctx context.Context, ref db.ThreadRef, facts []journal.Event) (db.Head, error) {
	f.wrote++
	if f.fail != nil {
		if _, err := f.fail(facts); err != nil {
			return db.Head{}, err
		}
	}
	return f.Store.Create(ctx, ref, facts)
}

func (f *flaky) Append(ctx context.Context, head db.Head, facts []journal.Event, o db.AppendOptions) (db.Head, error) {
	f.wrote++
	if f.before != nil {
		f.before(facts)
	}
	if f.fail == nil {
		return f.Store.Append(ctx, head, facts, o)
	}
	kept, failed := f.fail(facts)
	if failed == nil || kept {
		h, err := f.Store.Append(ctx, head, facts, o)
		if failed == nil || err != nil {
			return h, err
		}
	}
	return db.Head{}, failed
}

// holds says whether facts hold one of the kind.
func holds(facts []journal.Event, kind journal.Kind) bool {
	return slices.ContainsFunc(facts, func(e journal.Event) bool { return e.Body.Kind() == kind })
}

// failsAt fails the first commit that holds a fact of the kind, and every later one.
func (s *stage) failsAt(kind journal.Kind, kept bool, err error) {
	failing := false
	s.journal.fail = func(facts []journal.Event) (bool, error) {
		if !failing && !holds(facts, kind) {
			return false, nil
		}
		keep := kept && !failing
		failing = true
		return keep, err
	}
}

// heals is the next process, whose commits do not fail.
func (s *stage) heals() { s.journal.fail = nil }

// line is what the model does when it is asked.
type line func(context.Context) (*model.Answer, error)

// actor is a model that says its lines, and "done" when there is none left.
type actor struct {
	lines []line
	asked []model.Request
}

func (m *actor) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	m.asked = append(m.asked, req)
	next := says("done")
	if len(m.lines) > 0 {
		next, m.lines = m.lines[0], m.lines[1:]
	}
	return func(yield func(model.Delta, error) bool) {
		a, err := next(ctx)
		yield(model.Delta{Answer: a}, err)
	}
}

func says(text string) line {
	return func(context.Context) (*model.Answer, error) {
		return &model.Answer{Stop: journal.AnswerEnd, Blocks: []journal.Block{{Kind: journal.BlockText, Text: text}}}, nil
	}
}

// calls asks for calls of tools, each with its place in the list as argument.
func calls(names ...string) line {
	a := &model.Answer{Stop: journal.AnswerCalls}
	for i, name := range names {
		args, err := json.Marshal(map[string]int{"n": i})
		if err != nil {
			panic(err)
		}
		a.Blocks = append(a.Blocks, journal.Block{Kind: journal.BlockCall, Call: &journal.CallBlock{Tool: name, Args: args}})
	}
	return func(context.Context) (*model.Answer, error) { return a, nil }
}

func refuses(f journal.Fault, after time.Duration) line {
	return func(context.Context) (*model.Answer, error) {
		return nil, &model.Error{Fault: f, Message: "the provider said no", After: after}
	}
}

// hangs gives no answer until nobody wants one.
func hangs(ctx context.Context) (*model.Answer, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// prop is a tool whose calls do what the story says, or end well at once.
type prop struct {
	name   string
	effect journal.Effect
	act    func(context.Context, tools.Call) (journal.Result, error)

	mu    sync.Mutex // guards acted while calls are under way
	acted int
}

func (p *prop) Spec() tools.Spec {
	return tools.Spec{Name: p.name, Description: "a tool of a story", Schema: json.RawMessage(`{"type":"object"}`)}
}
func (p *prop) Describe(string, json.RawMessage) tools.Traits {
	return tools.Traits{Effect: p.effect}
}
func (p *prop) Call(ctx context.Context, c tools.Call) (journal.Result, error) {
	p.mu.Lock()
	p.acted++
	p.mu.Unlock()
	if p.act == nil {
		return fine(), nil
	}
	return p.act(ctx, c)
}

// fine is the result of a call that acted.
func fine() journal.Result {
	return journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, Content: "fine"}
}

// lasting is a tool whose calls outlive the process, and whose files say what the story says.
type lasting struct {
	prop
	sighting recovery.ProcessEvidence
	attached int
	killed   int
	stopped  []string
	stop     func()
	forgot   int
	prepare  func() error
}

func (l *lasting) Find(context.Context, tools.Call) recovery.ProcessEvidence { return l.sighting }
func (l *lasting) Attach(context.Context, tools.Call) (journal.Result, error) {
	l.attached++
	return fine(), nil
}
func (l *lasting) Kill(context.Context, tools.Call) ([]string, error) { l.killed++; return nil, nil }
func (l *lasting) Survivors(json.RawMessage) ([]string, error)        { return nil, nil }
func (l *lasting) Discard(tools.Call) error                           { l.forgot++; return nil }
func (l *lasting) Stop(_ tools.Call, reason string) error {
	l.stopped = append(l.stopped, reason)
	if l.stop != nil {
		l.stop()
	}
	return nil
}
func (l *lasting) Prepare(context.Context, tools.Call) (json.RawMessage, any, error) {
	if l.prepare != nil {
		return nil, nil, l.prepare()
	}
	return nil, nil, nil
}

// asks is a tool that a person answers.
type asks struct{}

func (asks) Spec() tools.Spec {
	return tools.Spec{Name: "asks", Asks: true, Description: "a question of a story", Schema: json.RawMessage(`{"type":"object"}`)}
}
func (asks) Describe(string, json.RawMessage) tools.Traits {
	return tools.Traits{Effect: journal.EffectWriteLocal, Question: &journal.Question{
		Kind: journal.RequestAskUser, Message: "which one?", Schema: json.RawMessage(`{"type":"string"}`),
	}}
}

func writes(name string) *prop { return &prop{name: name, effect: journal.EffectWriteExternal} }
