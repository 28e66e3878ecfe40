package recovery

import (
	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// chance makes choices from a seed.
func chance(seed uint64) func(int, string) int {
	r := rand.New(rand.NewPCG(seed, 7))
	return func(n int, _ string) int { return r.IntN(n) }
}

// RUN-15, TOOL-02, TOOL-05, PEND-01: whatever the model asks for, wherever the owner dies, whatever
// is found and said: nothing is done twice, nothing runs without its yes, at most one question is
// open, and the run comes to its end.
func TestAnyHistory(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		m := newSim(func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(t, what) })
		m.live()
		if m.wrong != "" {
			t.Fatalf("%s\n%s", m.wrong, journalText(m.events))
		}
		stored := throughJSON(t, m.events)
		s, err := Fold(stored)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if !reflect.DeepEqual(m.s.Messages(), s.Messages()) || !sameState(m.s, s) {
			t.Fatalf("the stored journal says otherwise:\n%s", journalText(m.events))
		}
	})
}

// The same with choices that are spread evenly, which crash more and later. Everything that can
// happen does happen in them.
func TestAnyHistoryEvenly(t *testing.T) {
	seen := map[string]int{}
	for seed := range seed.Numbers(t, 3000) {
		m := newSim(chance(seed))
		m.live()
		if m.wrong != "" {
			t.Fatalf("seed %d: %s\n%s", seed, m.wrong, journalText(m.events))
		}
		for _, e := range m.events {
			seen[string(e.Body.Kind())]++
			switch b := e.Body.(type) {
			case journal.CallJudged:
				seen["verdict "+string(b.Verdict)]++
			case journal.CallSettled:
				seen["outcome "+string(b.Result.Outcome)]++
				seen["how "+string(b.Result.How)]++
			case journal.RequestOpened:
				seen["request "+string(b.Request.Kind)]++
			case journal.CallStarted:
				if b.Attempt > 2 {
					seen["third attempt"]++
				}
			}
		}
	}
	for _, what := range append(histories(), "third attempt") {
		if seen[what] < 10 {
			t.Errorf("%s: %d times in 3000 histories; the generator is too tame", what, seen[what])
		}
	}
}

// flowKinds lists the facts that only a flow's journal has.
func flowKinds() []journal.Kind {
	return []journal.Kind{journal.KindPhaseStarted, journal.KindPhaseEnded, journal.KindArtifactsChecked, journal.KindArtifactRestored, journal.KindPhaseRewound}
}

// histories lists what generated histories must hold to prove anything.
func histories() []string {
	var list []string
	for _, k := range journal.Kinds() {
		if !slices.Contains(flowKinds(), k) && k != journal.KindRunParked { // for that one see TestParked
			list = append(list, string(k))
		}
	}
	for _, v := range []journal.Verdict{journal.VerdictSkip, journal.VerdictRun, journal.VerdictAgain, journal.VerdictAttach, journal.VerdictAdopt} {
		list = append(list, "verdict "+string(v))
	}
	for _, o := range []journal.Outcome{journal.OutcomeOK, journal.OutcomeError, journal.OutcomeUnknown, journal.OutcomeSkipped, journal.OutcomeDenied} {
		list = append(list, "outcome "+string(o))
	}
	for _, h := range []journal.How{journal.HowExecuted, journal.HowAttached, journal.HowAdopted, journal.HowVerified, journal.HowTold} {
		list = append(list, "how "+string(h))
	}
	for _, k := range []journal.RequestKind{journal.RequestConfirm, journal.RequestPermission, journal.RequestTwin, journal.RequestMaxTurns, journal.RequestElicit} {
		list = append(list, "request "+string(k))
	}
	return list
}

// JRN-01, JRN-08: every prefix of a journal is a valid journal. Its next action is always the same.
// Claimed again, without any evidence, it loses no result and comes to its end.
func TestEveryPrefix(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		m := newSim(chance(seed))
		m.live()
		for n := 1; n <= len(m.events); n++ {
			if wrong := cutAt(m.events[:n], seed+uint64(n)); wrong != "" {
				t.Fatalf("cut after fact %d: %s\n%s", n, wrong, journalText(m.events[:n]))
			}
		}
	})
}

// sameState compares two states but for what compares calls, which is no part of a journal.
func sameState(a, b *State) bool {
	x, y := *a, *b
	x.Acting, y.Acting = nil, nil
	return reflect.DeepEqual(x, y)
}

// cutAt goes on from a journal that was cut, and says what went wrong.
func cutAt(events []journal.Event, seed uint64) string {
	m := newSim(chance(seed))
	for _, e := range events {
		if err := m.s.Apply(e); err != nil {
			return err.Error()
		}
		if wrong := m.check.see(e); wrong != "" {
			return wrong
		}
	}
	m.events = append([]journal.Event{}, events...)
	m.now, m.asked = events[len(events)-1].Time, 1000
	before, err := Fold(events)
	if err != nil {
		return err.Error()
	}
	before.Acting = acting
	if !reflect.DeepEqual(Next(before), Next(before)) || !sameState(before, m.s) {
		return "Next changed the state or its mind"
	}
	if !m.s.Status.Terminal() {
		m.claim()
	}
	m.drive(200)
	if m.wrong != "" {
		return m.wrong
	}
	if !m.s.Status.Terminal() {
		return "it does not end"
	}
	for i, turn := range before.Turns {
		for j, c := range turn.Calls {
			after := m.s.Turns[i].Calls[j]
			if c.Result != nil && !reflect.DeepEqual(c.Result, after.Result) || c.Attempt > after.Attempt {
				return "call " + c.Place.String() + " lost its result"
			}
		}
	}
	return ""
}

