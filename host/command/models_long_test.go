package command_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/host/model/modeltest"
)

// chapters is a story whose every turn reads a long file and has an effect.
func chapters(n int) []modeltest.Turn {
	var turns []modeltest.Turn
	for i := range n {
		turns = append(turns, modeltest.Turn{Thinking: "Next.", Calls: []modeltest.Call{call("read_file", `{"path":"long.txt"}`), effect(fmt.Sprint("chapter", i+1))}})
	}
	return append(turns, modeltest.Turn{Text: "The end."})
}

func (k *talk) chaptersDone(n int) {
	k.t.Helper()
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, "chapter%d\n", i+1)
	}
	if got := k.read("effects"); got != want.String() {
		k.t.Errorf("effects: %q", got)
	}
	k.clean()
}

func (k *talk) summaries() (n int) {
	for _, e := range k.server.Exchanges() {
		if e.Summary {
			n++
		}
	}
	return n
}

// long writes the file of the chapters: about 1,500 tokens.
func (k *talk) long() { k.write("long.txt", strings.Repeat("sixteen letters\n", 380)) }

// small gives the model of the speaker a window of so many tokens.
func (k *talk) small(window int) {
	k.config(fmt.Sprintf("[providers.openai]\nkind = \"responses\"\n[models.%q]\nwindow = %d\nmax_output = 1000\n", k.p.model, window))
}

// Issue 3, compaction: as the window fills, older turns are summed up and the run goes on, with
// every effect once. A kill while the summary is written changes nothing. The record keeps
// everything.
func TestModelSumsUpWhatIsOlder(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		k := newTalk(t, p, modeltest.Script{Turns: chapters(7), Summary: modeltest.Turn{Text: "We read and wrote.", Faults: hold(-40)}})
		k.long()
		k.small(9000)
		run := k.runs("the long story")
		k.held(0)
		before := k.read("effects")
		run.kill()
		k.script(modeltest.Script{Turns: chapters(7), Summary: modeltest.Turn{Text: "We read and wrote."}})
		k.start("resume", "last").end(0).says("The end.")
		k.chaptersDone(7)
		if before == "" {
			t.Error("it summed up before there was anything")
		}
		if n := k.summaries(); n < 2 {
			t.Errorf("%d requests for a summary\n%s", n, k.story())
		}
		var v struct {
			Calls []struct {
				Content string `json:"content"`
			} `json:"calls"`
		}
		k.shown(&v)
		if len(v.Calls) != 14 || !strings.Contains(v.Calls[0].Content, "sixteen letters") {
			t.Errorf("the record holds %d calls", len(v.Calls))
		}
	})
}

// Where the provider alone knows how much it takes, its refusal is what makes room.
func TestModelSumsUpWhenTheProviderRefuses(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		k := newTalk(t, p, modeltest.Script{Turns: chapters(5), Window: 26_000})
		k.long()
		k.runs("the long story").end(0).says("The end.")
		refused := 0
		for _, e := range k.server.Exchanges() {
			if e.Refusal != "" {
				refused++
			}
			if e.Differs != "" {
				t.Errorf("request %d: %s", e.Number, e.Differs)
			}
		}
		if refused == 0 || k.summaries() == 0 || k.read("effects") != "chapter1\nchapter2\nchapter3\nchapter4\nchapter5\n" {
			t.Errorf("refused %d times, summed up %d times, effects %q\n%s", refused, k.summaries(), k.read("effects"), k.story())
		}
	})
}

// With --no-compact the run stops instead, and says so.
func TestModelIsNotSummedUpWhenToldSo(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		k := newTalk(t, p, modeltest.Script{Turns: chapters(7)})
		k.long()
		k.small(9000)
		k.runs("the long story", "--no-compact").end(1).says("--no-compact", "window")
		if k.summaries() != 0 {
			t.Error("it was summed up")
		}
	})
}

