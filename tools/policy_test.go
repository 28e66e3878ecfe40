package tools

import (
	"encoding/json"
	"testing"

	"agent/recovery"
	"agent/tools/sandbox"
)

// Where the workspace holds the person's configuration, a home folder say, it can be read and not be written: in mode auto a write in
// the workspace needs no yes, and would give itself every other.
func TestPolicyIsNotWritten(t *testing.T) {
	b := newBench(t)
	b.write("dotfiles/agent.toml", "x")
	b.write(".config/other", "x")
	b.write(".config/agent/other.toml", "x")
	b.link("../../dotfiles/agent.toml", ".config/agent/config.toml")
	b.link(".config/agent", "link")
	b.link(".config", "up")
	b.box = &sandbox.System{Guarded: []string{b.path(".config/agent"), b.path("up/missing")}}
	b.build()
	const why = "your configuration of agent"
	for _, path := range []string{
		".config/agent/config.toml", ".config/agent/mcp.json", ".config/agent/new/deep", "link/mcp.json", "up/agent/mcp.json", b.path(".config/agent/mcp.json"),
		"dotfiles/../.config/agent/mcp.json", "dotfiles/agent.toml", ".config/missing/config.toml", "up/missing/config.toml",
	} {
		contains(t, b.refused("write_file", args{"path": path, "content": "bad"}), why)
	}
	contains(t, b.refused("edit_file", args{"path": "dotfiles/agent.toml", "old": "x", "new": "bad"}), why)
	contains(t, b.refused("apply_patch", args{"patch": "--- /dev/null\n+++ b/.config/agent/mcp.json\n@@ -0,0 +1 @@\n+y\n"}), why)
	contains(t, b.refused("apply_patch", args{"patch": "--- a/dotfiles/agent.toml\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n"}), why)
	contains(t, b.must("read_file", args{"path": ".config/agent/config.toml"}), "x")
	b.must("write_file", args{"path": ".config/other", "content": "y"})
	b.must("write_file", args{"path": ".config/agents", "content": "y"})
}

// What whoever works in the folder next obeys outside of the sandbox is no local write, by any of its names.
func TestObeyedIsNoLocalWrite(t *testing.T) {
	for path, want := range map[string]recovery.Effect{
		".agent/config.toml": recovery.EffectWriteExternal, "sub/../.Agent/config.toml": recovery.EffectWriteExternal,
		".mcp.json": recovery.EffectWriteExternal, "./.MCP.json ": recovery.EffectWriteExternal, ".agents/x": recovery.EffectWriteLocal,
		"mcp.json": recovery.EffectWriteLocal, "agent/config.toml": recovery.EffectWriteLocal,
	} {
		raw, err := json.Marshal(args{"path": path})
		if err != nil {
			t.Fatal(err)
		}
		if got := (writeFile{}).Effect(raw); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	b := newBench(t)
	b.write(".agent/config.toml", "x")
	b.link(".agent", "dot")
	contains(t, b.refused("write_file", args{"path": "dot/config.toml", "content": "bad"}), "leads to what git, an editor or this program obeys")
	b.must("write_file", args{"path": ".agent/config.toml", "content": "named as it is"})
}
