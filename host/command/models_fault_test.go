package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/host/model/modeltest"
)

// atOnce is longer than a busy machine takes for what waits for nothing, and shorter than anything
// that a model may be waited for here.
const atOnce = 20 * time.Second

// modelFault is something that goes wrong with the first answer, and what a person sees of it.
type modelFault struct {
	fault modeltest.Fault
	code  int      // of the run
	tries int      // requests
	says  []string // what is printed
	flags []string // of agent run
}

// mended are the faults that asking again fixes: the run waits, says so, and completes.
func mended() []modelFault {
	again := func(f modeltest.Fault, says string) modelFault {
		f.Attempt = 1
		return modelFault{f, 0, 2, []string{says, "asking again in", "(try 2)", "All is well."}, nil}
	}
	silent := func(k modeltest.Kind) modelFault {
		c := again(modeltest.Fault{Kind: k, At: 600}, "stalled")
		c.flags = []string{"--idle", "1s"}
		if raceEnabled {
			c.flags[1] = "8s" // the answer that follows comes slowly too
		}
		return c
	}
	return []modelFault{
		again(modeltest.Fault{Kind: modeltest.RateLimit, After: 1.2}, "ate limit"),
		again(modeltest.Fault{Kind: modeltest.Overloaded}, "overloaded"),
		again(modeltest.Fault{Kind: modeltest.Failing}, "server"),
		again(modeltest.Fault{Kind: modeltest.Page}, "502"),
		again(modeltest.Fault{Kind: modeltest.Drop}, "connection"),
		again(modeltest.Fault{Kind: modeltest.Reset, At: 600}, "broke off"),
		again(modeltest.Fault{Kind: modeltest.Cut, At: 600}, "broke off"),
		again(modeltest.Fault{Kind: modeltest.Truncate, At: 600}, "broke off"),
		silent(modeltest.Stall),
		silent(modeltest.Pings),
		again(modeltest.Fault{Kind: modeltest.Garbage, Size: 5000}, ""),
		again(modeltest.Fault{Kind: modeltest.BadEvent}, "not JSON"),
		again(modeltest.Fault{Kind: modeltest.ErrorEvent, At: 600}, ""),
	}
}

// Issue 3, failures: what asking again can fix is asked again, in the time that the provider wants,
// and shown while it is waited for. The same request is sent.
func TestModelFaultsThatAskingAgainMends(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		story := func(f modeltest.Fault) modeltest.Script {
			return modeltest.Script{Turns: []modeltest.Turn{{Text: "All is well.", Faults: []modeltest.Fault{f}}}}
		}
		var talks []*talk
		var runs []*spoken
		for _, c := range mended() { // all at once, since most of the time is spent waiting
			k := newTalk(t, p, story(c.fault))
			talks, runs = append(talks, k), append(runs, k.runs("go", c.flags...))
		}
		for i, c := range mended() {
			k := talks[i]
			runs[i].end(c.code).says(c.says...)
			es := k.server.Exchanges()
			if len(es) != c.tries || es[0].Body != es[1].Body {
				t.Errorf("%s: %d requests\n%s", c.fault.Kind, len(es), k.story())
				continue
			}
			if wait := es[1].Received.Sub(es[0].Received); wait < time.Duration(c.fault.After*float64(time.Second)) { // time: no less than the provider asked for, however long
				t.Errorf("%s: asked again after %s, the provider wants %gs", c.fault.Kind, wait, c.fault.After)
			}
		}
	})
}

