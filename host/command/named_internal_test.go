package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// Every command that a text of the product names is there, with the flags that stand behind it: a
// refusal that names a command which does not exist leaves a person stuck (issue 11, item 19).
func TestNamedCommandsExist(t *testing.T) {
	commands := map[string]*cli.Command{}
	for _, c := range newCommandLine(IO{}).commands() {
		commands[c.Name] = c
	}
	found := 0
	for _, dir := range []string{"db", "host", "recovery", "tools"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() && ofItsOwn(path) {
				return fs.SkipDir // a program of its own, with other commands
			}
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			for at, text := range literals(t, path) {
				names, wrong := misnamed(commands, text)
				found += names
				for _, w := range wrong {
					t.Errorf("%s: %s", at, w)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 100 {
		t.Errorf("%d commands are named in texts: the search sees too little", found)
	}
	// What must be seen.
	for _, text := range []string{"see it with: agent shew r-1", "go on with: agent resume --with r-1", "agent cancel r-1 && agent run --thred t-1"} {
		if _, wrong := misnamed(commands, text); len(wrong) != 1 {
			t.Errorf("%q: %v", text, wrong)
		}
	}
}

// ofItsOwn says whether a folder is a module of its own.
func ofItsOwn(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// literals are the string literals of a file by their places. Import paths and struct tags are
// none.
func literals(t *testing.T, path string) map[string]string {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				out[set.Position(n.Pos()).String()] = text
			}
		}
		return true
	})
	return out
}

// named is the program's name, a word, and what follows it up to the end of the command.
var named = regexp.MustCompile("\\bagent ([a-z_]+)\\b((?: +[^;&\n`,() ]+)*)")

// flagWord is a long flag.
var flagWord = regexp.MustCompile(`(?:^| )--([a-z][a-z-]*)`)

// misnamed counts the commands that a text names and says what is wrong with them. A word behind
// the name that belongs to a sentence is no command.
func misnamed(commands map[string]*cli.Command, text string) (names int, wrong []string) {
	prose := []string{"is", "does", "at", "wrote", "writes", "with", "stay", "keeps", "idempotency", "found", "for", "promises"}
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		if slices.Contains(prose, m[1]) || strings.HasPrefix(m[1], "__") { // of a sentence; hidden, and typed by nobody
			continue
		}
		c := commands[m[1]]
		if c == nil {
			wrong = append(wrong, "there is no command agent "+m[1])
			continue
		}
		names++
		for _, f := range flagWord.FindAllStringSubmatch(m[2], -1) {
			if f[1] != "help" && !slices.ContainsFunc(c.Flags, func(has cli.Flag) bool { return slices.Contains(has.Names(), f[1]) }) {
				wrong = append(wrong, "agent "+m[1]+" has no flag --"+f[1])
			}
		}
	}
	return names, wrong
}