// A limit on tokens asks before another request, and a yes goes on.
func TestModelTokenLimitAsks(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		k := newTalk(t, p, modeltest.Script{Turns: chapters(3)})
		k.long()
		k.runs("the long story", "--max-tokens", "6k").end(3).says("6000 tokens", "agent answer")
		asked := len(k.server.Exchanges())
		k.start("answer", "last", "yes", "--no-resume").end(0)
		if n := len(k.server.Exchanges()); n != asked || n >= 4 {
			t.Errorf("%d requests before the question, %d behind it", asked, n)
		}
		code := 4
		for range 5 {
			s := k.start("resume", "last")
			<-s.ended
			if code = s.code; code != 3 {
				s.says("The end.")
				break
			}
			k.start("answer", "last", "yes", "--no-resume").end(0)
		}
		if code != 0 {
			t.Errorf("exit code %d\n%s", code, k.story())
		}
		k.chaptersDone(3)
	})
}

// What was recorded is played back without the provider and without a key: the same answers, the
// same effects.
func TestModelIsRecordedAndReplayed(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		k := newTalk(t, p, modeltest.Script{Turns: longStory()})
		rec := filepath.Join(k.dir, "rec.jsonl")
		k.runs("go", "--record", rec).end(0)
		nowhere(t, filepath.Dir(k.home), k.key)
		if err := k.server.Close(); err != nil {
			t.Fatal(err)
		}
		asked := len(k.server.Exchanges())
		first := k.read("effects")
		if err := os.Remove(filepath.Join(k.dir, "effects")); err != nil {
			t.Fatal(err)
		}
		k.start("run", "--mode", "yolo", "--model", "replay:"+rec, "go").end(0).says("All is done.")
		if got := k.read("effects"); got != first || len(k.server.Exchanges()) != asked {
			t.Errorf("effects %q, want %q", got, first)
		}
		info, err := os.Stat(rec)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the recording: %v, %v", info.Mode(), err)
		}
	})
}

// AGENTS.md of the workspace and of its parents up to the repository's root reaches the model; one
// that is edited while the run is interrupted changes nothing of its requests, and the resume says
// so.
func TestModelReadsStandingInstructions(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		k := newTalk(t, p, modeltest.Script{Turns: []modeltest.Turn{{Text: "Done.", Faults: hold(-1)}}})
		root := k.dir
		k.dir = filepath.Join(root, "sub", "deep")
		for _, d := range []string{k.dir, filepath.Join(root, ".git")} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for file, text := range map[string]string{"../../AGENTS.md": "Root says tabs.", "../AGENTS.md": "Sub says spaces.", "AGENTS.md": "Deep says both.", "../../../AGENTS.md": "Outside says no."} {
			k.write(file, text)
		}
		run := k.runs("go")
		e := k.held(0)
		run.kill()
		for _, want := range []string{"Root says tabs.", "Sub says spaces.", "Deep says both."} {
			if !strings.Contains(e.Body, want) {
				t.Errorf("the request lacks %q", want)
			}
		}
		if strings.Contains(e.Body, "Outside says") {
			t.Error("the request quotes what is outside of the repository")
		}
		k.write("AGENTS.md", "Deep says neither.")
		k.start("resume", "last").end(0).says("AGENTS.md")
		es := k.server.Exchanges()
		if es[0].Body != es[1].Body {
			t.Errorf("the request is another:\n%s\n%s", es[0].Body, es[1].Body)
		}
	})
}

// A thread that goes on with another model over another protocol is understood by it, thinking,
// calls and ids included, and so is the first one when it gets the thread back.
func TestModelIsChangedInAThread(t *testing.T) {
	notRaced(t)
	t.Parallel()
	order := append(speakers(), speakers()...)
	var talks []*talk
	for i, p := range order {
		k := newTalk(t, p, modeltest.Script{Turns: []modeltest.Turn{
			{Thinking: "Whose thoughts are these?", Text: "I go on.", Calls: []modeltest.Call{effect(fmt.Sprint("run", i+1)), call("odd name", `{}`)}}, {Thinking: "Done, I think.", Text: fmt.Sprint("End of ", i+1, ".")},
		}})
		if i > 0 {
			k.home, k.dir = talks[0].home, talks[0].dir
		}
		talks = append(talks, k)
		flags := []string{}
		if i > 0 {
			flags = []string{"-c"}
		}
		k.runs(fmt.Sprint("prompt ", i+1), flags...).end(0).says(fmt.Sprint("End of ", i+1, "."))
	}
	if got := talks[0].read("effects"); got != "run1\nrun2\nrun3\nrun4\nrun5\nrun6\n" {
		t.Errorf("effects: %q", got)
	}
	for i, k := range talks {
		es := k.server.Exchanges()
		if len(es) != 2 || es[0].Refusal != "" || es[1].Refusal != "" {
			t.Errorf("run %d\n%s", i+1, k.story())
		}
		if last := es[len(es)-1].Body; !strings.Contains(last, "End of "+fmt.Sprint(i)+".") && i > 0 {
			t.Errorf("run %d is not shown what the one before it said:\n%s", i+1, last)
		}
	}
}

