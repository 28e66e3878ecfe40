package command_test

import (
	"strings"
	"testing"

	"agent/host/model/modeltest"
)

// asked is what the model is shown in the newest request.
func (k *talk) asked() string {
	k.t.Helper()
	all := k.server.Exchanges()
	if len(all) == 0 {
		k.t.Fatal("the model was asked nothing")
	}
	return all[len(all)-1].Body
}

// newest is the newest run, and its thread.
func (k *talk) newest() (run, thread string) {
	k.t.Helper()
	var v struct {
		Runs []struct {
			ID     string `json:"id"`
			Thread string `json:"thread_id"`
		} `json:"runs"`
	}
	decode(k.t, k.start("ls", "--all", "--json").end(0).out.String(), &v)
	return v.Runs[0].ID, v.Runs[0].Thread
}

func rewindStories() modeltest.Script {
	return modeltest.Script{Stories: []modeltest.Story{
		{Prompt: "the first prompt", Turns: []modeltest.Turn{
			{Text: "Now the first.", Calls: []modeltest.Call{effect("one")}}, {Text: "Now the second.", Calls: []modeltest.Call{effect("two")}}, {Text: "All is done."},
		}},
		{Prompt: "go on", Turns: []modeltest.Turn{{Text: "I went on."}}},
	}}
}

// R10: a fork shows the model what its source's next request would have shown, to the byte, and
// leaves the source as it is.
func TestModelForkSharesThePrefix(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		k := newTalk(t, p, rewindStories())
		k.runs("the first prompt").end(0)
		second := k.server.Exchanges()[1].Body
		run, thread := k.newest()
		k.start("fork", run+"@3", "go on").end(0).says("I went on.")
		whole := k.asked()
		k.start("fork", run+"@1", "go on").end(0).says("I went on.", "differs from what was at "+run+"@1", "effects")
		if got := k.asked(); !strings.HasPrefix(got, strings.TrimRight(second, "]}")) || strings.Contains(got, "Now the second") {
			t.Errorf("the request of a fork does not begin with that of the source's second turn:\n%s\n%s", second, got)
		}
		k.start("run", "--thread", thread, "go on").end(0)
		if got := k.asked(); got != whole {
			t.Errorf("the source's next request is another than that of its fork:\n%s\n%s", whole, got)
		}
		k.start("fork", run+"@4", "go on").end(1).says("the run has 3 settled turns", "agent checkpoints "+run)
		k.clean()
	})
}

// R1: after a rewind the model is shown the conversation up to its position, and nothing later;
// after its undo all of it again; a rewind that was not carried out moves nothing.
func TestModelForgetsWhatWasRewound(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		k := newTalk(t, p, rewindStories())
		goOn := func(first, second bool) {
			t.Helper()
			k.start("run", "-c", "go on").end(0).says("I went on.", "model "+p.model)
			for text, want := range map[string]bool{"Now the first.": first, "Now the second.": second, "rewind": false, "restore_files": false} {
				if got := k.asked(); strings.Contains(got, text) != want {
					t.Errorf("the request holds %q: %t, want %t:\n%s", text, !want, want, got)
				}
			}
		}
		k.runs("the first prompt").end(0)
		run, _ := k.newest()
		k.start("rewind", run+"@1", "--yes").end(0)
		if got := k.read("effects"); got != "one\n" {
			t.Errorf("effects after the rewind: %q", got)
		}
		goOn(true, false)
		rewound := k.asked()
		k.start("undo", "--yes").end(0) // of what went on
		k.start("rewind", run+"@3", "--yes").end(0)
		goOn(true, true)
		k.start("undo", "--yes", run).end(0)
		goOn(false, false)
		k.start("undo", "--yes").end(0)
		k.start("fork", run+"@1", "go on").end(0)
		if got := k.asked(); got != rewound {
			t.Errorf("a fork shows the model something else than a rewind to the same position:\n%s\n%s", rewound, got)
		}
		k.clean()
	})
}

// An undone rewind is as if it had not been, and so is one that was refused or answered with no;
// --only leaves the other part.
func TestModelRewindsThatMoveNothing(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		k := newTalk(t, p, rewindStories())
		knows := func(second bool) {
			t.Helper()
			k.start("run", "-c", "go on").end(0)
			if got := k.asked(); strings.Contains(got, "Now the second.") != second {
				t.Errorf("the request holds the second turn: %t, want %t:\n%s", !second, second, got)
			}
		}
		k.runs("the first prompt").end(0)
		run, _ := k.newest()
		k.start("rewind", run+"@1", "--yes").end(0)
		k.start("undo", "--yes").end(0).says("1 path given back")
		if got := k.read("effects"); got != "one\ntwo\n" {
			t.Errorf("effects after the undone rewind: %q", got)
		}
		knows(true)
		k.start("rewind", run+"@9", "--yes").end(1)
		knows(true)
		k.start("rewind", run+"@1").end(3)
		var v struct {
			Requests []struct {
				ID string `json:"id"`
			} `json:"requests"`
		}
		decode(t, k.start("pending", "--json").end(0).out.String(), &v)
		k.start("answer", v.Requests[0].ID, "no").end(1)
		knows(true)
		k.start("rewind", run+"@1", "--only", "files", "--yes").end(0)
		if got := k.read("effects"); got != "one\n" {
			t.Errorf("effects after a rewind of files: %q", got)
		}
		knows(true)
		k.start("undo", "--yes").end(0) // of going on, which changed nothing
		k.start("rewind", run+"@1", "--only", "conversation", "--yes").end(0)
		knows(false)
		k.clean()
	})
}