// A property that never fails proves nothing: each of these hosts does one thing that must not be
// done, and is caught.
func TestWrongHostsAreCaught(t *testing.T) {
	hosts := map[string]func(*sim){
		"runs what has no result": func(m *sim) {
			m.judge = func(c *Call, open *journal.Request, e Evidence) Judgement {
				j := Judge(c, open, e)
				if j.Verdict == journal.VerdictSkip {
					return Judgement{journal.VerdictRun, "it has no result", nil}
				}
				return j
			}
		},
		"takes the tool's word that it can be repeated from now alone": func(m *sim) {
			m.judge = func(c *Call, open *journal.Request, e Evidence) Judgement {
				e.EffectNow = journal.EffectRead
				d, p := *c, *c.Proposal
				p.Effect, d.Proposal = journal.EffectRead, &p
				return Judge(&d, open, e)
			}
		},
		"does not wait for a running process": func(m *sim) {
			m.judge = func(c *Call, open *journal.Request, e Evidence) Judgement {
				if e.Process.State == ProcessRunning {
					e.Process.State = ProcessNever
				}
				return Judge(c, open, e)
			}
		},
		"starts what stands before a question": func(m *sim) {
			m.next = func(s *State) Action {
				if r, ok := Next(s).(Record); ok {
					if o, ok := r.Facts[0].(journal.RequestOpened); ok && o.Request.Call != nil {
						c, _ := s.Call(*o.Request.Call) // its place was just made from the call
						return Start{[]*Call{c}}
					}
				}
				return Next(s)
			}
		},
		"starts scripts that it cannot read": func(m *sim) {
			m.s.Acting = func(tool string, args json.RawMessage, folder string) Acts {
				a := acting(tool, args, folder)
				a.Opaque = ""
				return a
			}
		},
		"compares calls by their fingerprints": func(m *sim) { m.s.Acting = nil },
		"forgets that a person said that it happened": func(m *sim) {
			m.next = func(s *State) Action {
				then := *s
				then.happened = nil
				then.Inherited = slices.DeleteFunc(slices.Clone(s.Inherited), func(u journal.Unknown) bool { return u.Resolved == journal.WordHappened })
				return Next(&then)
			}
		},
		"starts everything at once": func(m *sim) {
			m.next = func(s *State) Action {
				if a, ok := Next(s).(Start); ok {
					return Start{s.Turns.Unsettled()[:max(len(a.Calls), len(s.Turns.Unsettled()))]}
				}
				return Next(s)
			}
		},
		"forgets calls that were lost": func(m *sim) {
			m.next = func(s *State) Action {
				if r, ok := Next(s).(Recover); ok {
					return Start(r)
				}
				return Next(s)
			}
		},
		"ends at once when it is told to": func(m *sim) {
			m.next = func(s *State) Action {
				if s.Stopping != nil && !s.Status.Terminal() {
					return Record{[]journal.Body{journal.RunCancelled{Reason: "at once"}}}
				}
				return Next(s)
			}
		},
		"waits for ever": func(m *sim) {
			m.next = func(s *State) Action {
				if _, ok := Next(s).(CallModel); ok {
					return Await{}
				}
				return Next(s)
			}
			m.pick = harmless
		},
	}
	for name, spoil := range hosts {
		t.Run(name, func(t *testing.T) {
			caught := ""
			for seed := uint64(0); seed < 3000 && caught == ""; seed++ {
				m := newSim(chance(seed))
				spoil(m)
				m.liveAnyway()
				caught = m.wrong
			}
			if caught == "" {
				t.Fatal("nobody noticed")
			}
			t.Log(caught)
		})
	}
}

func harmless(int, string) int { return 0 }

// liveAnyway is live for a host that may ask for nonsense.
func (m *sim) liveAnyway() {
	defer func() {
		if p := recover(); p != nil {
			m.fail("panic: %v", p)
		}
	}()
	m.live()
}

func journalText(events []journal.Event) string {
	text := ""
	for _, e := range events {
		text += say(e.Body)
		switch b := e.Body.(type) {
		case journal.CallStarted:
			text += " " + b.Place.String()
		case journal.CallJudged:
			text += " " + b.Place.String() + " " + string(b.Verdict)
		case journal.RequestAnswered:
			text += " " + b.ID + " " + string(b.Answer)
		case journal.ModelAnswered:
			for _, c := range b.Calls {
				text += " " + c.Fingerprint + "/" + string(c.Decision)
			}
		}
		text += "\n"
	}
	return text
}