// A picture reaches the model, and after a kill the same one again, though its file is another by
// then.
func TestModelIsShownAPicture(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		k := newTalk(t, p, modeltest.Script{Turns: []modeltest.Turn{{Text: "A dot.", Faults: hold(-1)}}})
		dot := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"
		k.write("dot.png", dot)
		run := k.runs("what is this?", "--image", "dot.png")
		e := k.held(0)
		run.kill()
		if !strings.Contains(e.Body, base64.StdEncoding.EncodeToString([]byte(dot))) {
			t.Errorf("the picture is not in the request:\n%s", e.Body)
		}
		k.write("dot.png", "gone")
		k.start("resume", "last").end(0).says("A dot.")
		if es := k.server.Exchanges(); es[0].Body != es[1].Body {
			t.Error("the request is another")
		}
		k.clean()
	})
}

// A run that was cancelled leaves a prompt without an answer in its thread. The next prompt is
// understood all the same, also by a server that takes no two messages of one role in a row.
func TestModelAfterARunThatWasCancelled(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		k := newTalk(t, p, modeltest.Script{
			Quirks: modeltest.Quirks{Alternate: true},
			Stories: []modeltest.Story{
				{Prompt: "first prompt", Turns: []modeltest.Turn{{Text: "Never whole.", Faults: hold(-1)}}},
				{Prompt: "second prompt", Turns: []modeltest.Turn{{Calls: []modeltest.Call{effect("one"), call("read_file", `{"path":"in.txt"}`)}, Faults: hold(-1)}}},
				{Prompt: "third prompt", Turns: []modeltest.Turn{{Calls: []modeltest.Call{effect("two"), call("shell", `{"command":"echo x > began; sleep 600"}`), effect("three")}}}},
				{Prompt: "fourth prompt", Turns: []modeltest.Turn{{Text: "cut", Stop: modeltest.StopLength}, {Calls: []modeltest.Call{effect("four")}}, {Text: "All done."}}},
			},
		})
		for i, prompt := range []string{"first prompt", "second prompt"} {
			run := k.runs("the "+prompt, []string{"-c"}[:min(i, 1)]...)
			k.held(i)
			run.kill()
			k.start("cancel", "last").end(0)
		}
		run := k.runs("the third prompt", "-c")
		if !run.eventually(func() bool { return k.read("began") != "" }) {
			t.Fatal("the command never began")
		}
		k.start("cancel", "last").end(0)
		run.end(6)
		k.runs("the fourth prompt", "-c").end(0).says("All done.")
		if got := k.read("effects"); got != "two\nfour\n" {
			t.Errorf("effects: %q", got)
		}
		for _, e := range k.server.Exchanges() {
			if e.Refusal != "" {
				t.Errorf("request %d: %s\n%s", e.Number, e.Refusal, e.Body)
			}
		}
	})
}

// A model that wants its own thinking before calls takes over a thread in which another model's
// calls were answered last.
func TestModelWithABudgetTakesOverACancelledRun(t *testing.T) {
	t.Parallel()
	all := speakers()
	thinker, other := all[0], all[2]
	thinker.model = "anthropic/claude-sonnet-4-5"
	first := newTalk(t, other, modeltest.Script{Turns: []modeltest.Turn{{Calls: []modeltest.Call{effect("one")}}, {Text: "Never.", Faults: hold(-1)}}})
	run := first.runs("go")
	first.held(0)
	run.kill()
	first.start("cancel", "last").end(0)
	second := newTalk(t, thinker, modeltest.Script{Turns: []modeltest.Turn{{Thinking: "Hm.", Calls: []modeltest.Call{effect("two")}}, {Text: "Done."}}})
	second.home, second.dir = first.home, first.dir
	second.runs("take over", "-c", "--effort", "high").end(0).says("Done.")
	second.clean()
	if got := first.read("effects"); got != "one\ntwo\n" {
		t.Errorf("effects: %q", got)
	}
}
