package command_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/host/model/modeltest"
)

// turns is a story with thinking, parallel calls and text.
func longStory() []modeltest.Turn {
	return []modeltest.Turn{
		{Thinking: "First I look at the file.", Text: "I look.", Calls: []modeltest.Call{call("read_file", `{"path":"in.txt"}`), effect("one")}},
		{Thinking: "Now the next two.", Calls: []modeltest.Call{effect("two"), effect("three")}},
		{Text: "One more look, äöü 🙂 <&>.", Calls: []modeltest.Call{call("read_file", `{"path":"effects"}`)}},
		{Thinking: "It is all there.", Text: "All is done."},
	}
}

// Issue 3, behaviour 1: the request after a resume has the same bytes as the one before the crash,
// and the request of the next turn begins with them, through four kills and into the next run of
// the thread.
// EX-48.
func TestModelRequestsAreTheSameAfterAKill(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		first := longStory()
		for i := range first {
			first[i].Faults = hold(-60)
		}
		script := modeltest.Script{Stories: []modeltest.Story{
			{Prompt: "first prompt", Turns: first}, {Prompt: "second prompt", Turns: []modeltest.Turn{{Calls: []modeltest.Call{effect("four")}}, {Text: "Really done."}}},
		}}
		k := newTalk(t, p, script)
		run := k.runs("the first prompt")
		for i := range first {
			k.held(2 * i)
			run.kill()
			run = k.start("resume", "last")
		}
		run.end(0).says("All is done.")
		k.runs("the second prompt", "-c").end(0).says("Really done.")
		k.clean()
		if got := k.read("effects"); got != "one\ntwo\nthree\nfour\n" {
			t.Errorf("effects: %q", got)
		}
		var before string
		for i, e := range k.server.Exchanges() {
			if i < 2*len(first) && i%2 == 1 {
				if e.Body != before {
					t.Errorf("request %d, turn %d again, differs from the one before the kill:\n%s\n%s", i+1, e.Turn, before, e.Body)
				}
			} else if !strings.HasPrefix(e.Body, strings.TrimSuffix(before, "]}")) {
				t.Errorf("request %d, turn %d, does not begin with the one before it:\n%s\n%s", i+1, e.Turn, before, e.Body)
			}
			before = e.Body
		}
	})
}

// Issue 3, behaviour 2: a kill at any byte of an answer acts on nothing; the same request is sent
// again; each effect happens once.
func TestModelKilledAtAnyByteOfAnAnswer(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		turn := modeltest.Turn{Thinking: "I think.", Text: "Now.", Calls: []modeltest.Call{effect("one"), effect("two")}}
		script := func(at int) modeltest.Script {
			first := turn
			first.Faults = hold(at)
			return modeltest.Script{Turns: []modeltest.Turn{first, {Text: "Done."}}}
		}
		k := newTalk(t, p, script(0))
		run := k.runs("go") // it only tells where the events end
		ends := k.held(0).Ends
		run.kill()
		last := ends[len(ends)-1] - 3 // the last event is not whole: behind it the answer is
		spots := []int{0, 1, last - 1, last}
		for i := 1; i < 6; i++ {
			spots = append(spots, last*i/6)
		}
		for i := 0; i < len(ends)-1; i += max(1, len(ends)/5) {
			spots = append(spots, ends[i])
		}
		if !whole() {
			spots = []int{0, last / 3, last * 2 / 3, last}
		}
		slices.Sort(spots)
		root := k.dir
		for i, at := range slices.Compact(spots) {
			k.dir = filepath.Join(root, fmt.Sprint(i))
			if err := os.Mkdir(k.dir, 0o755); err != nil {
				t.Fatal(err)
			}
			k.script(script(at))
			seen := len(k.server.Exchanges())
			run := k.runs("go")
			k.held(seen)
			run.kill()
			if got := k.read("effects"); got != "" {
				t.Fatalf("killed at byte %d, acted: %q", at, got)
			}
			k.start("resume", "last").end(0).says("Done.")
			if got := k.read("effects"); got != "one\ntwo\n" {
				t.Errorf("killed at byte %d: effects %q", at, got)
			}
			es := k.server.Exchanges()[seen:]
			if len(es) != 3 || es[0].Body != es[1].Body {
				t.Errorf("killed at byte %d: %d requests\n%s", at, len(es), k.story())
			}
		}
		k.clean()
	})
}

