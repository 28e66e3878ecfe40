//go:build linux

package flows

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"agent/host/model/modeltest"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/story"
)

// family is a flow: its phases, and what a person says in it.
type family struct {
	phases []phase
	times  map[string]int // that an effect happens, where not once, by its letters
	say    string         // to the first question whether a phase begins; "" for yes
	again  bool           // the flow fails, and a person has the thread go on with another, and a phase done again
}

// phase makes one artifact from those of others, which begins with its name and holds theirs: so
// whoever reads the artifacts at the end knows what each was made from. Beside that it has an
// effect outside.
type phase struct {
	name    string
	in      []string // phases whose artifacts it reads
	keys    string   // further lines of its fence
	kind    kind
	command string // of a runbook, where it is not the usual
	makes   string // what it makes then
}

// kind is who carries a phase out.
type kind int

const (
	runbook   kind = iota
	shells         // a model that runs the command of a runbook
	writes         // a model that writes the artifact with a tool, and has an effect
	answers        // a model that only reads; its last answer is the artifact
	asks           // the same, and it asks a person
	delegates      // a model that delegates three tasks, each with an effect, and then writes
	each           // a runbook for each of eight items
)

// folder is where all artifacts lie.
const folder = "made"

// items are those of a phase with branches.
const items = "abcdefgh"

// question stands before the name of the phase that asks it.
const question = "Which colour for "

func path(name string) string { return folder + "/" + name }

// outs lists a phase's artifacts.
func (p phase) outs() []string {
	if p.kind != each {
		return []string{path(p.name)}
	}
	var out []string
	for item := range strings.SplitSeq(items, "") {
		out = append(out, path(p.name+"-"+item))
	}
	return out
}

// effects lists the letters of a phase's effects.
func (p phase) effects() []string {
	var out []string
	switch p.kind {
	case answers, asks:
	case delegates:
		for _, part := range []string{"x", "y", "z"} {
			out = append(out, p.name+part)
		}
	case each:
		for item := range strings.SplitSeq(items, "") {
			out = append(out, p.name+item)
		}
	default:
		out = []string{p.name}
	}
	return out
}

// content is what a phase's artifact holds, by what those hold that it is made from.
func (f *family) content(p phase, out string, files map[string]string) string {
	switch {
	case p.makes != "":
		return p.makes
	case p.kind == each:
		return p.name + "\n" + out[len(out)-1:] + "\n"
	case p.kind > shells:
		return p.name + "\n"
	}
	text := p.name + "\n"
	for _, q := range f.phases {
		if slices.Contains(p.in, q.name) {
			for _, in := range q.outs() {
				text += files[in]
			}
		}
	}
	return text
}

// shell is the command of a phase: the effect comes last, so a command that was ended in between
// and is run again has it once.
func (f *family) shell(world int, p phase) string {
	if p.command != "" {
		return "mkdir -p made && " + p.command + " && echo " + marks.In(world, p.name) + " >> effects"
	}
	out, letters, text := path(p.name), marks.In(world, p.name), "echo "+p.name
	if p.kind == each {
		out, letters, text = `"made/`+p.name+`-$AGENT_ITEM"`, letters+"$AGENT_ITEM", text+"; echo $AGENT_ITEM"
	}
	for _, q := range f.phases {
		if slices.Contains(p.in, q.name) {
			text += "; cat " + strings.Join(q.outs(), " ")
		}
	}
	return "mkdir -p made && { " + text + "; } > " + out + " && echo " + letters + " >> effects"
}

// text is the flow's file.
func (f *family) text(world int) string {
	var b strings.Builder
	b.WriteString("---\nagent: flow\n---\n")
	for _, p := range f.phases {
		fmt.Fprintf(&b, "## %s\n```phase\n%s", p.name, p.keys)
		var in []string
		for _, q := range p.in {
			in = append(in, fmt.Sprintf("%q", q))
		}
		if len(in) > 0 {
			fmt.Fprintf(&b, "inputs = [%s]\n", strings.Join(in, ", "))
		}
		switch p.kind {
		case answers, asks:
			fmt.Fprintf(&b, "mode = \"plan\"\nanswer = %q\n```\nPART-%s.\n", path(p.name), p.name)
		case shells, writes, delegates:
			fmt.Fprintf(&b, "outputs = [%q]\n```\nPART-%s.\n", path(p.name), p.name)
		case each:
			fmt.Fprintf(&b, "model = \"runbook\"\neach = \"items.json\"\nparallel = 8\noutputs = [\"made/%s-{name}\"]\n```\n```sh\n%s\n```\n", p.name, f.shell(world, p))
		default:
			out := fmt.Sprintf("outputs = [%q]\n", path(p.name))
			if strings.Contains(p.keys, "outputs") {
				out = ""
			}
			fmt.Fprintf(&b, "model = \"runbook\"\n%s```\n```sh\n%s\n```\n", out, f.shell(world, p))
		}
	}
	return b.String()
}

