package files

import (
	"os"
	"path/filepath"
	"testing"

	"agent/tools/toolstest"
)

// The test binary also carries out a write in a process of its own, which a fault point ends.
func TestMain(m *testing.M) {
	if len(os.Args) == 7 && os.Args[1] == "__act" {
		os.Exit(actAndDie(os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6]))
	}
	os.Exit(m.Run())
}

// bench is a workspace with the tools of this package.
type bench struct{ *toolstest.Bench }

type args = toolstest.Args

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{toolstest.New(t)}
	b.build()
	return b
}

// build makes the tools for the bench's folders as they are now.
func (b *bench) build() {
	b.T.Helper()
	b.Use(Tools([]string{b.State, filepath.Join(b.State, "calls")}, nil, nil)...)
}