// Issue 3, behaviour 4: ids of a provider that repeat, collide across turns or are not there mix
// nothing up.
func TestModelCallIDsThatAreNone(t *testing.T) {
	t.Parallel()
	for i, p := range speakers() {
		for j, ids := range []string{"none", "same", "turns"} {
			t.Run(string(p.protocol)+"-"+ids, func(t *testing.T) {
				if i != j || raceEnabled {
					onlyWhole(t)
				}
				t.Parallel()
				say := func(word string) modeltest.Call {
					return call("shell", fmt.Sprintf(`{"command":"echo %s | tee -a effects"}`, word))
				}
				k := newTalk(t, p, modeltest.Script{Quirks: modeltest.Quirks{IDs: ids, Whole: ids == "none", NoUsage: ids == "same"}, Turns: []modeltest.Turn{
					{Calls: []modeltest.Call{say("alpha"), say("beta")}},
					{Calls: []modeltest.Call{say("gamma"), say("delta")}, Faults: hold(-1)},
					{Calls: []modeltest.Call{say("epsilon")}},
					{Text: "Done."},
				}})
				run := k.runs("go")
				k.held(0)
				run.kill()
				k.start("resume", "last").end(0).says("Done.")
				k.clean()
				words := []string{"alpha", "beta", "gamma", "delta", "epsilon"}
				if got := k.read("effects"); got != strings.Join(words, "\n")+"\n" {
					t.Errorf("effects: %q", got)
				}
				es := k.server.Exchanges()
				pairs := pairsOf(t, p.protocol, es[len(es)-1].Body)
				for i, w := range words {
					if i >= len(pairs) || !strings.Contains(pairs[i].args, w) || !strings.Contains(pairs[i].result, w) {
						t.Fatalf("call %d should be of %s: %+v", i+1, w, pairs)
					}
				}
			})
		}
	}
}

// Issue 3, behaviour 5: Ctrl-C in an answer ends within a second, shows what came as a part, and
// keeps it as no answer.
func TestModelInterruptedInAnAnswer(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		text := "This is the first half of it. And this is the second."
		turns := []modeltest.Turn{{Text: text, Faults: hold(-1)}}
		k := newTalk(t, p, modeltest.Script{Turns: turns})
		k.runs("tell").until("agent resume")
		e := k.held(0)
		k.script(modeltest.Script{Turns: []modeltest.Turn{{Text: text, Faults: hold(e.Ends[len(e.Ends)/2])}}})
		k.start("cancel", "last").end(0)
		run := k.runs("tell")
		k.held(1)
		if !run.eventually(func() bool { return strings.Contains(k.live(), "This is the first") }) {
			t.Fatalf("the first half is not shown: %q", k.live())
		}
		began := time.Now()
		if err := run.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		run.end(4).says("This is the first", "partial", "agent resume")
		if took := time.Since(began); took > atOnce {
			t.Errorf("it took %s", took)
		}
		if got := run.out.String(); strings.Contains(got, "first half") {
			t.Errorf("the part is on stdout as an answer: %q", got)
		}
		if got := k.start("show", "last").end(0).out.String(); strings.Contains(got, "first half") {
			t.Errorf("the part is stored:\n%s", got)
		}
		k.start("resume", "last").end(0).says(text)
		es := k.server.Exchanges()
		if a, b := es[len(es)-2], es[len(es)-1]; a.Body != b.Body {
			t.Errorf("the request is another:\n%s\n%s", a.Body, b.Body)
		}
		k.clean()
	})
}

// pair is a call with the result that the client sends for it.
type pair struct{ id, args, result string }

// pairsOf reads calls and results from a request.
func pairsOf(t *testing.T, p modeltest.Protocol, body string) []pair {
	t.Helper()
	var pairs []pair
	result := func(id, text string) {
		for i := range pairs {
			if pairs[i].id == id {
				pairs[i].result += text
			}
		}
	}
	switch p {
	case modeltest.Anthropic:
		eachAnthropic(t, body, func(id, args string) { pairs = append(pairs, pair{id, args, ""}) }, result)
	case modeltest.Responses:
		eachResponses(t, body, func(id, args string) { pairs = append(pairs, pair{id, args, ""}) }, result)
	default:
		eachChat(t, body, func(id, args string) { pairs = append(pairs, pair{id, args, ""}) }, result)
	}
	return pairs
}

// nowhere expects that no file below a folder holds the text.
func nowhere(t *testing.T, folder, text string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil // it went meanwhile
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if bytes.Contains(b, []byte(text)) {
			t.Errorf("%s holds %q", path, text)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
