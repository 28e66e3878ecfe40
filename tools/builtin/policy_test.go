package builtin

import (
	"testing"

	"agent/tools/sandbox"
	"agent/tools/toolstest"
)

// Where the workspace holds the person's configuration, a home folder say, it can be read and not
// be written: in mode auto a write in the workspace needs no yes, and would give itself every
// other.
func TestPolicyIsNotWritten(t *testing.T) {
	b := newBench(t)
	b.Write("dotfiles/agent.toml", "x")
	b.Write(".config/other", "x")
	b.Write(".config/agent/other.toml", "x")
	b.Link("../../dotfiles/agent.toml", ".config/agent/config.toml")
	b.Link(".config/agent", "link")
	b.Link(".config", "up")
	b.build(&sandbox.System{Guarded: []string{b.Path(".config/agent"), b.Path("up/missing")}})
	const why = "your configuration of agent"
	for _, path := range []string{
		".config/agent/config.toml", ".config/agent/mcp.json", ".config/agent/new/deep", "link/mcp.json", "up/agent/mcp.json", b.Path(".config/agent/mcp.json"),
		"dotfiles/../.config/agent/mcp.json", "dotfiles/agent.toml", ".config/missing/config.toml", "up/missing/config.toml",
	} {
		toolstest.Contains(t, b.Refused("write_file", args{"path": path, "content": "bad"}), why)
	}
	toolstest.Contains(t, b.Refused("edit_file", args{"path": "dotfiles/agent.toml", "old": "x", "new": "bad"}), why)
	toolstest.Contains(t, b.Refused("apply_patch", args{"patch": "--- /dev/null\n+++ b/.config/agent/mcp.json\n@@ -0,0 +1 @@\n+y\n"}), why)
	toolstest.Contains(t, b.Refused("apply_patch", args{"patch": "--- a/dotfiles/agent.toml\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n"}), why)
	toolstest.Contains(t, b.Must("read_file", args{"path": ".config/agent/config.toml"}), "x")
	b.Must("write_file", args{"path": ".config/other", "content": "y"})
	b.Must("write_file", args{"path": ".config/agents", "content": "y"})
}
