package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Scripts lists the files of the workspace at folder that the server starts from, by their paths below it, each with its SHA-256:
// who may change one of them decides what the server does. These are the program, and what its arguments and the values of its
// environment name, also behind = in one, so far as it is code or configuration; of a folder, the files at which an interpreter
// begins. A server's data, such as its database or log, is not among them, nor is what those files load in turn. It is empty for
// a server at an address.
func (s Server) Scripts(folder string) (map[string]string, error) {
	if s.Command == "" {
		return nil, nil
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, fmt.Errorf("look at what MCP server %s starts from: %w", s.Name, err)
	}
	f := scripts{folder: folder, real: real, dir: s.startDir(folder), found: map[string]string{}}
	for _, n := range s.named() {
		if err := f.add(n); err != nil {
			return nil, fmt.Errorf("look at what MCP server %s starts from: %w", s.Name, err)
		}
	}
	return f.found, nil
}

// startDir is the folder that the server starts in.
func (s Server) startDir(folder string) string {
	switch {
	case s.Dir == "":
		return folder
	case filepath.IsAbs(s.Dir):
		return s.Dir
	}
	return filepath.Join(folder, s.Dir)
}

// named is a text of a definition that may name a file.
type named struct {
	path string
	code bool // whatever is there is code
	env  bool // it comes from the environment, which also names data in the formats of configuration
}

// named lists what in a definition may name a file.
func (s Server) named() []named {
	program := named{path: s.Command, code: true}
	if path, err := exec.LookPath(s.Command); err == nil && !strings.Contains(s.Command, "/") {
		program.path = path
	}
	out := []named{program}
	base := strings.TrimRight(strings.TrimSuffix(filepath.Base(s.Command), ".exe"), "0123456789.")
	script := slices.Contains(interpreters(), base)
	for i, arg := range s.Args {
		out = append(out, named{path: arg, code: script && !strings.HasPrefix(arg, "-")})
		script = script && strings.HasPrefix(arg, "-")
		out = append(out, behind(arg, false)...)
		if i > 0 && s.Args[i-1] == "-m" { // a module of Python
			module := strings.ReplaceAll(arg, ".", "/")
			out = append(out, named{path: module + ".py"}, named{path: module})
		}
		if base == "npx" || base == "bunx" { // a package that the workspace has comes before the registry's
			name, _, _ := strings.Cut(strings.TrimPrefix(arg, "@"), "@")
			out = append(out, named{path: "node_modules/.bin/" + filepath.Base(name), code: true})
		}
	}
	for _, e := range s.Env {
		out = append(append(out, named{path: e.Value, env: true}), behind(e.Value, true)...)
	}
	return out
}

// behind lists what stands behind each = of a text, as in --flag=path.
func behind(text string, env bool) []named {
	var out []named
	for _, rest, found := strings.Cut(text, "="); found; _, rest, found = strings.Cut(rest, "=") {
		out = append(out, named{path: rest, env: env})
	}
	return out
}

// interpreters carry out what their first argument names, however it is called.
func interpreters() []string {
	return []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "python", "pypy", "node", "deno", "bun", "tsx", "ts-node", "ruby", "perl", "php", "lua",
		"java", "Rscript", "env", "uv", "pipx"}
}

// isCode says whether a file that is named is code or, where no environment names it, configuration.
func (n named) isCode(path string, info fs.FileInfo) bool {
	if n.code || info.Mode()&0o111 != 0 {
		return true
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".py", ".pyc", ".pyz", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".sh", ".bash", ".zsh", ".rb", ".pl", ".php", ".lua", ".r",
		".jar", ".class", ".go", ".rs", ".wasm", ".so", ".dll", ".exe":
		return true
	case ".json", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf":
		return !n.env
	}
	return false
}

// scripts gathers files below a workspace.
type scripts struct {
	folder, real string
	dir          string
	found        map[string]string
}

// starts are the files at which an interpreter begins that is given a folder.
func starts() []string {
	return []string{"package.json", "index.js", "index.mjs", "index.cjs", "index.ts", "__main__.py", "__init__.py", "main.go", "mod.ts"}
}

func (f *scripts) add(n named) error {
	path := strings.TrimPrefix(n.path, "file://")
	if path == "" || len(path) > 4096 || strings.IndexByte(path, 0) >= 0 {
		return nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.dir, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil // an argument need not name a file, and what is not there starts nothing
	}
	if !info.IsDir() {
		if !n.isCode(path, info) {
			return nil
		}
		return f.file(path, info)
	}
	for _, inner := range starts() {
		at := filepath.Join(path, inner)
		if info, err := os.Stat(at); err == nil {
			if err := f.file(at, info); err != nil {
				return err
			}
		}
	}
	return nil
}

// file takes in a file that lies in the workspace, by its path or by where a link leads.
func (f *scripts) file(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil // it is gone again
	}
	name, ok := below(path, f.folder)
	if !ok {
		if name, ok = below(real, f.real); !ok {
			return nil
		}
	}
	sum := sha256.New()
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		f.found[name] = "unreadable" // the server cannot read it either, or it is a program that may only be run
		return nil
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(sum, file)
	if err = errors.Join(err, file.Close()); err == nil {
		f.found[name] = hex.EncodeToString(sum.Sum(nil))
	}
	return err
}

func below(path, dir string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}

// Differences says in a few words how files differ from what they were; "" if they do not.
func Differences(was, now map[string]string) string {
	var out []string
	for _, path := range sortedKeys(now) {
		switch old, there := was[path]; {
		case !there:
			out = append(out, path+" is new")
		case old != now[path]:
			out = append(out, path+" was changed")
		}
	}
	for _, path := range sortedKeys(was) {
		if _, there := now[path]; !there {
			out = append(out, path+" is gone")
		}
	}
	const most = 3
	if left := len(out) - most; left > 0 {
		out = append(out[:most], fmt.Sprintf("%d more", left))
	}
	return strings.Join(out, ", ")
}
