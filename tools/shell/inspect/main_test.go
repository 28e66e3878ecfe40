package inspect

import (
	"testing"

	"agent/tools/toolstest"
)

// bench is a workspace for commands.
type bench struct{ *toolstest.Bench }

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{toolstest.New(t)}
}
