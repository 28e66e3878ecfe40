package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"agent/host/model/modeltest"
)

const diffStory = `~~~sh
printf 'one\033[31mred\r\ntwo\n' > short
seq 60 > long
mkdir -p a/very/long/path/of/many/folders/that/does/not/fit/into/eighty/columns/of/a/terminal
echo x > a/very/long/path/of/many/folders/that/does/not/fit/into/eighty/columns/of/a/terminal/file.txt
~~~
`

func newDiffWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.write("diff.md", strings.ReplaceAll(diffStory, "~~~", "```"))
	if code := w.agent("", "run", "--runbook", "-f", "diff.md"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, w.log.String())
	}
	return w
}

// On a terminal a diff is coloured, obeys nothing that its files hold, and is paged where it is
// longer than the screen, and only then.
func TestDiffAtTheTerminal(t *testing.T) {
	t.Parallel()
	w := newDiffWorld(t)
	paged := filepath.Join(w.dir, "paged")
	screen := &unix.Winsize{Row: 24, Col: 80}

	w.env = []string{"PAGER=cat > paged"}
	s := sitAt(t, w, screen, "", "diff", "last", "short")
	s.exits(0)
	if got := s.screen(); !strings.Contains(got, "+one\\x1b[31mred^M\n+two\n") || strings.Contains(got, "\x1b[") {
		t.Errorf("without colour: %q", got)
	}

	w.env = append(w.env, "NO_COLOR=")
	s = sitAt(t, w, screen, "", "diff", "last", "short")
	s.exits(0)
	if got := s.screen(); !strings.Contains(got, "\x1b[32m+one\\x1b[31mred^M\x1b[0m\n\x1b[32m+two\x1b[0m\n") {
		t.Errorf("with colour: %q", got)
	}
	if _, err := os.Stat(paged); err == nil {
		t.Error("what fits is paged")
	}

	s = sitAt(t, w, screen, "", "diff", "last", "long")
	s.exits(0)
	b, err := os.ReadFile(paged)
	if err != nil || !strings.Contains(string(b), "\x1b[32m+60\x1b[0m\n") || strings.Contains(s.screen(), "+60") {
		t.Errorf("paged: %v %q, and on the screen %q", err, b, s.screen())
	}

	w.env[0] = "PAGER=true" // a reader who goes away at once
	s = sitAt(t, w, screen, "", "diff", "last", "long")
	s.exits(0)
	w.env[0] = "PAGER=nothing-of-that-name"
	s = sitAt(t, w, screen, "", "diff", "last", "long")
	s.exits(0)
	w.env[0] = "PAGER=cat"
	s = sitAt(t, w, screen, "", "diff", "last", "long")
	s.exits(0)
	s.until("+60")
	s = sitAt(t, w, nil, "", "diff", "last", "long") // it does not say how large it is
	s.exits(0)
	s.until("+60")
}

// The list of paths fits the terminal: the end of a path is what tells it from others.
func TestDiffStatFits(t *testing.T) {
	t.Parallel()
	w := newDiffWorld(t)
	for _, cols := range []uint16{80, 120} {
		s := sitAt(t, w, &unix.Winsize{Row: 24, Col: cols}, "", "diff", "last", "--stat")
		s.exits(0)
		if whole := strings.Contains(s.screen(), "+ a/very/long"); whole != (cols == 120) || !strings.Contains(s.screen(), "of/a/terminal/file.txt  +1 -0\n") {
			t.Errorf("at %d columns:\n%s", cols, s.screen())
		}
		for line := range strings.Lines(s.screen()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > int(cols) {
				t.Errorf("a line of %d letters at %d columns:\n%s", n, cols, s.screen())
			}
		}
	}
}

// At the question for permission stands what an edit would change, as a diff against the file.
func TestEditAskedAsDiff(t *testing.T) {
	t.Parallel()
	server, err := modeltest.Start(modeltest.Options{Script: modeltest.Script{Turns: []modeltest.Turn{
		{Calls: []modeltest.Call{{Tool: "edit_file", Args: []byte(`{"path": "in.txt", "old": "needle", "new": "pin"}`)}}},
		{Calls: []modeltest.Call{{Tool: "write_file", Args: []byte(`{"path": "in.txt", "content": "hay\npin\nmore\n"}`)}}},
		{Text: "Done."},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	w := newWorld(t)
	w.env = []string{"ANTHROPIC_API_KEY=" + modeltest.DefaultKey}
	s := sit(t, w, "", "run", "--mode", "ask", "--model", "anthropic/claude-sonnet-4-5", "--base-url", server.URL(), "go")
	s.until("│ in.txt would change:\n  │ @@ -1,2 +1,2 @@\n  │  hay\n  │ -needle\n  │ +pin\n? edit_file wants to act")
	s.until("answer (yes")
	s.types("yes\n")
	s.until("│ in.txt would change:\n  │ @@ -1,2 +1,3 @@\n  │  hay\n  │  pin\n  │ +more\n? write_file wants to act")
	s.untilTimes("answer (yes", 2)
	s.types("no\n")
	s.exits(0)
	s.until("│ changed ~in.txt\n  │ @@ -1,2 +1,2 @@\n  │  hay\n  │ -needle\n  │ +pin\n")
}