// lasting are the faults that a person has to fix.
func lasting() []modelFault {
	always := func(k modeltest.Kind, code, tries int, says ...string) modelFault {
		return modelFault{modeltest.Fault{Kind: k}, code, tries, says, nil}
	}
	return []modelFault{
		always(modeltest.BadKey, 4, 1, "key", "_API_KEY"),
		always(modeltest.NoCredit, 4, 1, "credit"),
		always(modeltest.Payment, 4, 1, "credit"),
		always(modeltest.NoModel, 4, 1, "agent models"),
		always(modeltest.Refused, 4, 1, "for a reason of"),
		{modeltest.Fault{Kind: modeltest.RateLimit, After: 900}, 4, 1, []string{"15m"}, nil},
		always(modeltest.Filtered, 1, 1, "filter"),
		always(modeltest.TooLong, 1, 1, "window"),
	}
}

// What only a person can fix is shown with its remedy at once; the run is kept, and goes on once it
// is fixed. A provider that quotes the key back puts it nowhere.
func TestModelFaultsThatAPersonMends(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		for _, c := range lasting() {
			k := newTalk(t, p, modeltest.Script{Turns: []modeltest.Turn{{Text: "All is well.", Faults: []modeltest.Fault{c.fault}}}})
			run := k.runs("go").end(c.code).says(c.says...)
			if n := len(k.server.Exchanges()); n != c.tries {
				t.Errorf("%s: %d requests, want %d", c.fault.Kind, n, c.tries)
			}
			if all := run.out.String() + run.err.String(); strings.Contains(all, k.key) {
				t.Errorf("%s: the key is shown:\n%s", c.fault.Kind, all)
			}
			nowhere(t, k.home, k.key)
			if c.code == 4 {
				run.says("agent resume")
				k.script(modeltest.Script{Turns: []modeltest.Turn{{Text: "All is well."}}})
				k.start("resume", "last").end(0).says("All is well.")
			}
		}
	})
}

// Issue 3, behaviour 6: what never ends, or is far too large, is bounded in memory and time, and
// reported.
func TestModelThatNeverEnds(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		var talks []*talk
		var runs []*spoken
		faults := []modeltest.Fault{
			{Kind: modeltest.Garbage}, {Kind: modeltest.Line, At: 600}, {Kind: modeltest.Flood}, {Kind: modeltest.Flood, Size: 100 << 20},
		}
		if !whole() {
			faults = faults[1:2] // the others take the same way
		}
		for _, f := range faults {
			k := newTalk(t, p, modeltest.Script{Turns: []modeltest.Turn{{Text: "All is well.", Faults: []modeltest.Fault{f}}}})
			talks, runs = append(talks, k), append(runs, k.runs("go").watchMemory())
		}
		for i, f := range faults {
			run := runs[i].end(4).says("too large", "agent resume")
			<-run.watched
			if run.peak > 400 && !raceEnabled {
				t.Errorf("%s: %.0f MB", f.Kind, run.peak)
			}
			if n := len(run.err.String()); n > 2<<20 {
				t.Errorf("%s: %d bytes are printed", f.Kind, n)
			}
			if n := len(talks[i].server.Exchanges()); n > 2 {
				t.Errorf("%s: %d requests", f.Kind, n)
			}
		}
	})
}

// A call that cannot be carried out goes back to the model as an error, and nothing of it runs; nor
// does anything of an answer that its length cut off in the middle of a call.
func TestModelCallsThatFitNothing(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		k := newTalk(t, p, modeltest.Script{Turns: []modeltest.Turn{
			{Calls: []modeltest.Call{{Tool: "shell", Raw: `{"command":"echo bad >> effects"`}}},
			{Calls: []modeltest.Call{call("shell", `{"comand":"echo bad >> effects"}`)}},
			{Calls: []modeltest.Call{call("shell", `{"command":["echo bad >> effects"]}`)}},
			{Calls: []modeltest.Call{call("launch", `{"command":"echo bad >> effects"}`)}},
			{Calls: []modeltest.Call{call("odd name!", `{}`), {Tool: "shell", Raw: `[1]`}}},
			{Text: "I begin", Calls: []modeltest.Call{call("shell", `{"command":"echo bad >> effects; echo the end of it is cut off"}`)}, Stop: modeltest.StopLength},
			{Calls: []modeltest.Call{effect("good")}},
			{Text: "This answer is cut", Stop: modeltest.StopLength},
			{Text: "off. Done."},
		}})
		k.runs("go").end(0).says("Done.", "no tool \"launch\"", "the answer reached its length limit in the middle of its arguments")
		if got := k.read("effects"); got != "good\n" {
			t.Errorf("effects: %q", got)
		}
		for _, e := range k.server.Exchanges() {
			if e.Refusal != "" || e.Turn != e.Number {
				t.Errorf("request %d is turn %d: %s", e.Number, e.Turn, e.Refusal)
			}
		}
	})
}

