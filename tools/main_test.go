package tools

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/recovery"
	"agent/tools/runner"
	"agent/tools/sandbox"
)

// The test binary is also the runner's, as the shipped one is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Command {
		os.Exit(sandbox.Main(os.Args[2:]))
	}
	if len(os.Args) == 3 && os.Args[1] == "__runner" {
		os.Exit(runner.Main(os.Args[2], runner.MainOptions{Hit: dieAt(filepath.Dir(os.Args[2]))}))
	}
	if len(os.Args) == 7 && os.Args[1] == "__act" {
		os.Exit(actAndDie(os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6]))
	}
	// A binary with the race detector waits for a second at its end, for each of hundreds of processes. It cannot fail here.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

// bench is a workspace and a state folder with the built-in tools.
type bench struct {
	t        *testing.T
	dir      string // the workspace
	state    string
	registry *Registry
	outputs  outputs
	shown    strings.Builder
	box      *sandbox.System // nil confines nothing
}

type outputs map[string]string

func (o outputs) Output(_ context.Context, run, id string) (io.ReaderAt, int64, error) {
	text, ok := o[run+"/"+id]
	if !ok {
		return nil, 0, errors.New("there is no such call")
	}
	return strings.NewReader(text), int64(len(text)), nil
}

func newBench(t *testing.T) *bench {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: filepath.Join(top, "work"), state: filepath.Join(top, "state"), outputs: outputs{}}
	for _, d := range []string{b.dir, b.state} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.build()
	return b
}

// build makes the tools for the bench's folders as they are now.
func (b *bench) build() {
	b.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	list, err := Builtin(Options{
		State: b.state, Calls: filepath.Join(b.state, "calls"), Exe: exe, Outputs: b.outputs, Sandbox: b.box,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "LC_ALL=C", "SECRET_TOKEN=hush", "ANTHROPIC_API_KEY=hush"},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if b.registry, err = NewRegistry(list...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) call(tool string, args any) Call {
	b.t.Helper()
	raw, ok := args.(string)
	if !ok {
		j, err := json.Marshal(args)
		if err != nil {
			b.t.Fatal(err)
		}
		raw = string(j)
	}
	return Call{
		Place: recovery.Place{Turn: 1, Index: 0, Attempt: 1}, Run: "r-test", ID: "c-test", Fingerprint: "fp",
		Args: json.RawMessage(raw), Folder: b.dir, Show: func(p []byte) { b.shown.Write(p) },
	}
}

// prepare reads the arguments and prepares a call, as the host does before it records the start.
func (b *bench) prepare(tool string, c Call) (Call, error) {
	b.t.Helper()
	if err := b.registry.Read(tool, c.Args); err != nil {
		return c, err
	}
	t, err := b.registry.Get(tool)
	if err != nil {
		return c, err
	}
	if p, ok := t.(Preparer); ok {
		before, handle, err := p.Prepare(b.context(), c)
		if err != nil {
			return c, err
		}
		c.Before, c.Handle = before, handle
	}
	return c, nil
}

func (b *bench) run(tool string, args any) (recovery.Result, error) {
	b.t.Helper()
	c, err := b.prepare(tool, b.call(tool, args))
	if err != nil {
		return recovery.Result{Applied: recovery.AppliedNo}, err
	}
	return b.tool(tool).(Caller).Call(b.context(), c)
}

func (b *bench) tool(name string) Tool {
	b.t.Helper()
	t, err := b.registry.Get(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return t
}

func (b *bench) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	b.t.Cleanup(cancel)
	return ctx
}

// must runs a call that ends well and returns what the model sees.
func (b *bench) must(tool string, args any) string {
	b.t.Helper()
	r, err := b.run(tool, args)
	if err != nil || r.Outcome != recovery.OutcomeOK {
		b.t.Fatalf("%s %v: %v, %+v", tool, args, err, r)
	}
	return r.Content
}

// refused runs a call that must not act, and returns what it says.
func (b *bench) refused(tool string, args any) string {
	b.t.Helper()
	r, err := b.run(tool, args)
	if err == nil {
		b.t.Fatalf("%s %v was not refused: %+v", tool, args, r)
	}
	if r.Applied != recovery.AppliedNo {
		b.t.Fatalf("%s %v: applied %q with %v", tool, args, r.Applied, err)
	}
	return err.Error()
}

func (b *bench) path(rel string) string { return filepath.Join(b.dir, filepath.FromSlash(rel)) }

func (b *bench) write(rel, content string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(rel)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.path(rel), []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read(rel string) string {
	b.t.Helper()
	content, err := os.ReadFile(b.path(rel))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(content)
}

func (b *bench) link(target, rel string) {
	b.t.Helper()
	if err := os.Symlink(target, b.path(rel)); err != nil {
		b.t.Fatal(err)
	}
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in %q", p, text)
		}
	}
}

type args map[string]any
