//go:build linux && !portable

package runner_test

import (
	"testing"

	"agent/tools/runner"
)

// A process whose parent is gone falls to the runner, which reaps it: while the command runs, and
// after it for as long as something that it left behind does. The number of a process that is not
// reaped stays taken, which is what these scripts wait for.
func TestOrphansAreBuried(t *testing.T) {
	const orphan = `(sh -c 'echo $$ >orphan' &)
		until [ -s orphan ]; do :; done
		read -r pid <orphan
		while [ -e /proc/$pid ]; do :; done
	`
	t.Run("while the command runs", func(t *testing.T) {
		c := newCall(t, orphan)
		c.spec.Timeout = patience / 2
		if e := c.ended(); e.Cause != runner.CauseExited || e.Status != 0 {
			t.Errorf("the command did not see its orphan go: %+v", e)
		}
	})
	t.Run("after it", func(t *testing.T) {
		c := newCall(t, "{ read -r _ <go\n"+orphan+"echo buried >seen; } &")
		gate, seen := c.fifo("go"), c.fifo("seen")
		if e := c.ended(); e.Cause != runner.CauseExited || e.Status != 0 {
			t.Fatalf("%+v", e)
		}
		c.let(gate)
		if got := c.read(seen); got != "buried" {
			t.Errorf("what the command left behind says %q of its orphan", got)
		}
	})
	t.Run("while the command itself waits to be buried", func(t *testing.T) {
		const zombie = `while read -r stat 2>/dev/null </proc/$$/stat && case $stat in *") Z "*) false;; esac; do :; done
		`
		c := newCall(t, "{ "+zombie+orphan+"echo buried >seen; } &")
		seen := c.fifo("seen")
		if e := c.ended(); e.Cause != runner.CauseExited || e.Status != 0 {
			t.Fatalf("%+v", e)
		}
		if got := c.read(seen); got != "buried" {
			t.Errorf("what the command left behind says %q of its orphan", got)
		}
	})
}
