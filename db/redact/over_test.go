package redact

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const overBudget = 0.001 // lines of ordinary code in which something may be replaced

// S17: ordinary code stays as it is. The keys that a test suite holds on purpose count against us
// too: nobody can tell them from others.
func TestOrdinaryCodeStaysAsItIs(t *testing.T) {
	s := New([]Known{{"env-canary-key", canary}})
	for _, tree := range []struct {
		name, root string
		most       int64 // bytes
	}{
		{"this repository", filepath.Join("..", ".."), 64 << 20},
		{"the standard library of Go", filepath.Join(goRoot(t), "src"), 24 << 20},
	} {
		t.Run(tree.name, func(t *testing.T) {
			if testing.Short() {
				tree.most = 4 << 20
			}
			lines, bytes, hit := scanTree(t, s, tree.root, tree.most)
			share := float64(total(hit)) / float64(max(lines, 1))
			t.Logf("%d lines, %.1f MB: something is replaced in %d (%.4f %%):%s",
				lines, float64(bytes)/1e6, total(hit), 100*share, counted(hit))
			if share > overBudget || lines < 10_000 {
				t.Errorf("the budget is %.1f %% of at least 10000 lines", 100*overBudget)
			}
		})
	}
}

func goRoot(t testing.TB) string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("ask go for its folder: %v", err)
	}
	return strings.TrimSpace(string(out))
}

func scanTree(t *testing.T, s *Set, root string, most int64) (lines int, bytes int64, hit map[string]int) {
	hit = map[string]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path == filepath.Join(root, "db", "redact") {
			return fs.SkipDir // its tests are full of secrets
		}
		// What an engine recorded is no code: each message names the key that it is sealed with.
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".git") || d.Name() == "node_modules" || d.Name() == "histories") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || bytes > most {
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".sql", ".md", ".json", ".yaml", ".yml", ".sum", ".mod", ".txt", ".txtar", ".sh", ".s", ".js", ".html", ".css", ".toml":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		bytes += int64(len(text))
		lines += strings.Count(string(text), "\n")
		for _, f := range s.Find("", string(text)) {
			hit[f.Rule] += 1 + strings.Count(string(text[f.From:f.To]), "\n")
			if os.Getenv("REDACT_SHOW") != "" {
				t.Logf("%s: %s: %s", path, f.Rule, line(string(text), f.From, f.To))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, bytes, hit
}
