package command_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"agent/host/config"
	"agent/host/help"
	"agent/host/model/catalog"
	"agent/tools/mcp"
)

// readme is README with its path from this folder.
const readme = "../../README.md"

// texts are README and the topics of help, by name.
func texts(t *testing.T) map[string]string {
	t.Helper()
	topics, err := help.Topics()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, topic := range topics {
		all[topic.Name] = topic.Text
	}
	for _, file := range []string{readme, "../../.github/CONTRIBUTING.md"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(b)
	}
	return all
}

// helped are the flags of each command, as its help lists them; "" stands for agent itself.
func helped(t *testing.T) map[string][]string {
	t.Helper()
	flags := regexp.MustCompile(`(?m)^ {3}(--[a-z-]+)(?:[ ,]|$)`)
	list := func(args ...string) string {
		out, err := exec.Command(filepath.Join(binDir(), "agent"), args...).Output()
		if err != nil {
			t.Fatalf("agent %s: %v", strings.Join(args, " "), err)
		}
		return string(out)
	}
	root := list("help")
	_, commands, _ := strings.Cut(root, "COMMANDS:\n")
	commands, _, _ = strings.Cut(commands, "\n\n")
	all := map[string][]string{}
	for _, name := range append(regexp.MustCompile(`(?m)^ {3}([a-z]+)`).FindAllStringSubmatch(commands, -1), []string{"", ""}) {
		page := root
		if name[1] != "" {
			page = list(name[1], "--help")
		}
		for _, f := range flags.FindAllStringSubmatch(page, -1) {
			all[name[1]] = append(all[name[1]], f[1])
		}
	}
	if len(all) < 15 || len(all["run"]) < 15 {
		t.Fatalf("the help lists %v", all)
	}
	return all
}

// shown are the commands that a text shows: in code spans and in blocks.
func shown(text string) []string {
	var all []string
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		parts := []string{line}
		if !fenced && !strings.HasPrefix(line, "    ") {
			parts = nil
			for _, span := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
				parts = append(parts, span[1])
			}
		}
		for _, part := range parts {
			for _, m := range regexp.MustCompile(`(?:^|[\s;|&(/])agent ([a-zA-Z-][^|;&)\n]*)`).FindAllStringSubmatch(part, -1) {
				rest, _, _ := strings.Cut(m[1], " #")
				all = append(all, rest)
			}
		}
	}
	return all
}

// Every command, flag and topic that a text shows is there, so that whoever follows it gets what it
// says.
// EX-76.
// EN-17.
func TestTextsShowWhatIsThere(t *testing.T) {
	have := helped(t)
	all := texts(t)
	count := 0
	for name, text := range all {
		for _, line := range shown(text) {
			words := strings.Fields(line)
			command := words[0]
			if strings.HasPrefix(command, "--") {
				command = ""
			}
			flags, ok := have[command]
			if !ok {
				t.Errorf("%s shows agent %s: there is no such command", name, line)
				continue
			}
			count++
			for _, flag := range regexp.MustCompile(`(?:^| )(--[a-z][a-z-]*)`).FindAllStringSubmatch(line, -1) {
				if !slices.Contains(flags, flag[1]) && flag[1] != "--verbose" {
					t.Errorf("%s shows agent %s: there is no flag %s", name, line, flag[1])
				}
			}
			if command == "help" && len(words) > 1 && words[1] != "TOPIC" && words[1] != "topics" && all[words[1]] == "" && have[words[1]] == nil {
				t.Errorf("%s shows agent %s: there is no such topic", name, line)
			}
		}
		for _, span := range regexp.MustCompile("`(--[a-z-]+)(?: [^`]*)?`").FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc(slices.Collect(maps.Values(have)), func(flags []string) bool { return slices.Contains(flags, span[1]) }) {
				t.Errorf("%s names %s: no command has that flag", name, span[1])
			}
		}
		for _, span := range regexp.MustCompile("(?:`| {4})((?:db|host|recovery|tools|scripts|queries|\\.ci|\\.github)/[A-Za-z_/.-]+)").FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("../..", strings.TrimRight(span[1], "."))); err != nil {
				t.Errorf("%s names %s: %v", name, span[1], err)
			}
		}
		for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1) {
			from := map[string]string{"README.md": "../..", "CONTRIBUTING.md": "../../.github"}[name]
			if from == "" {
				from = "../help"
			}
			if _, err := os.Stat(filepath.Join(from, link[1])); err != nil && !strings.HasPrefix(link[1], "https://") {
				t.Errorf("%s links to %s: %v", name, link[1], err)
			}
		}
	}
	if count < 80 {
		t.Errorf("only %d commands were looked at", count)
	}
}

// README links to every topic.
func TestReadmeNamesEveryTopic(t *testing.T) {
	text := texts(t)["README.md"]
	topics, err := help.Topics()
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range topics {
		if !strings.Contains(text, "(host/help/"+topic.Name+".md)") {
			t.Errorf("README does not link to %s", topic.Name)
		}
	}
}

