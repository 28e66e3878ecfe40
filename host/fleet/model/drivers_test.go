package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/fleet/log"
	"agent/fleet/log/fake"
)

const (
	drivers = 4
	calls   = 5
	root    = "r-model"
)

// note is what simulated drivers write to the log.
type note struct {
	Kind string
	By   int
	Try  int // one for each that was made, so that no two are alike
	Call int
}

// sim is a driver, which is paused between any two of its steps.
type sim struct {
	by    int
	step  string // idle, append, effect; then "" where it has ended or is fenced
	log   log.Log
	seen  []note
	place int64
	next  note   // to be appended at place
	then  string // step after it
}

// world counts effects outside of the log and of the drivers.
type world struct {
	ctx     context.Context
	t       *rapid.T
	logs    []*fake.Log
	sims    []*sim
	effects [calls]int
	tries   int
	unsure  bool // a control: an unknown outcome of an append is taken for a success
}

// take has a driver make its next step.
func (w *world) take(s *sim) {
	switch s.step {
	case "idle":
		w.begin(s)
	case "append":
		w.append(s)
	case "effect":
		w.effects[s.next.Call]++
		if n := w.effects[s.next.Call]; n > 1 {
			w.t.Fatalf("call %d had its effect %d times", s.next.Call, n)
		}
		w.propose(s, "result", s.next.Call, "decide")
	case "decide":
		w.decide(s)
	}
}

// begin reads the log up to its end, and would claim.
func (w *world) begin(s *sim) {
	last, err := s.log.Last(w.ctx, root)
	if err != nil {
		return // it asks again
	}
	s.seen = nil
	for place := int64(1); place <= last; place++ {
		data, err := s.log.Read(w.ctx, root, place)
		if err != nil {
			if errors.Is(err, log.ErrNone) {
				w.t.Fatalf("place %d of %d is missing", place, last)
			}
			return
		}
		var n note
		if err := json.Unmarshal(data, &n); err != nil {
			w.t.Fatal(err)
		}
		s.seen = append(s.seen, n)
	}
	s.place = last
	w.propose(s, "claim", 0, "decide")
}

// propose has a driver append a note next.
func (w *world) propose(s *sim, kind string, call int, then string) {
	w.tries++
	s.place++
	s.next, s.then, s.step = note{kind, s.by, w.tries, call}, then, "append"
}

// append is what a witness does: it creates, and reads what is there where the answer is none.
func (w *world) append(s *sim) {
	data, err := json.Marshal(s.next)
	if err != nil {
		w.t.Fatal(err)
	}
	err = s.log.Create(w.ctx, root, s.place, data)
	if err != nil && !(w.unsure && !errors.Is(err, log.ErrTaken)) {
		there, unread := s.log.Read(w.ctx, root, s.place)
		if unread != nil {
			return // for later: the same again
		}
		if !bytes.Equal(there, data) {
			s.step = "" // fenced
			return
		}
	}
	s.seen, s.step = append(s.seen, s.next), s.then
}

// decide goes on with the first call that has no result: one that has started is not done again.
func (w *world) decide(s *sim) {
	var started, done [calls]bool
	for _, n := range s.seen {
		switch n.Kind {
		case "start":
			started[n.Call] = true
		case "result", "unknown":
			done[n.Call] = true
		}
	}
	call := 0
	for call < calls && done[call] {
		call++
	}
	switch {
	case call == calls:
		s.step = ""
	case started[call]:
		w.propose(s, "unknown", call, "decide")
	default:
		w.propose(s, "start", call, "effect")
	}
}

// run lets the steps of drivers, outages, lost answers and new drivers follow each other in any
// order.
func (w *world) run() {
	pick := rapid.IntRange(0, drivers-1)
	w.t.Repeat(map[string]func(*rapid.T){
		"step": func(t *rapid.T) { w.take(w.sims[pick.Draw(t, "driver")]) },
		"steps": func(t *rapid.T) {
			s := w.sims[pick.Draw(t, "driver")]
			for range rapid.IntRange(2, 12).Draw(t, "steps") {
				w.take(s)
			}
		},
		"killed, and started anew": func(t *rapid.T) {
			s := w.sims[pick.Draw(t, "driver")]
			*s = sim{by: s.by, step: "idle", log: s.log}
		},
		"cut off":      func(t *rapid.T) { w.logs[pick.Draw(t, "driver")].Down(errors.New("no route")) },
		"reached":      func(t *rapid.T) { w.logs[pick.Draw(t, "driver")].Up() },
		"lose answer":  func(t *rapid.T) { w.logs[pick.Draw(t, "driver")].LoseAfter(1) },
		"lose request": func(t *rapid.T) { w.logs[pick.Draw(t, "driver")].LoseBefore(1) },
	})
}

func newWorld(ctx context.Context, t *rapid.T, open func() log.Log) *world {
	w := &world{ctx: ctx, t: t}
	for i := range drivers {
		w.logs = append(w.logs, fake.Over(open()))
		w.sims = append(w.sims, &sim{by: i, step: "idle", log: w.logs[i]})
	}
	return w
}

