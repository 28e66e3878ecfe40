package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"agent/host/flow/file"
	"agent/host/model/runbook"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

func known(names ...string) file.Known {
	folder := fstest.MapFS{}
	for _, name := range names {
		folder[name] = &fstest.MapFile{Data: []byte(`{"type": "array"}`)}
	}
	return file.Known{
		Named: true,
		Model: func(name string) error {
			if strings.Contains(name, "/") || name == runbook.Name {
				return nil
			}
			return errors.New("there is no model " + name + "; write provider/model")
		},
		Tools:   []string{"read_file", "search", "shell"},
		Runbook: runbook.Check,
		Folder:  folder,
	}
}

// wrong are the mistakes of a text, one a line.
func wrong(text string, k file.Known) []string {
	var all []string
	var mistakes *file.Mistakes
	if errors.As(file.Parse("f.md", text, k).Err(), &mistakes) {
		all = mistakes.Lines()
	}
	return all
}

const examples = "../../../scripts/demo/flows/"

// The examples that are shipped are whole.
func TestExamples(t *testing.T) {
	k := known()
	k.Folder, k.Named = os.DirFS(examples), false
	for name, want := range map[string]string{
		"feature.md": "scout plan build review", "release.md": "test package notes publish", "audit.md": "list read merge",
	} {
		text, err := os.ReadFile(examples + name)
		if err != nil {
			t.Fatal(err)
		}
		p := file.Parse(name, string(text), k)
		if p.Err() != nil {
			t.Fatal(p.Err())
		}
		var names []string
		for _, phase := range p.Graph.Order() {
			names = append(names, phase.Name)
		}
		if got := strings.Join(names, " "); got != want || p.Definition.Name != name {
			t.Errorf("%s: %s, want %s", p.Definition.Name, got, want)
		}
	}
}

// All keys are read, and every default is filled in.
func TestDefinition(t *testing.T) {
	p := file.Parse("dir/all.md", strings.ReplaceAll(`---
agent: flow
---
# Title: of all

Preamble.

'''flow
task = "required"
model = "a/b"
effort = "low"
mode = "ask"
on-fail = "ask"
parallel = 6
max-cost = 6.00
max-tokens = 200_000
timeout = "2h"
'''

More.

## one: first of all
'''phase
'''
Do it.

### A part of the prompt
'''sh
not a step
'''

## two

'''phase
model = "runbook"
mode = "plan"
after = []
redo = "safe"
tries = 3
tools = ["shell", "mcp__x__y"]
skip-if = { run = "test -e done", access = "read", timeout = "1m" }
max-turns = 5
max-cost = "2.5"
timeout = "90s"
'''
'''sh
true
'''

## three
'''phase
model = "runbook"
after = ["one", "two"]
inputs = ["one", "SPEC.md", "./two", "docs//x/../items.json"]
each = "items.json"
parallel = 2
outputs = ["out/{name}/", { path = "{name}.json", min = 3, has = ["{"], match = '^\{', schema = "s.json", copy = false }]
answer = { path = "{name}.md", empty = true }
check = ["true", { run = "false", access = "read" }]
pass = "PASS"
on-fail = "one"
rounds = 5
ask = "Go?"
redo = "never"
'''
- list_dir
`, "'''", "```"), known("SPEC.md", "two", "docs/items.json", "items.json", "s.json"))
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "makes nothing") { // one makes nothing; see below
		t.Fatal(err)
	}
	d := p.Definition
	want := flow.Definition{
		Name: "all.md", Title: "Title: of all", Preamble: "# Title: of all\n\nPreamble.\n\n\nMore.", Task: flow.TaskRequired, Parallel: 6, OnFail: flow.FailAsk,
		Limits: journal.Limits{MaxCost: 6_000_000, MaxTokens: 200_000, Timeout: 2 * 3600e9}, Digest: d.Digest,
		Phases: []flow.Phase{
			{Name: "one", Title: "first of all", Prompt: "Do it.\n\n### A part of the prompt\n```sh\nnot a step\n```", Model: "a/b", Effort: "low", Mode: "ask",
				Tries: 2, OnFail: flow.FailAsk, Rounds: 3, Redo: flow.RedoAsk},
			{Name: "two", Prompt: "```sh\ntrue\n```", Model: "runbook", Mode: "plan", Tools: &[]string{"shell", "mcp__x__y"},
				SkipIf: &flow.Command{Run: "test -e done", Access: "read", Timeout: 60e9}, Tries: 3, OnFail: flow.FailAsk, Rounds: 3, Redo: flow.RedoSafe,
				Limits: journal.Limits{MaxTurns: 5, MaxCost: 2_500_000, Timeout: 90e9}},
			{Name: "three", Prompt: "- list_dir", Model: "runbook", Mode: "ask", After: []string{"one", "two"},
				Inputs: []flow.Input{{Phase: "one"}, {Path: "SPEC.md"}, {Path: "two"}, {Path: "docs/items.json"}, {Path: "items.json"}},
				Outputs: []flow.Output{{Path: "out/{name}/"}, {Path: "{name}.json", Min: 3, Has: []string{"{"}, Match: `^\{`, Schema: "s.json", NoCopy: true,
					SchemaText: `{"type": "array"}`}},
				Answer: &flow.Output{Path: "{name}.md", Empty: true},
				Checks: []flow.Command{{Run: "true", Access: "write", Timeout: 1800e9}, {Run: "false", Access: "read", Timeout: 1800e9}},
				Tries:  1, Pass: "PASS", OnFail: flow.FailBack, Back: "one", Rounds: 5, Ask: "Go?", Each: "items.json", Parallel: 2, Redo: flow.RedoNever},
		},
	}
	if diff := cmp.Diff(want, d); diff != "" || len(d.Digest) != 64 {
		t.Errorf("want - got +\n%s", diff)
	}
}

