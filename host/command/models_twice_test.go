package command_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"agent/host/model/modeltest"
)

// One word to stop that is sent twice, as timeout(1) does to a process and to its group, is one:
// the run says how it goes on.
func TestModelStoppedByOneSignalTwice(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		k := newTalk(t, p, modeltest.Script{Turns: []modeltest.Turn{{Text: "This is all of it.", Faults: hold(-1)}}})
		run := k.runs("tell")
		k.held(0)
		for range 20 {
			if err := run.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
		}
		run.end(4).says("asked to stop by terminated", "agent resume")
	})
}
