package mcp_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/tools/mcp"
)

// What a server starts from is found in every way in which a definition can name it, and its data
// is left out.
func TestScripts(t *testing.T) {
	dir := t.TempDir()
	for path, mode := range map[string]os.FileMode{
		"tools/server": 0o755, "tools/run": 0o644, "server.py": 0o644, "hook.js": 0o644, "conf.json": 0o644, "data.db": 0o644, "memory.json": 0o644,
		"pkg/mod.py": 0o644, "app/package.json": 0o644, "app/index.js": 0o644, "node_modules/.bin/thing": 0o755,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(path), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "server.py"), filepath.Join(dir, "link.py")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		s    mcp.Server
		want string
	}{
		"the program":            {mcp.Server{Command: "./tools/server"}, "tools/server"},
		"by an absolute path":    {mcp.Server{Command: dir + "/tools/server"}, "tools/server"},
		"an interpreter's":       {mcp.Server{Command: "sh", Args: []string{"-e", "tools/run", "data.db"}}, "tools/run"},
		"an argument":            {mcp.Server{Command: "true", Args: []string{"server.py", "missing.py", "/etc/passwd"}}, "server.py"},
		"a flag":                 {mcp.Server{Command: "true", Args: []string{"--opt=a=./hook.js", "--config=conf.json"}}, "conf.json hook.js"},
		"a folder":               {mcp.Server{Command: "node", Args: []string{"app"}}, "app/index.js app/package.json"},
		"the workspace":          {mcp.Server{Command: "true", Args: []string{".", dir}}, ""},
		"a module":               {mcp.Server{Command: "python3", Args: []string{"-m", "pkg.mod"}}, "pkg/mod.py"},
		"a package":              {mcp.Server{Command: "npx", Args: []string{"-y", "@scope/thing@1.2"}}, "node_modules/.bin/thing"},
		"another folder":         {mcp.Server{Command: "./server", Dir: "tools"}, "tools/server"},
		"the environment":        {mcp.Server{Command: "true", Env: []mcp.Pair{{Name: "O", Value: "--require=./hook.js"}, {Name: "M", Value: "memory.json"}}}, "hook.js"},
		"a link":                 {mcp.Server{Command: "true", Args: []string{"link.py"}}, "link.py"},
		"a script":               {mcp.Server{Command: "sh", Args: []string{"-c", "X=1 exec sh tools/run --db data.db"}}, "tools/run"},
		"a script that goes":     {mcp.Server{Command: "sh", Args: []string{"-c", `cd "tools" && . ./run`}}, "tools/run"},
		"a script that reads":    {mcp.Server{Command: "sh", Args: []string{"-c", ". tools/run"}}, "tools/run"},
		"a folder and data":      {mcp.Server{Command: "node", Args: []string{".", "data.db"}}, ""},
		"a shell's beginning":    {mcp.Server{Command: "bash", Env: []mcp.Pair{{Name: "BASH_ENV", Value: "tools/run"}}}, "tools/run"},
		"by a variable":          {mcp.Server{Command: "sh", Args: []string{"-c", "$PWD/tools/server <${PWD}/server.py"}}, "server.py tools/server"},
		"below a named folder":   {mcp.Server{Command: "uv", Args: []string{"--directory", dir + "/pkg", "run", "mod.py"}}, "pkg/mod.py"},
		"behind other programs":  {mcp.Server{Command: "env", Args: []string{"A=b", "timeout", "9", "sh", "-e", "tools/run"}}, "tools/run"},
		"words of the setting":   {mcp.Server{Command: "node", Env: []mcp.Pair{{Name: "O", Value: "--require ./hook.js"}, {Name: "P", Value: "lib:server.py"}}}, "hook.js server.py"},
		"a path of programs":     {mcp.Server{Command: "sh", Args: []string{"-c", "server"}, Env: []mcp.Pair{{Name: "PATH", Value: "/bin:" + dir + "/tools"}}}, "tools/server"},
		"data":                   {mcp.Server{Command: "true", Args: []string{"data.db", "--db=data.db"}}, ""},
		"a server at an address": {mcp.Server{URL: "https://h/server.py"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.s.Scripts(dir)
			if err != nil {
				t.Fatal(err)
			}
			if names := strings.Join(slices.Sorted(maps.Keys(got)), " "); names != c.want {
				t.Errorf("got %q, want %q", names, c.want)
			}
		})
	}
}

// A change is named: what is other, new or gone.
func TestDifferences(t *testing.T) {
	was := map[string]string{"a": "1", "b": "2", "c": "3"}
	now := map[string]string{"a": "1", "b": "0", "d": "4"}
	if got := mcp.Differences(was, now); got != "b was changed, d is new, c is gone" {
		t.Error(got)
	}
	if got := mcp.Differences(was, maps.Clone(was)) + mcp.Differences(nil, nil); got != "" {
		t.Error(got)
	}
}
