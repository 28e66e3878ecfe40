package files

import (
	"encoding/json"
	"testing"

	"agent/recovery"
	"agent/tools/toolstest"
)

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