// Each file in testdata is a flow with mistakes; beside it stands what is reported.
// Promise 16 of flows, CF-04.
func TestMistakes(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, m := range file.Parse("f.md", string(text), known("there.md", "a.json")).Mistakes() {
			got += fmt.Sprintf("%d:%d: %s; %s\n", m.Line, m.Column, m.What, m.Fix)
		}
		golden := strings.TrimSuffix(name, ".md") + ".txt"
		if os.Getenv("AGENT_UPDATE") != "" {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || got != string(want) {
			t.Errorf("%s: got\n%swant\n%s%v", name, got, want, err)
		}
	}
}

// More than ten mistakes are counted.
func TestTenAtOnce(t *testing.T) {
	text := "## a\n```phase\n" + strings.Repeat("x", 3) + " = 1\n"
	for _, c := range "bcdefghijklmno" {
		text += string(c) + " = 1\n"
	}
	got := wrong(text+"```\nDo it.\n", known())
	if len(got) != 11 || got[10] != "and 5 more" || !strings.HasPrefix(got[0], `f.md:3:1: there is no key "xxx" in a phase; `) {
		t.Errorf("%q", got)
	}
}

// One mistake a text: the line and the column are those of the Markdown file.
func TestPlaces(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "f.md:1:1: there is no phase; ",
		"```phase\n```\n```phase\n```\n": "f.md:3:1: the phase fence has no heading; ",
		"---\nagent: flow\n---\n":        "f.md:3:1: there is no phase; ",
		"## a\n```phase\n":               "f.md:2:1: the fenced block is never closed; ",
		"\ufeff## a\r\n```phase\r\nx=1\r\n```\r\ny":                           `f.md:3:1: there is no key "x" in a phase; `,
		"## a\n  ~~~phase\n    mode = \"plann\"\n  ~~~\nDo":                   `f.md:3:12: there is no mode "plann"; choose plan, ask, auto or yolo`,
		"## a\n```phase\ntries = [\n  1,\n]\n```\nDo":                         "f.md:3:1: tries wants a whole number from 1 to 20 and has a list; write it as in tries = 3",
		"## a\n```phase\nhas = { path = 'x'\n```\nDo":                         "f.md:3:",
		"## a\n```phase\n[[outputs]]\npath = 'x'\nmin = -1\n```\nDo":          "f.md:5:7: min wants a whole number from 1 on and has the number -1; write it as in min = 3",
		"## a\n```phase\nanswer.path = 'x'\nanswer.mini = 1\n```\nDo":         `f.md:4:8: there is no key "mini" in an output; did you mean min?`,
		"## a\n```phase\nmode = 'plan'\nmode = 'ask'\n```\nDo":                "f.md:4:",
		"## a\n```phase\n```\n<!-- x\n":                                       "f.md:4:1: a comment begins with <!-- and is never closed; end it with -->",
		"## a\n```phase\nmodel = 'runbook'\n```\n\n```sh timeuot=3\nx\n```\n": `f.md:6:1: "timeuot=3" after sh is not understood`,
	} {
		got := wrong(text, known())
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A file has to say that it is a flow, unless the command does.
func TestNamed(t *testing.T) {
	k := known()
	k.Named = false
	for front, want := range map[string]string{
		"":                            "f.md:1:1: the file does not say that it is a flow; begin it with three lines: ---, agent: flow and ---",
		"---\ntitle: x\n---\n":        "f.md:1:1: the file does not say that it is a flow; add the line agent: flow to its front matter",
		"---\nagent: runbook\n---\n":  "f.md:2:1: the file says that it is something else: agent: runbook; write agent: flow",
		"---\nagent: flow # x\n---\n": "",
	} {
		if got := strings.Join(wrong(front+"## a\n```phase\n```\nDo it.\n", k), "\n"); got != want {
			t.Errorf("%q: %s, want %s", front, got, want)
		}
	}
}

// What is commented out, quoted in another fence or indented is no phase.
func TestNoPhase(t *testing.T) {
	text := "<!--\n## no\n```phase\n```\n-->\n````md\n## no\n```phase\n```\n````\n    ## no\n    ```phase\n## a\n```phase\n```\nDo it.\n\n````md\n## no\n```phase\n```\n````\n"
	p := file.Parse("f.md", text, known())
	if p.Err() != nil || len(p.Definition.Phases) != 1 || !slices.Equal(p.Lines, []int{13}) {
		t.Errorf("%v, %+v, %v", p.Err(), p.Definition.Phases, p.Lines)
	}
}

// What is too much, and what only looks right.
// EX-45.
func TestBounds(t *testing.T) {
	phases := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "## p%d\n```phase\n```\nDo it.\n", i)
		}
		return b.String()
	}
	phase := func(keys string) string { return "## a\n```phase\n" + keys + "\n```\nDo it.\n" }
	k := known("a.json", ".git/HEAD")
	folder := k.Folder.(fstest.MapFS)
	folder["no.json"] = &fstest.MapFile{Data: []byte(`{`)}
	folder["type.json"] = &fstest.MapFile{Data: []byte(`{"type": 3}`)}
	folder["ref.json"] = &fstest.MapFile{Data: []byte(`{"$ref": "#/nowhere"}`)}
	folder["dir.json/x"] = &fstest.MapFile{}
	folder["large.json"] = &fstest.MapFile{Data: make([]byte, 2<<20)}
	schema := func(name string) string { return phase(`answer = { path = "x", schema = "` + name + `" }`) }
	for _, tt := range []struct{ text, want string }{
		{phases(64), ""},
		{phases(65), "f.md:257:4: there are 65 phases, at most 64 are possible; "},
		{phase("inputs = '.git/HEAD'"), ""},
		{phase("tries = 0"), "f.md:3:9: tries wants a whole number from 1 to 20 and has the number 0; "},
		{phase("tries = 20"), ""},
		{phase("timeout = '1500ms'"), "f.md:3:11: timeout wants a time of whole seconds"},
		{phase("timeout = '8761h'"), "f.md:3:11: timeout wants a time of whole seconds, at most a year"},
		{phase("max-cost = 1.1234567"), "f.md:3:12: max-cost wants an amount of US dollars"},
		{phase("max-cost = 1e3"), "f.md:3:12: max-cost wants an amount of US dollars"},
		{phase("max-tokens = 1_000_000"), ""},
		{phase("#" + strings.Repeat("x", 64<<10)), "f.md:2:1: the fence has more than 64 KiB; "},
		{phase("outputs = '" + strings.Repeat("x", 501) + "'"), "f.md:3:11: the path has more than 500 bytes; "},
		{schema("a.json"), ""},
		{schema("no.json"), "f.md:3:33: no.json is no JSON Schema: "},
		{schema("type.json"), "f.md:3:33: type.json is no JSON Schema: "},
		{schema("ref.json"), "f.md:3:33: ref.json is no JSON Schema: "},
		{schema("dir.json"), "f.md:3:33: read the schema dir.json: it is no regular file; "},
		{schema("large.json"), "f.md:3:33: read the schema large.json: it is larger than 1 MiB; "},
	} {
		got := wrong(tt.text, k)
		if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], tt.want)) {
			t.Errorf("%.100q: %q, want %s", tt.text, got, tt.want)
		}
	}
}