// fence returns the fenced blocks of a text that begin so.
func fence(text, info string) []string {
	var all []string
	for _, m := range regexp.MustCompile("(?ms)^```"+regexp.QuoteMeta(info)+"\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

func loadConfig(t *testing.T, user, workspace string) error {
	t.Helper()
	dir := t.TempDir()
	var paths [2]string
	for i, text := range []string{user, workspace} {
		if text == "" {
			continue
		}
		paths[i] = config.WorkspacePath(filepath.Join(dir, strconv.Itoa(i)))
		if err := os.MkdirAll(filepath.Dir(paths[i]), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(paths[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := config.Load(paths[0], paths[1], config.Known{Providers: catalog.Names()})
	return err
}

// keysOf are the keys of a file as config.Keys names them.
func keysOf(t *testing.T, text string) []string {
	t.Helper()
	var file map[string]any
	if err := toml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	var walk func(table map[string]any, path string)
	walk = func(table map[string]any, path string) {
		for key, value := range table {
			at := path + key
			if path == "providers." || path == "models." {
				at = path + "*"
			}
			switch v := value.(type) {
			case map[string]any:
				walk(v, at+".")
			case []any:
				for _, e := range v {
					if inner, ok := e.(map[string]any); ok {
						walk(inner, at+".")
					} else {
						found[at] = true
					}
				}
			default:
				found[at] = true
			}
		}
	}
	walk(file, "")
	return slices.Sorted(maps.Keys(found))
}

// The topic names every key that the parser knows, with its default and an example that parses, and
// no other.
func TestConfigurationTopic(t *testing.T) {
	text := texts(t)["configuration"]
	blocks := fence(text, "toml")
	if len(blocks) != 1 {
		t.Fatalf("%d blocks of your file, want one", len(blocks))
	}
	if err := loadConfig(t, blocks[0], ""); err != nil {
		t.Error(err)
	}
	// A key of a rule is explained once, whatever the list is that it stands in.
	rule, variable := regexp.MustCompile(`^(allow|ask|deny)\.`), regexp.MustCompile(`^env\.set\..*`)
	once := func(keys []string) []string {
		for i := range keys {
			keys[i] = variable.ReplaceAllString(rule.ReplaceAllString(keys[i], "rule."), "env.set.*")
		}
		slices.Sort(keys)
		return slices.Compact(keys)
	}
	if got, want := once(keysOf(t, blocks[0])), once(config.Keys()); !slices.Equal(got, want) {
		t.Errorf("the topic has %v\nthe parser knows %v", got, want)
	}
	comment, explained := "", map[string]bool{}
	for line := range strings.Lines(blocks[0]) {
		key, _, isKey := strings.Cut(line, " = ")
		switch {
		case strings.HasPrefix(line, "#"):
			comment += line
			continue
		case isKey && strings.Contains(comment, "Default: "):
			explained[key] = true
		case isKey && !explained[key] && key != "kind" && key != "base_url":
			t.Errorf("%s has no comment with its default above it", key)
		}
		if isKey || strings.TrimSpace(line) == "" {
			comment = ""
		}
	}
}

// What the topic shows of a workspace's file is all that such a file may hold.
func TestConfigurationTopicOnWorkspaces(t *testing.T) {
	blocks := fence(texts(t)["configuration"], "toml workspace")
	if len(blocks) != 1 {
		t.Fatalf("%d blocks of a workspace's file, want one", len(blocks))
	}
	if err := loadConfig(t, "", blocks[0]); err != nil {
		t.Error(err)
	}
	whole := fence(texts(t)["configuration"], "toml")[0]
	var file, mine map[string]any
	for text, into := range map[string]*map[string]any{whole: &file, blocks[0]: &mine} {
		if err := toml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range file {
		b, err := toml.Marshal(map[string]any{key: value})
		if err != nil {
			t.Fatal(err)
		}
		refused := loadConfig(t, "", string(b)) != nil
		if _, shown := mine[key]; refused == shown {
			t.Errorf("%s in a workspace's file: refused %t, shown %t", key, refused, shown)
		}
	}
}

// Every other example of a file is one that is read without an error, too.
func TestExamplesOfFiles(t *testing.T) {
	examples := 0
	for name, text := range texts(t) {
		for _, block := range fence(text, "toml") {
			examples++
			if err := loadConfig(t, block, ""); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, block := range fence(text, "json") {
			examples++
			set := func(string) (string, bool) { return "x", true }
			file, err := mcp.Read("mcp.json", mcp.FromPerson, []byte(block), set)
			if err != nil || len(file.Servers) == 0 || len(file.Notes) > 0 {
				t.Errorf("%s: %v, %v", name, err, file)
			}
		}
	}
	if examples < 4 {
		t.Errorf("only %d examples", examples)
	}
}

// source is what the tests of texts look for in the program's code.
type declared struct {
	exits   map[int]string    // exit codes with the names of their constants
	structs []map[string]bool // names in JSON of each struct
	env     map[string]bool   // variables that are read by name
}

func declarations(t *testing.T) declared {
	t.Helper()
	d := declared{exits: map[int]string{}, env: map[string]bool{}}
	set := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return fs.SkipDir // a program of its own
			}
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool { d.note(n); return true })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// embed adds the fields of a struct of the same file that another one embeds.
func (d *declared) embed(names map[string]bool, id *ast.Ident) {
	if id.Obj == nil {
		return
	}
	spec, ok := id.Obj.Decl.(*ast.TypeSpec)
	if !ok {
		return
	}
	var inner declared
	inner.note(spec.Type)
	for _, have := range inner.structs {
		maps.Copy(names, have)
	}
}

func (d *declared) note(n ast.Node) {
	switch n := n.(type) {
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if regexp.MustCompile(`^Exit[A-Z]`).MatchString(name.Name) && i < len(n.Values) {
				if lit, ok := n.Values[i].(*ast.BasicLit); ok {
					code, _ := strconv.Atoi(lit.Value) // it is no number where another kind of constant is so called
					d.exits[code] = name.Name
				}
			}
		}
	case *ast.StructType:
		names := map[string]bool{}
		for _, f := range n.Fields.List {
			if f.Tag != nil {
				name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
				names[name] = true
			}
			if id, ok := f.Type.(*ast.Ident); ok && f.Names == nil {
				d.embed(names, id)
			}
		}
		d.structs = append(d.structs, names)
	case *ast.BasicLit:
		if m := regexp.MustCompile(`^"((?:AGENT|XDG|ANTHROPIC|OPENAI|OPENROUTER|OLLAMA|NO)_[A-Z_]+)"$`).FindStringSubmatch(n.Value); m != nil {
			d.env[m[1]] = true
		}
	}
}

// rows are the cells of the tables of a text.
func rows(text string) [][]string {
	var all [][]string
	for line := range strings.Lines(text) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); strings.HasPrefix(line, "| ") && len(cells) > 1 {
			for i := range cells {
				cells[i] = strings.Trim(cells[i], "| ")
			}
			all = append(all, cells)
		}
	}
	return all
}

// The exit codes are those of the program, in the topic and in the help of agent.
// EX-26.
func TestScriptingTopicOnExitCodes(t *testing.T) {
	listed := map[int]string{}
	for _, row := range rows(texts(t)["scripting"]) {
		if code, err := strconv.Atoi(row[0]); err == nil {
			listed[code] = row[1]
		}
	}
	names := map[int]string{
		0: "ExitDone", 1: "ExitFailed", 2: "ExitUsage", 3: "ExitWaiting", 4: "ExitInterrupted", 5: "ExitUnknown", 6: "ExitCancelled",
	}
	if got := declarations(t).exits; !maps.Equal(got, names) {
		t.Errorf("the program has %v", got)
	}
	out, err := exec.Command(filepath.Join(binDir(), "agent"), "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for code, name := range names {
		word := strings.ToLower(strings.TrimPrefix(name, "Exit"))
		if !strings.Contains(listed[code], word) {
			t.Errorf("code %d is %s, the topic says %q", code, word, listed[code])
		}
		if !regexp.MustCompile(fmt.Sprintf(`(?m)(^| ) %d  [^\n]*%s`, code, word)).Match(out) {
			t.Errorf("code %d is %s, which agent help does not say", code, word)
		}
	}
	if len(listed) != len(names) {
		t.Errorf("the topic has %v", listed)
	}
}

// The fields that the topic names for an object are fields of one struct.
func TestScriptingTopicOnJSON(t *testing.T) {
	structs := declarations(t).structs
	var objects [][]string
	in := false
	for _, row := range rows(texts(t)["scripting"]) {
		var names []string
		for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
			names = append(names, m[1])
		}
		in = (in || row[1] == "fields") && row[1] != "data" // event lines are compared with their bodies elsewhere
		switch {
		case !in || len(names) == 0:
		case row[0] == "":
			objects[len(objects)-1] = append(objects[len(objects)-1], names...)
		default:
			objects = append(objects, names)
		}
	}
	if len(objects) < 14 {
		t.Fatalf("only %d objects", len(objects))
	}
	for _, names := range objects {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "refused" }) // a value
		if !slices.ContainsFunc(structs, func(have map[string]bool) bool {
			return !slices.ContainsFunc(names, func(name string) bool { return !have[name] })
		}) {
			t.Errorf("no object has all of %v", names)
		}
	}
}

// The topic lists each environment variable that the program reads, but those that arm fault points
// in tests.
func TestConfigurationTopicOnVariables(t *testing.T) {
	text := texts(t)["configuration"]
	for name := range declarations(t).env {
		if !strings.Contains(text, "`"+name+"`") && !strings.HasPrefix(name, "AGENT_FAULT") {
			t.Errorf("%s is not listed", name)
		}
	}
}
