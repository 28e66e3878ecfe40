package command_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/host/model/modeltest"
	"agent/recovery/fault"
)

// providerPoints are the fault points that only a model over a wire comes by.
func providerPoints() []fault.Point {
	return []fault.Point{fault.AfterFailed, fault.BeforeSummary, fault.AfterSummary}
}

// modelStory fills its window, so that older turns are summarised, and may meet a provider without
// capacity.
func modelStory(fails bool) modeltest.Script {
	var faults []modeltest.Fault
	if fails {
		faults = []modeltest.Fault{{Kind: modeltest.Overloaded, Attempt: 1}}
	}
	shell := func(word string) []modeltest.Call {
		return []modeltest.Call{{Tool: "shell", Args: json.RawMessage(fmt.Sprintf(`{"command":"echo %s >> effects"}`, word))}}
	}
	return modeltest.Script{Turns: []modeltest.Turn{
		{Thinking: "First things first.", Text: "I begin.", Calls: shell("first")},
		{Text: "I go on.", Calls: shell("second"), Faults: faults},
		{Text: "All is done."},
	}}
}

// MOD-02, CTX-04: a run of a real model that is killed at any point of a request, of an answer or
// of a summary, also again while it goes on, ends in the same world: each effect once, and the
// provider takes every request.
func TestKilledAtEveryPointOfAModel(t *testing.T) {
	points := append(providerPoints(), fault.BeforeModel, fault.MidAnswer, fault.AfterModel, fault.AfterStarted,
		fault.AfterSettled, fault.AfterTurn, fault.BeforeCommit, fault.AfterCommit, fault.BeforeTerminal)
	for i, p := range points {
		speaker := speakers()[i%len(speakers())]
		t.Run(fmt.Sprintf("%s %s", p, speaker.protocol), func(t *testing.T) {
			if i >= len(speakers()) || raceEnabled { // else each protocol once
				onlyWhole(t)
			}
			t.Parallel()
			reached := false
			for n := 1; n <= passes(); n++ {
				arm := fmt.Sprintf("%s:%d", p, n)
				reached = killedTalk(t, speaker, arm) || reached
				reached = killedTalk(t, speaker, arm, arm, arm) || reached
			}
			if !reached && slices.Contains(providerPoints(), p) {
				t.Errorf("no command passed the point")
			}
		})
	}
}

// killedTalk carries the story to its end with one arm after the other, and says whether one of
// them was reached.
func killedTalk(t *testing.T, p speaker, arms ...string) bool {
	t.Helper()
	k := newTalk(t, p, modelStory(strings.HasPrefix(arms[0], string(fault.AfterFailed))))
	k.config(fmt.Sprintf("[providers.openai]\nkind = \"responses\"\n[models.%q]\nwindow = 2600\n", p.model))
	k.world.env = p.env(k.server, k.key)
	k.first = append(append([]string{"run", "--mode", "yolo", "--model", p.model}, p.flags(k.server)...), "go")
	k.finish(k.agent(arms[0], k.first...), arms[1:]...)
	for _, word := range []string{"first", "second"} {
		if n := strings.Count(k.read("effects"), word); n != 1 {
			t.Errorf("%v: the effect %q happened %d times\n%s%s", arms, word, n, k.log.String(), k.story())
		}
	}
	k.clean()
	if !strings.Contains(k.log.String(), "asking it for a summary") {
		t.Errorf("%v: nothing was summarised\n%s", arms, k.log.String())
	}
	return k.killed > 0
}