// Names of phases are unique, and a file that breaks that is refused before anything starts (EX-61,
// PHA-01).
func TestEX61NamesAreUnique(t *testing.T) {
	got := wrong("## a\n```phase\n```\nDo it.\n## b\n```phase\n```\nDo it.\n## a\n```phase\n```\nDo it.\n", known())
	if len(got) != 1 || got[0] != "f.md:9:4: the name a stands at line 1 already; give one of them another name" {
		t.Errorf("%q", got)
	}
}

// What is referred to and is nowhere is a mistake, and never an empty text (EX-83, PHA-12).
func TestEX83MissingReferences(t *testing.T) {
	for key, want := range map[string]string{
		"inputs = 'gone.md'":                    "gone.md is made by no phase before a and is not in the folder",
		"after = 'gone'":                        `there is no phase "gone"`,
		"on-fail = 'gone'":                      `on-fail names "gone", which is no phase`,
		"each = 'gone.json'":                    "gone.json is made by no phase before a",
		"answer = '{gone}.md'\neach = 'a.json'": "{gone} in a path stands for nothing",
	} {
		got := wrong("## a\n```phase\n"+key+"\n```\nDo it.\n", known("a.json"))
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: %q", key, got)
		}
	}
}

// Nothing in a text is parsed: it reaches the phase as it is written (EX-74; flows, promise
// 17).
func TestEX74TextIsData(t *testing.T) {
	const text = "{{.Query}} ${HOME} $(id) {name} %s `id`\n\\u0041 \\n \"x\""
	p := file.Parse("f.md", text+"\n## a: {{.Title}}\n```phase\nask = '{{.Ask}}'\ncheck = 'echo {{.Check}} $AGENT_TASK'\n```\n"+text+"\n", known())
	if p.Err() != nil {
		t.Fatal(p.Err())
	}
	a := p.Definition.Phases[0]
	if p.Definition.Preamble != text || a.Prompt != text || a.Title != "{{.Title}}" || a.Ask != "{{.Ask}}" || a.Checks[0].Run != "echo {{.Check}} $AGENT_TASK" {
		t.Errorf("%+v", p.Definition)
	}
}
