//go:build linux

package sandbox_test

import (
	"os"
	"testing"

	"agent/tools/sandbox"
)

// The test binary is also the confining process, as the shipped one is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Command {
		os.Exit(sandbox.Main(os.Args[2:]))
	}
	os.Exit(m.Run())
}
