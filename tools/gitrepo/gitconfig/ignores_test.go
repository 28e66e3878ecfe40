package gitconfig

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The file is the one that git takes: the last value counts, wherever it is included.
func TestIgnoresAsGitDoes(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string // below home
		want  string            // below home, unless it is absolute
		alone bool              // git says otherwise: it knows more
	}{
		"nothing":            {want: ".config/git/ignore"},
		"another setting":    {files: map[string]string{".gitconfig": "[core]\nexcludes = x\n[core \"x\"]\nexcludesFile = /y\n"}, want: ".config/git/ignore"},
		"below home":         {files: map[string]string{".gitconfig": "[core]\n\texcludesFile = ~/mine\n"}, want: "mine"},
		"in any case":        {files: map[string]string{".gitconfig": "[Core]\nEXCLUDESFILE = \"/a b\" # c\n"}, want: "/a b"},
		"in the other place": {files: map[string]string{".config/git/config": "[core]\nexcludesFile = ~/mine\n"}, want: "mine"},
		"in both":            {files: map[string]string{".config/git/config": "[core]\nexcludesFile = ~/a\n", ".gitconfig": "[core]\nexcludesFile = ~/b\n"}, want: "b"},
		"twice":              {files: map[string]string{".gitconfig": "[core]\nexcludesFile = ~/a\nexcludesFile = ~/b\n"}, want: "b"},
		"none":               {files: map[string]string{".gitconfig": "[core]\nexcludesFile =\n", ".config/git/ignore": "x\n"}},
		"none at last":       {files: map[string]string{".config/git/config": "[core]\nexcludesFile = ~/a\n", ".gitconfig": "[core]\nexcludesFile = \"\"\n"}},
		"included": {files: map[string]string{
			".gitconfig": "[include]\npath = more\n", "more": "[core]\nexcludesFile = ~/a\n",
		}, want: "a"},
		"set behind what is included": {files: map[string]string{
			".gitconfig": "[include]\npath = more\n[core]\nexcludesFile = ~/b\n", "more": "[core]\nexcludesFile = ~/a\n",
		}, want: "b"},
		"included by the file before": {files: map[string]string{
			".config/git/config": "[include]\npath = ~/more\n", "more": "[core]\nexcludesFile = ~/a\n", ".gitconfig": "[core]\nexcludesFile = ~/b\n",
		}, want: "b"},
		"included twice": {files: map[string]string{
			".gitconfig": "[include]\npath = more\n[core]\nexcludesFile = ~/b\n[include]\npath = more\n", "more": "[core]\nexcludesFile = ~/a\n",
		}, want: "a"},
		"on a condition": {files: map[string]string{
			".gitconfig": "[core]\nexcludesFile = ~/b\n[includeIf \"gitdir:/\"]\npath = more\n", "more": "[core]\nexcludesFile = ~/a\n",
		}, alone: true},
		"on a condition, below another": {files: map[string]string{
			".gitconfig": "[includeIf \"gitdir:/\"]\npath = more\n", "more": "[include]\npath = a\n", "a": "[core]\nexcludesFile = ~/a\n",
		}, alone: true},
		"whatever the condition is": {files: map[string]string{
			".gitconfig": "[includeIf \"gitdir:/\"]\npath = more\n[core]\nexcludesFile = ~/b\n", "more": "[core]\nexcludesFile = ~/a\n",
		}, want: "b"},
		"another's home": {files: map[string]string{".gitconfig": "[core]\nexcludesFile = ~root/x\n"}, alone: true},
		"git's folder":   {files: map[string]string{".gitconfig": "[core]\nexcludesFile = %(prefix)/x\n"}, alone: true},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("XDG_CONFIG_HOME", "")
			for file, text := range tt.files {
				file = filepath.Join(home, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want := tt.want
			if want != "" && !filepath.IsAbs(want) {
				want = filepath.Join(home, want)
			}
			files := PersonFiles(home)[1:] // what the system of the test says does not matter
			if got := ignoresOf(home, files); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			git, err := exec.LookPath("git")
			if err != nil || tt.alone {
				return
			}
			c := exec.CommandContext(t.Context(), git, "config", "--type=path", "--default", filepath.Join(home, ".config/git/ignore"), "core.excludesFile")
			c.Dir = home
			c.Env = []string{"HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")}
			out, err := c.Output()
			if err != nil {
				t.Fatal(err)
			}
			if is := strings.TrimSuffix(string(out), "\n"); is != want {
				t.Errorf("git has %q, want %q", is, want)
			}
		})
	}
}

// What is relative is seen from a work tree, and without a home there is no default.
func TestIgnoresWithoutHome(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gitconfig")
	for text, want := range map[string]string{
		"":                                 "",
		"[core]\nexcludesFile = ~/mine\n":  "",
		"[core]\nexcludesFile = a/../b\n":  "b",
		"[include]\npath = gitconfig\n":    "", // itself, again and again
		"[core]\nexcludesFile = /a//b/.\n": "/a/b",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ignoresOf("", []string{file}); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
