package app

import (
	"os"
	"path/filepath"
	"testing"

	"agent/tools/mcp"
)

// Runs share a server only while the files of the workspace that it starts from are the same.
func TestChangedFilesAreAnotherServer(t *testing.T) {
	folder := t.TempDir()
	server := mcp.Server{Name: "srv", From: mcp.FromPerson, Command: "sh", Args: []string{"./srv.sh"}}
	variant := func(text string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, "srv.sh"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := &ServerFiles{folder: folder, mine: mcp.File{Servers: []mcp.Server{server}}}
		if err := f.look(); err != nil {
			t.Fatal(err)
		}
		return f.startsFrom(server)
	}
	first := variant("exec one")
	if variant("exec two") == first {
		t.Error("a changed file is the same server")
	}
	if variant("exec one") != first {
		t.Error("the same file is another server")
	}
}
