package fault

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// measures are the files whose time.Now only measures how long something takes. Whatever is
// recorded, compared or shown is Now's.
func measures() map[string]bool {
	return map[string]bool{
		"db/sqlitefile/conn.go": true, "host/drive/record.go": true, "host/drive/call.go": true, "host/stream/live_copy.go": true, "host/input/ready_unix.go": true,
		"host/app/check.go":       true,
		"host/witness/witness.go": true, "host/witness/family.go": true, "host/witness/connection.go": true, // how long it is silent
		"host/serve/http.go": true, "host/serve/events.go": true, // how long a request took, and until when it may be written
		"host/serve/door.go":           true, // how old a code or a session is
		"host/model/transport/body.go": true, "host/model/transport/record.go": true, "host/model/transport/replay.go": true, "recovery/fault/fault.go": true,
		"host/workspace/look.go": true, "host/workspace/base.go": true, "tools/gitrepo/objects/pin.go": true, "tools/scan/tree.go": true, // compared with what a file system wrote
		"db/sqlitefile/place.go": true, "db/prune/contents.go": true, // likewise
		"db/prune/remove.go": true, "db/prune/rows.go": true, "host/prune/prune.go": true,
		"tools/githook/githook.go": true, "tools/gitrepo/history/marker.go": true, // compared with what git wrote
		"tools/mcp/set.go": true, "tools/mcp/stdio.go": true, "tools/mcp/tool.go": true,
		"tools/runner/command_linux.go": true, "tools/runner/command_posix.go": true, "tools/runner/stream.go": true, "tools/runner/sweep_linux.go": true,
	}
}

// The product has one clock: a file that reads another one must be known to measure only.
// EX-75.
func TestOneClock(t *testing.T) {
	root, read := filepath.Join("..", ".."), map[string]bool{}
	for _, dir := range []string{"db", "host", "recovery", "tools"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() {
				_, err := os.Stat(filepath.Join(path, "go.mod")) // a program of its own
				if name := e.Name(); err == nil || name == "testdata" || strings.HasSuffix(name, "test") {
					return filepath.SkipDir
				}
				return nil
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			text, err := os.ReadFile(path)
			if strings.Contains(string(text), "time.Now") {
				name, _ := filepath.Rel(root, path)
				read[filepath.ToSlash(name)] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range read {
		if !measures()[name] {
			t.Errorf("%s reads time.Now: what it records, compares or shows must come from fault.Now", name)
		}
	}
	for name := range measures() {
		if !read[name] {
			t.Errorf("%s does not read time.Now any more", name)
		}
	}
}
