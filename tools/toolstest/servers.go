package toolstest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/tools/process"
)

// ServersOf are the processes that were started as the MCP server of a folder: each one notes there
// who it is.
func ServersOf(t *testing.T, folder string) (servers []process.Identity) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "servers"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var one process.Identity
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		servers = append(servers, one)
	}
	return servers
}