// A refusal of the model's own, and one of the provider's filter in the middle of an answer, end
// the run with what was said.
func TestModelThatRefuses(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		for _, text := range []string{"I will not do that.", ""} {
			k := newTalk(t, p, modeltest.Script{Turns: []modeltest.Turn{{Text: text, Calls: []modeltest.Call{effect("refused")}, Stop: modeltest.StopRefuse}}})
			k.runs("go").end(1).says(text, "refus")
			if got := k.read("effects"); got != "" {
				t.Errorf("a call of a refused answer ran: %q", got)
			}
		}
	})
}

// No key in any file, output or command line, while a run goes on, is killed and resumed.
func TestModelKeysAreNowhere(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		k := newTalk(t, p, modeltest.Script{Turns: []modeltest.Turn{
			{Text: "Look.", Calls: []modeltest.Call{call("shell", `{"command":"env; cat /proc/$PPID/cmdline"}`)}}, {Text: "Done.", Faults: hold(-1)},
		}})
		rec := filepath.Join(k.dir, "recording")
		run := k.runs("go", "-v", "--record", rec)
		k.held(0)
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", run.cmd.Process.Pid))
		if err != nil || strings.Contains(string(line), k.key) {
			t.Errorf("command line: %v %q", err, line)
		}
		nowhere(t, filepath.Dir(k.home), k.key)
		run.kill()
		again := k.start("resume", "last").end(0)
		nowhere(t, filepath.Dir(k.home), k.key)
		for _, s := range []*spoken{run, again, k.start("show", "last", "--json").end(0), k.start("doctor").end(0), k.start("models").end(0)} {
			if strings.Contains(s.out.String()+s.err.String(), k.key) {
				t.Errorf("agent %s shows the key", s.cmd.Args[1])
			}
		}
		for _, e := range k.server.Exchanges() {
			if strings.Contains(e.Body, k.key) {
				t.Errorf("request %d holds the key", e.Number)
			}
		}
	})
}

// While a request waits to be sent again, Ctrl-C and a cancel from elsewhere end the wait at once,
// and a kill costs nothing.
func TestModelWaitEndsAtOnce(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		k := newTalk(t, p, modeltest.Script{Turns: []modeltest.Turn{
			{Text: "All is well.", Faults: []modeltest.Fault{{Kind: modeltest.RateLimit, After: 200, Attempt: 1}, {Kind: modeltest.RateLimit, After: 200, Attempt: 2}}},
		}})
		run := k.runs("go")
		run.until("asking again in")
		began := time.Now()
		if err := run.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		run.end(4).says("agent resume")
		if took := time.Since(began); took > atOnce {
			t.Errorf("Ctrl-C took %s", took)
		}
		run = k.start("resume", "last")
		run.until("asking again in")
		run.kill()
		k.start("resume", "last").end(0).says("All is well.")

		k.script(modeltest.Script{Turns: []modeltest.Turn{{Text: "Never.", Faults: []modeltest.Fault{{Kind: modeltest.Overloaded, After: 200}}}}})
		run = k.runs("go")
		run.until("asking again in")
		began = time.Now()
		k.start("cancel", "last").end(0)
		run.end(6)
		if took := time.Since(began); took > atOnce {
			t.Errorf("the cancel took %s", took)
		}
	})
}
