package command_test

import (
	"testing"

	"agent/host/model/modeltest"
)

// Issue 3, compaction: an answer that was refused or cut off stands for nothing, and one that asks
// for a call is no summary. It is asked for once more, then the run waits for a person, with every
// turn as it was.
func TestModelSummaryThatIsNone(t *testing.T) {
	tests := []struct {
		name string
		turn modeltest.Turn
	}{
		{"refused", modeltest.Turn{Text: "I would rather not.", Stop: modeltest.StopRefuse}},
		{"cut off", modeltest.Turn{Text: "The person asked for something that", Stop: modeltest.StopLength}},
		{"a call", modeltest.Turn{Text: "Let me look first.", Calls: []modeltest.Call{call("read_file", `{"path":"long.txt"}`)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name != "a call" {
				onlyWhole(t)
			}
			eachSpeaker(t, func(t *testing.T, p speaker) {
				k := newTalk(t, p, modeltest.Script{Turns: chapters(7), Summary: tt.turn})
				k.long()
				k.small(9000)
				k.runs("the long story").end(4).says("no whole one", "agent resume")
				if n := k.summaries(); n != 2 {
					t.Errorf("asked %d times for a summary", n)
				}
				k.script(modeltest.Script{Turns: chapters(7), Summary: modeltest.Turn{Text: "We read and wrote."}})
				k.start("resume", "last").end(0).says("The end.")
				k.chaptersDone(7)
			})
		})
	}
}
