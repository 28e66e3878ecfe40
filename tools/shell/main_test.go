package shell

import (
	"os"
	"path/filepath"
	"testing"

	"agent/tools/githook"
	"agent/tools/gitrepo/hooklines"
	"agent/tools/runner"
	"agent/tools/sandbox"
	"agent/tools/toolstest"
)

// The test binary is also the runner's, as the shipped one is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Command {
		os.Exit(sandbox.Main(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == hooklines.Command {
		_ = githook.Here().Main(os.Args[2:])
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == "__runner" {
		os.Exit(runner.Main(os.Args[2], runner.MainOptions{Hit: dieAt(filepath.Dir(os.Args[2]))}))
	}
	// A binary with the race detector waits for a second at its end, for each of hundreds of
	// processes. It cannot fail here.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

// bench is a workspace with the shell.
type bench struct{ *toolstest.Bench }

type args = toolstest.Args

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{toolstest.New(t)}
	calls := filepath.Join(b.State, "calls")
	b.Use(New(Options{Calls: calls, Exe: b.Executable(), Environ: toolstest.Environ(), Hidden: []string{"OTHER_KEY", "SECRET_TOKEN"}, Denied: []string{b.State, calls}}))
	return b
}

func (b *bench) shell() shell {
	b.T.Helper()
	return b.Tool("shell").(shell)
}
