// Package hidden carries out the hidden commands of the binary: the process that confines a
// command, the one that runs a call, and the hooks of git that need no store.
//
// Every command of a run starts the binary once or twice more for them, and they need little of it.
// So they are carried out while the packages of the binary are being initialised, as soon as those
// that they need are, and instead of the others: SQLite, the models, the MCP servers and the
// command line. Go initialises the packages that are ready in the order of their paths, so this one
// does not wait for any that it does not need but those of the standard library and a few more.
package hidden

import (
	"fmt"
	"os"
	"runtime"

	"agent/recovery/fault"
	"agent/tools/githook"
	"agent/tools/gitrepo/hooklines"
	"agent/tools/runner"
	"agent/tools/sandbox"
)

// exitUsage is the exit code of the command line for wrong usage.
const exitUsage = 2

// Exception: what it saves is the initialisation of the packages that come later, so it cannot be
// called later.
func init() {
	deep(func() {
		if code, ok := run(os.Args); ok {
			os.Exit(code)
		}
	})
}

// run carries out a hidden command, and says whether the arguments name one.
func run(args []string) (code int, ok bool) {
	switch {
	case len(args) > 1 && args[1] == sandbox.Command:
		return sandbox.MainInInit(args[2:]), true
	case len(args) > 1 && args[1] == hooklines.Command:
		return 0, githook.Here().Main(args[2:]) == nil // else it needs the store, and goes on
	case len(args) == 3 && args[1] == runner.Command:
		// That a point is armed was reported by the host, whose setting it is.
		if _, err := fault.Arm(); err != nil {
			fmt.Fprintf(os.Stderr, "agent: %v\n", err)
			return exitUsage, true
		}
		return aside(func() int { return runner.Main(args[2], runner.MainOptions{}) }), true
	}
	return 0, false
}

// aside runs f in a goroutine of its own. While packages are being initialised this one is tied to
// the first thread, and each time it waited for another goroutine the thread would change.
func aside(f func() int) int {
	code := make(chan int)
	go deep(func() { code <- f() })
	return <-code
}

// deep runs f on a stack that has room for it. A stack that is too small is copied to a larger one,
// again and again, by means of tables of the binary that a start has no other use for; here there
// is next to nothing to copy yet. What is initialised later, and main, find it as large.
//
//go:noinline
func deep(f func()) {
	var room [12 << 10]byte
	f()
	runtime.KeepAlive(&room)
}
