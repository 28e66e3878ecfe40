package objects

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Wherever git finds an attribute that converts, so does this: over random rules in every place
// where they may stand.
func TestAttributesAsGitHasThem(t *testing.T) {
	s := newScene(t)
	t.Setenv("HOME", s.base)
	t.Setenv("XDG_CONFIG_HOME", "")
	paths := []string{"a", "a.c", "d/a", "d/a.c", "d/e/a.c", "d/e/b.txt", "d/e/f/x", "B.C", "[x].c", "d/*.c", "q r.c", `d/"x"`}
	for _, p := range paths {
		s.write(p, "x")
	}
	s.commit()
	r := rand.New(rand.NewPCG(3, 4))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	pieces := []string{"a", ".c", "*", "?", "/", "**", "d", "e", "[ab]", "[!x]", "[x", "]", `\*`, `\[`, "b", ".txt", "d/", "/d", "f/**", "**/"}
	words := []string{"filter=x", "ident", "text", "text=auto", "-text", "eol=lf", "crlf", "mac", "mid", "working-tree-encoding=ISO-8859-1", "-filter", "!ident", "binary", "diff"}
	yes := 0
	for round := range 150 {
		for _, file := range []string{".gitattributes", "d/.gitattributes", "d/e/.gitattributes", ".git/info/attributes", "../.config/git/attributes"} {
			var text strings.Builder
			for range r.IntN(4) {
				pattern := ""
				for range 1 + r.IntN(4) {
					pattern += pick(pieces...)
				}
				if r.IntN(8) == 0 {
					pattern = fmt.Sprintf("%q", pattern)
				}
				fmt.Fprintf(&text, "%s%s %s %s\n", pick("", " ", "\t"), pattern, pick(words...), pick(words...))
			}
			text.WriteString(pick("", "[attr]mac mid\n", "[attr]mid filter=y\n", "[attr] filter=z\n", "# x filter=x\n", "!a filter=x\n", "\"a\\052\" ident\n"))
			s.write(file, text.String())
		}
		s.git("config", "core.ignorecase", pick("true", "false"))
		s.git("add", "-A")
		of, err := conversions(s.find(s.dir))
		s.must(err)
		below, err := conversions(s.find(filepath.Join(s.dir, "d")))
		s.must(err)
		for _, p := range paths {
			want := s.attributes(p)
			if want != Same {
				yes++
			}
			got := of(p)
			if rel, ok := strings.CutPrefix(p, "d/"); ok && below(rel) != got {
				t.Errorf("round %d: %s is %v, and %v seen from its folder", round, p, got, below(rel))
			}
			if got < want {
				all, _ := os.ReadFile(filepath.Join(s.dir, ".gitattributes"))
				t.Fatalf("round %d: %s is %v, and git finds %v; .gitattributes: %s", round, p, got, want, all)
			}
		}
	}
	if yes < 100 {
		t.Errorf("git found attributes of %d files only", yes)
	}
}

// attributes asks git.
func (s *scene) attributes(name string) Conversion {
	s.t.Helper()
	out := s.git("check-attr", "-z", "filter", "ident", "working-tree-encoding", "text", "eol", "crlf", "--", name)
	parts := strings.Split(out, "\x00")
	found := Same
	for i := 0; i+2 < len(parts); i += 3 {
		switch value := parts[i+2]; {
		case value == "unspecified" || value == "unset":
		case parts[i+1] == "text" || parts[i+1] == "eol" || parts[i+1] == "crlf":
			found = max(found, Endings)
		default:
			found = Any
		}
	}
	return found
}

// Settings of every level count, whatever their condition.
func TestSettingsThatConvert(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(s *scene)
		want Conversion
	}{
		"nothing":                {func(*scene) {}, Same},
		"autocrlf":               {func(s *scene) { s.git("config", "core.autocrlf", "input") }, Endings},
		"autocrlf off":           {func(s *scene) { s.git("config", "core.autocrlf", "false") }, Same},
		"autocrlf of the person": {func(s *scene) { s.write("../.gitconfig", "[core]autocrlf=true") }, Endings},
		"a worktree's own":       {func(s *scene) { s.write(".git/config.worktree", "[core]autocrlf=true") }, Endings},
		"included on a condition": {func(s *scene) {
			s.write("../.gitconfig", "[includeIf \"onbranch:x\"]path=more")
			s.write("../more", "[core]autocrlf")
		}, Endings},
		"attributes elsewhere":    {func(s *scene) { s.git("config", "core.attributesFile", "~/mine"); s.write("../mine", "* ident\n") }, Any},
		"attributes of a commit":  {func(s *scene) { s.git("config", "attr.tree", "HEAD") }, Any},
		"somebody's home":         {func(s *scene) { s.git("config", "core.attributesFile", "~root/x") }, Any},
		"settings out of order":   {func(s *scene) { s.write("../.gitconfig", "[core\n") }, Any},
		"attributes are a link":   {func(s *scene) { s.must(os.Symlink("x", filepath.Join(s.dir, ".gitattributes"))) }, Any},
		"attributes are a folder": {func(s *scene) { s.must(os.Mkdir(filepath.Join(s.dir, ".gitattributes"), 0o700)) }, Same},
		"attributes staged alone": {func(s *scene) {
			s.write(".gitattributes", "* ident")
			s.git("add", "-A")
			s.write(".gitattributes", "")
		}, Any},
		"attributes beside it":     {func(s *scene) { s.write("d/.gitattributes", "* ident\n") }, Same},
		"attributes say something": {func(s *scene) { s.write(".gitattributes", "* diff -text\n") }, Same},
		"too many rules":           {func(s *scene) { s.write(".gitattributes", strings.Repeat("none ident\n", maxRules+1)) }, Any},
	} {
		s := newScene(t)
		t.Setenv("HOME", s.base)
		t.Setenv("XDG_CONFIG_HOME", "")
		s.commit("a")
		c.do(s)
		of, err := conversions(s.find(s.dir))
		if got := of("a"); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
