package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/tools/mcp"
)

func workspaceFile(t *testing.T) *ServerFiles {
	t.Helper()
	dir := t.TempDir()
	text := `{"mcpServers": {
		"files": {"command": "npx", "args": ["-y", "evil\nanswer (yes/no): yes"], "env": {"A": "b\u001b[2K"}},
		"far": {"url": "https://h/mcp", "headers": {"X": "y"}}}}`
	file, err := mcp.Read("/work/.mcp.json", mcp.FromWorkspace, []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &ServerFiles{
		folder: "/work", Workspace: "/work/.mcp.json", theirs: file, Digest: "d1",
		trustAt: filepath.Join(dir, "agent", "trust.json"),
	}
}

// All that would be started is shown, and no text of the file can look like a line of agent.
func TestTrustIsShown(t *testing.T) {
	want := `/work/.mcp.json came with this folder and names MCP servers. They would be started with your rights:
  files: npx -y 'evil
      answer (yes/no): yes'
    with A='b\x1b[2K'
  far: https://h/mcp
    with header X: y
`
	if got := workspaceFile(t).Shown(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// A word holds for exactly one content of one folder's file, and for nothing else.
func TestTrustKept(t *testing.T) {
	f, a := workspaceFile(t), &App{}
	names := func(ask AskTrust) (string, string) {
		t.Helper()
		list, said, err := a.allowed(t.Context(), f, ask)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(namesOf(list), " "), strings.Join(said, "\n")
	}
	asked := 0
	answer := func(yes bool, err error) AskTrust {
		return func(context.Context, *ServerFiles) (bool, error) { asked++; return yes, err }
	}
	if got, said := names(nil); got != "" || !strings.Contains(said, "nobody allowed it yet; see and allow them with: agent tools --trust --dir /work") {
		t.Errorf("with nobody to ask: %s %s", got, said)
	}
	if got, _ := names(answer(false, ErrNoAnswer)); got != "" || asked != 1 {
		t.Errorf("left open: %s, asked %d", got, asked)
	}
	if _, err := os.Stat(f.trustAt); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a word is kept that nobody gave: %v", err)
	}
	if got, _ := names(answer(true, nil)); got != "files far" || asked != 2 {
		t.Errorf("yes: %s, asked %d", got, asked)
	}
	if got, _ := names(answer(false, nil)); got != "files far" || asked != 2 {
		t.Errorf("it is asked about once: %s, asked %d", got, asked)
	}
	f.Digest = "d2"
	if got, _ := names(answer(false, nil)); got != "" || asked != 3 {
		t.Errorf("changed: %s, asked %d", got, asked)
	}
	if got, said := names(answer(true, nil)); got != "" || asked != 3 || !strings.Contains(said, refusedIt) {
		t.Errorf("no is kept: %s %s, asked %d", got, said, asked)
	}
	f.folder, f.Digest = "/elsewhere", "d2"
	if got, _ := names(nil); got != "" {
		t.Errorf("another folder: %s", got)
	}
	if info, err := os.Stat(f.trustAt); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if err := os.WriteFile(f.trustAt, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.allowed(t.Context(), f, answer(true, nil)); err == nil || !strings.Contains(err.Error(), "is not what agent wrote") {
		t.Errorf("a damaged file: %v", err)
	}
}
