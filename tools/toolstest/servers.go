package toolstest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// ServersOf are the processes that were started as the MCP server of a folder: each one notes its
// number there.
func ServersOf(t *testing.T, folder string) (pids []int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "pids"))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}
