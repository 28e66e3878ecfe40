package command_test

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdWaitServers waits until no MCP server of the script is left: none that works in its folder.
//
//	waitservers
func cmdWaitServers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: waitservers")
	}
	eventually(ts, "the end of the MCP servers", func() bool { return mcpServers(ts.Getenv("WORK")) == 0 })
}

// mcpServers counts the servers that work in a folder.
func mcpServers(work string) int {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0
	}
	n := 0
	for _, dir := range dirs {
		cmd, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		at, _ := os.Readlink(filepath.Join(dir, "cwd")) // of one that is gone there is none
		if err == nil && at == work && bytes.HasPrefix(cmd, []byte("mcptest\x00")) {
			n++
		}
	}
	return n
}
