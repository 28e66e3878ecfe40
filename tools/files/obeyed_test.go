package files

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"agent/recovery/journal"
	"agent/tools/toolstest"
)

// What whoever works in the folder next obeys outside of the sandbox is no local write, by any of
// its names.
func TestObeyedIsNoLocalWrite(t *testing.T) {
	for path, want := range map[string]journal.Effect{
		".agent/config.toml": journal.EffectWriteExternal, "sub/../.Agent/config.toml": journal.EffectWriteExternal,
		".mcp.json": journal.EffectWriteExternal, "./.MCP.json ": journal.EffectWriteExternal, ".agents/x": journal.EffectWriteLocal,
		"mcp.json": journal.EffectWriteLocal, "agent/config.toml": journal.EffectWriteLocal,
	} {
		raw, err := json.Marshal(args{"path": path})
		if err != nil {
			t.Fatal(err)
		}
		if got := (writeFile{}).Describe("", raw).Effect; got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	b := newBench(t)
	b.Write(".agent/config.toml", "x")
	b.Link(".agent", "dot")
	toolstest.Contains(t, b.Refused("write_file", args{"path": "dot/config.toml", "content": "bad"}), "leads to what git, an editor or this program obeys")
	b.Must("write_file", args{"path": ".agent/config.toml", "content": "named as it is"})
}

// What the settings of a repository name counts where the workspace is known: a hook that is
// written there runs later.
func TestDescribeLooksIntoTheWorkspace(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	b := newBench(t)
	b.Git("init", "-q")
	b.Git("config", "core.hooksPath", "checks")
	const patch = "--- /dev/null\n+++ b/checks/pre-commit\n@@ -0,0 +1 @@\n+true\n"
	for tool, a := range map[string]args{
		"write_file": {"path": "checks/pre-commit"}, "edit_file": {"path": "checks/pre-commit"}, "apply_patch": {"patch": patch},
	} {
		raw := b.Call(tool, a).Args
		if got := b.Tool(tool).Describe(b.Dir, raw).Effect; got != journal.EffectWriteExternal {
			t.Errorf("%s in its workspace: %s", tool, got)
		}
		if got := b.Tool(tool).Describe("", raw).Effect; got != journal.EffectWriteLocal {
			t.Errorf("%s in no workspace: %s", tool, got)
		}
	}
	if got := b.Tool("apply_patch").Describe("", b.Call("apply_patch", args{"patch": patch}).Args).Paths; !slices.Contains(got, "checks/pre-commit") {
		t.Errorf("the patch works on %q", got)
	}
	if got := b.Tool("apply_patch").Describe("", json.RawMessage(`{"patch":"no patch"}`)); got.Effect != journal.EffectWriteExternal || got.Paths == nil {
		t.Errorf("what is no patch: %+v", got)
	}
}

// What the settings of a repository beside the workspace name counts too, however the path is
// written. // issue 17, part 4
func TestDescribeLooksBesideTheWorkspace(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	b := newBench(t)
	b.Git("init", "-q")
	b.Git("config", "core.hooksPath", "checks")
	work := filepath.Join(filepath.Dir(b.Dir), "work")
	for path, want := range map[string]journal.Effect{
		b.Dir + "/checks/pre-commit":                               journal.EffectWriteExternal,
		"../" + filepath.Base(b.Dir) + "/checks/pre-commit":        journal.EffectWriteExternal,
		b.Dir + "/.git/config":                                     journal.EffectWriteExternal,
		b.Dir + "/deep/.envrc":                                     journal.EffectWriteExternal,
		b.Dir + "/deep/notes.txt":                                  journal.EffectWriteLocal,
		"../" + filepath.Base(b.Dir) + "/new/deep/notes.txt":       journal.EffectWriteLocal,
		filepath.Dir(b.Dir) + "/" + "elsewhere/.vscode/tasks.json": journal.EffectWriteExternal,
	} {
		raw := b.Call("write_file", args{"path": path}).Args
		if got := b.Tool("write_file").Describe(work, raw).Effect; got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}
