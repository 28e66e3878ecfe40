// Package toolstest gives the tests of tools a workspace, and calls tools as the host does.
package toolstest

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/recovery/journal"
	"agent/tools"
)

// Args are the arguments of a call.
type Args map[string]any

// Bench is a workspace and a state folder with the tools under test.
type Bench struct {
	T        *testing.T
	Dir      string // the workspace
	State    string
	Registry *tools.Registry
	Shown    strings.Builder
}

// New makes the folders. Use gives the bench its tools.
func New(t *testing.T) *Bench {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &Bench{T: t, Dir: filepath.Join(top, "work"), State: filepath.Join(top, "state")}
	for _, d := range []string{b.Dir, b.State} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// Use registers the tools that calls go to from now on.
func (b *Bench) Use(list ...tools.Tool) {
	b.T.Helper()
	var err error
	if b.Registry, err = tools.NewRegistry(list...); err != nil {
		b.T.Fatal(err)
	}
}

// Environ is what commands get of the host's environment.
func Environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "LC_ALL=C"}
}

// Executable is the test's own binary, which carries out commands where its TestMain does.
func (b *Bench) Executable() string {
	b.T.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.T.Fatal(err)
	}
	return exe
}

// Call makes a call with these arguments: JSON text, or what encodes to it.
func (b *Bench) Call(tool string, args any) tools.Call {
	b.T.Helper()
	raw, ok := args.(string)
	if !ok {
		j, err := json.Marshal(args)
		if err != nil {
			b.T.Fatal(err)
		}
		raw = string(j)
	}
	return tools.Call{
		Place: journal.Place{Turn: 1, Index: 0, Attempt: 1}, Run: "r-test", ID: "c-test", Fingerprint: "fp",
		Args: json.RawMessage(raw), Folder: b.Dir, Show: func(p []byte) { b.Shown.Write(p) },
	}
}

// Prepare reads the arguments and prepares a call, as the host does before it records the start.
func (b *Bench) Prepare(tool string, c tools.Call) (tools.Call, error) {
	b.T.Helper()
	if err := b.Registry.Read(tool, c.Args); err != nil {
		return c, err
	}
	t, err := b.Registry.Get(tool)
	if err != nil {
		return c, err
	}
	if p, ok := t.(tools.Preparer); ok {
		before, handle, err := p.Prepare(b.Context(), c)
		if err != nil {
			return c, err
		}
		c.Before, c.Handle = before, handle
	}
	return c, nil
}

// Run prepares a call and carries it out.
func (b *Bench) Run(tool string, args any) (journal.Result, error) {
	b.T.Helper()
	c, err := b.Prepare(tool, b.Call(tool, args))
	if err != nil {
		return journal.Result{Applied: journal.AppliedNo}, err
	}
	return b.Tool(tool).(tools.Caller).Call(b.Context(), c)
}

// Tool is the tool of that name.
func (b *Bench) Tool(name string) tools.Tool {
	b.T.Helper()
	t, err := b.Registry.Get(name)
	if err != nil {
		b.T.Fatal(err)
	}
	return t
}

// Context ends with the test, and after a minute.
func (b *Bench) Context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	b.T.Cleanup(cancel)
	return ctx
}

// Must runs a call that ends well and returns what the model sees.
func (b *Bench) Must(tool string, args any) string {
	b.T.Helper()
	r, err := b.Run(tool, args)
	if err != nil || r.Outcome != journal.OutcomeOK {
		b.T.Fatalf("%s %v: %v, %+v", tool, args, err, r)
	}
	return r.Content
}

// Refused runs a call that must not act, and returns what it says.
func (b *Bench) Refused(tool string, args any) string {
	b.T.Helper()
	r, err := b.Run(tool, args)
	if err == nil {
		b.T.Fatalf("%s %v was not refused: %+v", tool, args, r)
	}
	if r.Applied != journal.AppliedNo {
		b.T.Fatalf("%s %v: applied %q with %v", tool, args, r.Applied, err)
	}
	return err.Error()
}

// Path is a path in the workspace.
func (b *Bench) Path(rel string) string { return filepath.Join(b.Dir, filepath.FromSlash(rel)) }

// Write puts a file into the workspace.
func (b *Bench) Write(rel, content string) {
	b.T.Helper()
	if err := os.MkdirAll(filepath.Dir(b.Path(rel)), 0o755); err != nil {
		b.T.Fatal(err)
	}
	if err := os.WriteFile(b.Path(rel), []byte(content), 0o644); err != nil {
		b.T.Fatal(err)
	}
}

// Read is the content of a file in the workspace.
func (b *Bench) Read(rel string) string {
	b.T.Helper()
	content, err := os.ReadFile(b.Path(rel))
	if err != nil {
		b.T.Fatal(err)
	}
	return string(content)
}

// Link puts a symlink into the workspace.
func (b *Bench) Link(target, rel string) {
	b.T.Helper()
	if err := os.Symlink(target, b.Path(rel)); err != nil {
		b.T.Fatal(err)
	}
}

// Names lists a folder of the workspace.
func (b *Bench) Names(rel string) string {
	b.T.Helper()
	list, err := os.ReadDir(b.Path(rel))
	if err != nil {
		b.T.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// Remove removes a file or a folder of the workspace.
func (b *Bench) Remove(rel string) {
	b.T.Helper()
	if err := os.RemoveAll(filepath.Clean(b.Path(rel))); err != nil {
		b.T.Fatal(err)
	}
}

// There says whether something has that name in the workspace.
func (b *Bench) There(rel string) bool {
	_, err := os.Lstat(b.Path(rel))
	return err == nil
}

// Git runs git in the workspace.
func (b *Bench) Git(words ...string) string {
	b.T.Helper()
	cmd := exec.Command("git", words...)
	cmd.Dir = b.Dir
	// What git tidies up in the background after a commit would go on while the folder is removed.
	cmd.Env = append(os.Environ(), "HOME=/nowhere", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.T.Fatalf("git %v: %v %s", words, err, out)
	}
	return string(out)
}

// Witness is what a test reads off the world by itself: names, kinds, sizes, inodes.
func (b *Bench) Witness() string {
	b.T.Helper()
	out, err := exec.Command("find", b.Dir, "-name", ".git", "-prune", "-o", "-printf", "%P %y %s %i %m\n").Output()
	if err != nil {
		b.T.Fatal(err)
	}
	return string(out)
}

// Contains checks that a text has all of the parts.
func Contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in %q", p, text)
		}
	}
}

// Stat looks at a file that is there.
func Stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// Whole says that everything is tried. A plain go test keeps to some of the cases that start
// processes, and to fewer random ones.
func Whole() bool { return os.Getenv("AGENT_TESTS") == "whole" }

// OnlyWhole skips what a quick run leaves out.
func OnlyWhole(t *testing.T) {
	t.Helper()
	if !Whole() {
		t.Skip("left out of a quick run; all of it: AGENT_TESTS=whole go test ./tools/...")
	}
}
