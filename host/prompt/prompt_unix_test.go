//go:build unix

package prompt

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe that nobody writes to keeps nobody waiting.
func TestPipe(t *testing.T) {
	dir := tree(t, nil)
	if err := syscall.Mkfifo(filepath.Join(dir, "AGENTS.md"), 0o600); err != nil {
		t.Skip(err)
	}
	if p := read(t, dir); len(p.Files) != 0 || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "it is not a file") {
		t.Errorf("files %v, notes %q", p.Files, p.Notes)
	}
}

// Nor where the skills should be. // issue 18, bad input
func TestPipeOfSkills(t *testing.T) {
	dir := tree(t, map[string]string{".agents/": ""})
	if err := syscall.Mkfifo(filepath.Join(dir, ".agents", "skills"), 0o600); err != nil {
		t.Skip(err)
	}
	if p := read(t, dir); len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "are not listed") {
		t.Errorf("notes %q", p.Notes)
	}
}

// Whoever may write to a parent folder does not instruct the runs of others. // nobody else
func TestFileOfSomebodyElse(t *testing.T) {
	dir := tree(t, map[string]string{".git/": "", "AGENTS.md": "a", "w/AGENTS.md": "b"})
	if err := os.Chown(filepath.Join(dir, "AGENTS.md"), 12345, -1); err != nil {
		t.Skipf("only root can give a file away: %v", err)
	}
	p := read(t, filepath.Join(dir, "w"))
	if got := quoted(t, dir, p); got != "w/AGENTS.md" || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "somebody else") {
		t.Errorf("quoted %q, notes %q", got, p.Notes)
	}
}