// finish has one driver after the others come to the end: the run is never stuck, and what the log
// has as done or unknown is what happened.
func (w *world) finish() {
	for _, l := range w.logs {
		l.Up()
		l.LoseBefore(0)
		l.LoseAfter(0)
	}
	s := &sim{by: drivers, step: "idle", log: w.logs[0]}
	for range 6 * calls {
		w.take(s)
	}
	if s.step != "" {
		w.t.Fatalf("the last driver is not at the end, but at %q", s.step)
	}
	results := 0
	for _, n := range s.seen {
		if n.Kind == "result" {
			results++
			if w.effects[n.Call] != 1 {
				w.t.Fatalf("call %d has a result, and %d effects", n.Call, w.effects[n.Call])
			}
		}
	}
}

// drawFromSeed makes the next property draw from scripts/seed.txt, as those of the main module do:
// no landing depends on what was drawn for it. Each i has draws of its own. AGENT_SEED replaces the
// number of the file.
func drawFromSeed(t *testing.T, i uint64) {
	t.Helper()
	text, err := os.ReadFile("../../../scripts/seed.txt")
	if err != nil {
		t.Fatal(err)
	}
	if replaced := os.Getenv("AGENT_SEED"); replaced != "" {
		text = []byte(replaced)
	}
	number, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil || number == 0 {
		t.Fatalf("%q is no seed", text)
	}

	if err := flag.Set("rapid.seed", strconv.FormatUint(number+i<<32, 10)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set("rapid.seed", "0") }) // it was set a moment ago
}

func TestDriversOfARealLog(t *testing.T) {
	ctx := t.Context()
	for i := range uint64(30) { // it costs little
		drawFromSeed(t, i)
		t.Run(fmt.Sprintf("memory %d", i), rapid.MakeCheck(func(rt *rapid.T) {
			shared := fake.New()
			w := newWorld(ctx, rt, func() log.Log { return shared })
			w.run()
			w.finish()
		}))
	}
	drawFromSeed(t, 30)
	dir, n := t.TempDir(), 0
	t.Run("dir", rapid.MakeCheck(func(rt *rapid.T) {
		n++
		w := newWorld(ctx, rt, func() log.Log {
			l, err := log.Open(ctx, "dir:"+dir, fmt.Sprintf("n%d", n))
			if err != nil {
				rt.Fatal(err)
			}
			return l
		})
		w.run()
		w.finish()
	}))
}

// firstFault collects what a check finds, without failing the test.
type firstFault struct {
	testing.TB
	found bool
}

func (f *firstFault) Errorf(string, ...any) { f.found = true }
func (f *firstFault) FailNow()              { f.found = true; panic(errFound) }
func (f *firstFault) Failed() bool          { return f.found }
func (f *firstFault) Fail()                 { f.found = true }
func (f *firstFault) Fatalf(string, ...any) { f.found = true; panic(errFound) }
func (f *firstFault) Fatal(...any)          { f.found = true; panic(errFound) }
func (f *firstFault) Logf(string, ...any)   {}
func (f *firstFault) Log(...any)            {}
func (f *firstFault) Helper()               {}
func (f *firstFault) Name() string          { return "control" }

var errFound = errors.New("found")

// overwriting is a log that is none: the last writer of a place has it.
type overwriting struct {
	log.Log
	entries map[int64][]byte
}

func (o overwriting) Create(_ context.Context, _ string, place int64, data []byte) error {
	o.entries[place] = data
	return nil
}

func (o overwriting) Read(_ context.Context, _ string, place int64) ([]byte, error) {
	if data, ok := o.entries[place]; ok {
		return data, nil
	}
	return nil, log.ErrNone
}

func (o overwriting) Last(context.Context, string) (last int64, err error) {
	for place := range o.entries {
		last = max(last, place)
	}
	return last, nil
}

// The same walk finds an effect that happens twice, where a log lets two have a place, and where a
// driver takes an unknown outcome for a success.
func TestDriversOfWrongLogs(t *testing.T) {
	ctx := t.Context()
	if err := flag.Set("rapid.nofailfile", "true"); err != nil { // what it finds is no fault
		t.Fatal(err)
	}
	defer flag.Set("rapid.nofailfile", "false") // it was set a moment ago
	for name, one := range map[string]func(rt *rapid.T) *world{
		"overwriting": func(rt *rapid.T) *world {
			shared := overwriting{entries: map[int64][]byte{}}
			return newWorld(ctx, rt, func() log.Log { return shared })
		},
		"unsure": func(rt *rapid.T) *world {
			shared := fake.New()
			w := newWorld(ctx, rt, func() log.Log { return shared })
			w.unsure = true
			return w
		},
	} {
		drawFromSeed(t, 0)
		f := &firstFault{TB: t}
		func() {
			defer func() {
				if p := recover(); p != nil && p != any(errFound) {
					panic(p)
				}
			}()
			rapid.Check(f, func(rt *rapid.T) { one(rt).run() })
		}()
		if !f.found {
			t.Errorf("%s: no effect happened twice, so the walk would not find one", name)
		}
	}
}