// says is what the model says in each phase, and in each task that is delegated, by the words that
// the prompt holds.
func (f *family) says(world int) (map[string][]modeltest.Turn, error) {
	out := map[string][]modeltest.Turn{}
	add := func(name, last string, turns ...[]story.Step) error {
		all, err := (&story.Story{Turns: turns}).Script()
		if err != nil {
			return err
		}
		all[len(all)-1].Text = last
		out["PART-"+name+"."] = all
		return nil
	}
	read := story.Step{Tool: "read_file", Args: map[string]any{"path": "notes.txt"}}
	for _, p := range f.phases {
		write := story.Step{Tool: "write_file", Args: map[string]any{"path": path(p.name), "content": p.name + "\n"}}
		var err error
		switch p.kind {
		case shells:
			err = add(p.name, "It is done.", []story.Step{{Tool: "shell", Args: map[string]any{"command": f.shell(world, p)}}})
		case writes:
			err = add(p.name, "It is written.", []story.Step{story.ShellStep(marks.In(world, p.name))}, []story.Step{write})
		case answers:
			err = add(p.name, p.name, []story.Step{read})
		case asks:
			err = add(p.name, p.name, []story.Step{read}, []story.Step{{Tool: "ask_user", Args: map[string]any{"question": question + p.name}}})
		case delegates:
			var tasks []story.Step
			for _, part := range p.effects() {
				tasks = append(tasks, story.Step{Tool: story.Delegates, Args: map[string]any{"task": "PART-" + part + "."}})
				if err := add(part, "The task is done.", []story.Step{story.ShellStep(marks.In(world, part))}); err != nil {
					return nil, err
				}
			}
			err = add(p.name, "All is done.", tasks, []story.Step{write})
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func names() []string { return slices.Sorted(maps.Keys(families())) }

func families() map[string]*family {
	start := "after = []\n"
	return map[string]*family{
		"sequence": {phases: []phase{
			{name: "one", keys: "check = \"test -s made/one\"\n"}, {name: "two", in: []string{"one"}}, {name: "three", in: []string{"one", "two"}},
		}},
		"side": {phases: []phase{
			{name: "one"}, {name: "left", in: []string{"one"}}, {name: "right", in: []string{"one"}, keys: "after = [\"one\"]\n"},
			{name: "last", in: []string{"left", "right"}, keys: "after = [\"left\", \"right\"]\n"},
		}},
		"each": {phases: []phase{{name: "read", kind: each}, {name: "merge", in: []string{"read"}}}},
		"rounds": {times: map[string]int{"build": 2, "review": 2}, phases: []phase{
			{name: "build", command: "{ echo build; if [ -e made/review ]; then echo again; fi; } > made/build", makes: "build\nagain\n"},
			{name: "review", in: []string{"build"}, command: "if grep -q again made/build; then echo PASS; else echo FAIL; fi > made/review", makes: "PASS\n", keys: "pass = \"PASS\"\non-fail = \"build\"\n"},
		}},
		"redo": {times: map[string]int{"two": 2}, say: "once more, please", phases: []phase{
			{name: "one"}, {name: "two", kind: shells, in: []string{"one"}}, {name: "three", in: []string{"two"}, keys: "ask = \"Go on?\"\n"},
		}},
		"again": {again: true, phases: []phase{
			{name: "one"},
			{name: "two", in: []string{"one"}, command: "if [ -e made/tried ]; then echo two > made/two; fi; touch made/tried", makes: "two\n"},
			{name: "three", in: []string{"two"}},
		}},
		"models": {phases: []phase{
			{name: "scout", kind: answers}, {name: "build", kind: writes, in: []string{"scout"}},
			{name: "test", kind: shells, in: []string{"scout", "build"}}, {name: "review", kind: answers, in: []string{"test"}},
		}},
		"delegate": {phases: []phase{{name: "split", kind: delegates}, {name: "join", in: []string{"split"}}}},
		"asks": {phases: []phase{
			{name: "red", kind: asks, keys: start}, {name: "blue", kind: asks, keys: start}, {name: "mix", in: []string{"red", "blue"}, keys: "after = [\"red\", \"blue\"]\n"},
		}},
	}
}
