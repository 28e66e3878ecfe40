// Package ignoretest makes random trees with random rules of what is ignored, and has git judge
// them.
package ignoretest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Pieces are what random rules are put together from.
func Pieces() []string {
	return []string{
		"a", "b", "*", "?", "**", "/", "/", "/", "[ab]", "[!a]", "[^b]", "[a-c]", ".", "o", "\\a", "\\*", "[[:alpha:]]", "[]a]", "lib", "!", "#",
		"x y", "é", "[", "-", "**/", "/**", "/**/", "*.o", "[a\\]]", "[-a]", "[a-]", "[[:x:]]", "[[:", " ", "\\",
	}
}

func names() []string {
	return []string{"a", "b", "ab", "a.o", "b.o", "abc", "a-b", "x y", "[a]", "é", "a]", "-", "a*", "lib", "b.c.o", "!a", "#a"}
}

// RandomTree grows files and folders with rules through write, which gets a path with slashes.
func RandomTree(r *rand.Rand, write func(rel, content string)) {
	var grow func(rel string, depth int)
	grow = func(rel string, depth int) {
		for _, name := range names() {
			at := path.Join(rel, name)
			switch n := r.IntN(10); {
			case n < 2 && depth < 3:
				grow(at, depth+1)
			case n < 6:
				write(at, "")
			}
		}
		if depth == 0 || r.IntN(3) == 0 {
			write(path.Join(rel, ".gitignore"), RandomRules(r))
		}
	}
	grow(".", 0)
}

// RandomRules makes the text of a file of rules.
func RandomRules(r *rand.Rand) string {
	pieces := Pieces()
	var rules strings.Builder
	for range 2 + r.IntN(7) {
		if r.IntN(4) == 0 {
			rules.WriteString("!")
		}
		for range 1 + r.IntN(4) {
			rules.WriteString(pieces[r.IntN(len(pieces))])
		}
		rules.WriteString([]string{"\n", "\n", "/\n", "\r\n", " \n"}[r.IntN(5)])
	}
	return rules.String()
}

// Git runs git in a folder with no configuration of a person, and returns what it prints.
func Git(t testing.TB, dir string, args ...string) []byte {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not here to compare with")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, args...)
	cmd.Dir = dir
	nowhere := filepath.Join(dir, "nowhere")
	cmd.Env = []string{"HOME=" + nowhere, "GIT_CONFIG_NOSYSTEM=1", "XDG_CONFIG_HOME=" + nowhere, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return out
}

// Lists is what a command of git prints with -z, sorted.
func Lists(t testing.TB, dir string, args ...string) []string {
	t.Helper()
	var list []string
	for name := range bytes.SplitSeq(bytes.TrimSuffix(Git(t, dir, args...), []byte{0}), []byte{0}) {
		if len(name) > 0 {
			list = append(list, string(name))
		}
	}
	slices.Sort(list)
	return list
}
