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
	"unicode"
)

// Scripts lists the files of the workspace at folder that the server starts from, by their paths
// below it, each with its SHA-256: who may change one of them decides what the server does. These
// are the program, and what its arguments and the values of its environment name, also behind = or
// as a word of one, so far as it is code or configuration; of a folder, the files at which an
// interpreter begins, and what else is named, looked for below it. A server's data, such as its
// database or log, is not among them, nor is what those files load in turn. It is empty for a
// server at an address.
func (s Server) Scripts(folder string) (map[string]string, error) {
	if s.Command == "" {
		return nil, nil
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, fmt.Errorf("look at what MCP server %s starts from: %w", s.Name, err)
	}
	f := scripts{folder: folder, real: real, dirs: []string{s.startDir(folder)}, found: map[string]string{}}
	all := s.named()
	for _, n := range all {
		f.enter(n)
	}
	for _, n := range all {
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
	out := append([]named{program}, arguments(append([]string{s.Command}, s.Args...), false, 0)[1:]...)
	for _, e := range s.Env {
		code := slices.Contains([]string{"BASH_ENV", "ENV", "LD_PRELOAD", "PYTHONSTARTUP"}, e.Name)
		out = append(append(out, named{path: e.Value, env: true, code: code}), behind(e.Value, true)...)
		for _, word := range words(e.Value) {
			out = append(append(out, named{path: word, env: true}), behind(word, true)...)
		}
	}
	return out
}

// maxInside bounds how often a command line may hold another one.
const maxInside = 8

// arguments lists what the words of a command line may name. What follows an interpreter is code,
// wherever the interpreter stands, as in env A=b timeout 9 sh -e FILE. A word that is a command
// line itself, such as that of sh -c, is looked at in the same way; shell says that it is one.
func arguments(args []string, shell bool, depth int) []named {
	var out []named
	script, packages := false, false
	for i, arg := range args {
		out = append(append(out, named{path: arg, code: script && !strings.HasPrefix(arg, "-")}), behind(arg, false)...)
		if inner := words(arg); depth < maxInside && (len(inner) > 1 || len(inner) == 1 && inner[0] != arg) {
			out = append(out, arguments(inner, true, depth+1)...)
		}
		if i > 0 && args[i-1] == "-m" { // a module of Python
			module := strings.ReplaceAll(arg, ".", "/")
			out = append(out, named{path: module + ".py"}, named{path: module})
		}
		if packages { // a package that the workspace has comes before the registry's
			name, _, _ := strings.Cut(strings.TrimPrefix(arg, "@"), "@")
			out = append(out, named{path: "node_modules/.bin/" + filepath.Base(name), code: true})
		}
		base := strings.TrimRight(strings.TrimSuffix(filepath.Base(arg), ".exe"), "0123456789.")
		packages = packages || base == "npx" || base == "bunx"
		script = slices.Contains(interpreters(), base) || shell && arg == "." || script && (strings.HasPrefix(arg, "-") || strings.Contains(arg, "="))
	}
	return out
}

// words splits what may be a script, a list of paths or several options, with the usual names of
// the folder and of home filled in. Of a quoted path with a space in it only the whole argument is
// looked at.
func words(text string) []string {
	const here = "."
	home, err := os.UserHomeDir()
	if err != nil {
		home = "~" // nothing is there
	}
	text = strings.NewReplacer("$(pwd)", here, "`pwd`", here, "${PWD}", here, "$PWD", here, "${HOME}", home, "$HOME", home).Replace(text)
	out := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("'\"`;&|()<>{}[],:", r) })
	for i, word := range out {
		if rest, ok := strings.CutPrefix(word, "~/"); ok {
			out[i] = filepath.Join(home, rest)
		}
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
		"java", "Rscript", "env", "uv", "pipx", "source"}
}

// isCode says whether a file that is named is code or, where no environment names it,
// configuration.
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
	dirs         []string // where a relative path may begin: where the server starts, and folders its definition names
	found        map[string]string
}

// starts are the files at which an interpreter begins that is given a folder.
func starts() []string {
	return []string{"package.json", "index.js", "index.mjs", "index.cjs", "index.ts", "__main__.py", "__init__.py", "main.go", "mod.ts"}
}

// paths lists where a name may lead.
func (f *scripts) paths(n named) []string {
	path := strings.TrimPrefix(n.path, "file://")
	if path == "" || len(path) > 4096 || strings.IndexByte(path, 0) >= 0 {
		return nil
	}
	if filepath.IsAbs(path) {
		return []string{path}
	}
	var out []string
	for _, dir := range f.dirs {
		out = append(out, filepath.Join(dir, path))
	}
	return out
}

// enter keeps a folder that is named: a server may go there before it looks for the rest, as with
// uv --directory or cd.
func (f *scripts) enter(n named) {
	for _, path := range f.paths(n) {
		if info, err := os.Stat(path); err == nil && info.IsDir() && !slices.Contains(f.dirs, path) {
			f.dirs = append(f.dirs, path)
		}
	}
}

func (f *scripts) add(n named) error {
	for _, path := range f.paths(n) {
		info, err := os.Stat(path)
		if err != nil {
			continue // an argument need not name a file, and what is not there starts nothing
		}
		if !info.IsDir() {
			if n.isCode(path, info) {
				err = f.file(path, info)
			}
		} else {
			err = f.begins(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begins takes in the files of a folder at which an interpreter begins.
func (f *scripts) begins(dir string) error {
	for _, inner := range starts() {
		at := filepath.Join(dir, inner)
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
