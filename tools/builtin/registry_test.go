package builtin

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"agent/recovery/journal"
	"agent/tools"
)

func TestBuiltin(t *testing.T) {
	b := newBench(t)
	want := []string{
		"apply_patch", "ask_user", "confirm_action", "edit_file", "fetch", "find_files", "list_dir", "read_file", "read_output", "search", "shell", "write_file",
	}
	if got := b.Registry.Names(); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	// TOOL-03, TOOL-04: the effect of each tool.
	for name, effect := range map[string]journal.Effect{
		"apply_patch": journal.EffectWriteLocal, "ask_user": journal.EffectWriteLocal, "confirm_action": journal.EffectWriteLocal, "edit_file": journal.EffectWriteLocal,
		"find_files": journal.EffectRead, "list_dir": journal.EffectRead, "read_file": journal.EffectRead,
		"read_output": journal.EffectRead, "search": journal.EffectRead, "shell": journal.EffectWriteExternal,
		"write_file": journal.EffectWriteLocal,
	} {
		if got := b.Tool(name).Describe("", json.RawMessage(`{"path":"a"}`)).Effect; got != effect {
			t.Errorf("%s: %s, want %s", name, got, effect)
		}
	}
	for _, path := range []string{".git/hooks/pre-commit", "a/.GIT/config", b.Dir + "/.git/config"} {
		for _, tool := range []string{"write_file", "edit_file"} {
			raw, err := json.Marshal(args{"path": path})
			if err != nil {
				t.Fatal(err)
			}
			if got := b.Tool(tool).Describe("", raw).Effect; got != journal.EffectWriteExternal {
				t.Errorf("%s %s: %s; git may run what is written there", tool, path, got)
			}
		}
	}
	if got := b.Tool("write_file").Describe("", json.RawMessage(`{`)).Effect; got != journal.EffectWriteExternal {
		t.Errorf("broken arguments: %s, want the most dangerous", got)
	}
}

// A call whose arguments do not fit goes back to the model with the place and the reason.
func TestRegistryRead(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct{ tool, args, want string }{
		{"nothing", `{}`, `there is no tool "nothing"; there are apply_patch`},
		{"shell", `{`, "not a JSON object"},
		{"shell", ``, "not a JSON object"},
		{"shell", `null`, "not a JSON object"},
		{"shell", `[1]`, "not a JSON object"},
		{"shell", `{}`, `missing properties: ["command"]`},
		{"shell", `{"command":1}`, "/properties/command: type"},
		{"shell", `{"command":""}`, "/properties/command: minLength"},
		{"shell", `{"command":"x","cmd":"y"}`, `unexpected additional properties ["cmd"]`},
		{"shell", `{"command":"x","timeout":0}`, "/properties/timeout"},
		{"shell", `{"command":"x","timeout":"5"}`, "/properties/timeout"},
		{"shell", `{"command":"x","shell":"zsh"}`, "/properties/shell: enum"},
		{"shell", `{"command":"x\u0000y"}`, "NUL"},
		{"read_file", `{"path":"a","offset":0}`, "/properties/offset: minimum"},
		{"read_file", `{"path":"a","offset":1.5}`, "/properties/offset: type"},
		{"read_file", `{"path":"a","offset":1e400}`, "not a JSON object"},
		{"edit_file", `{"path":"a","old":"x","new":"x"}`, "same text"},
		{"edit_file", `{"path":"a","old":"","new":"x"}`, "/properties/old: minLength"},
		{"find_files", `{"pattern":"a[","path":"."}`, "not a file pattern"},
		{"find_files", `{"pattern":"/etc/*"}`, "begins with a slash"},
		{"search", `{"pattern":"a("}`, "not a regular expression"},
		{"search", `{"pattern":"a\\nb"}`, "one by one"},
		{"search", `{"pattern":"a","glob":"["}`, "not a file pattern"},
		{"ask_user", `{"question":"x","choices":["a","a"]}`, "/properties/choices: uniqueItems"},
		{"ask_user", `{"question":"x","choices":[]}`, "/properties/choices: minItems"},
		{"confirm_action", `{"question":"x","about":7}`, "/properties/about: type"},
	} {
		err := b.Registry.Read(tt.tool, json.RawMessage(tt.args))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: got %v, want %q", tt.tool, tt.args, err, tt.want)
		} else if strings.Contains(err.Error(), "validating") {
			t.Errorf("%s %s: %v is worded for a programmer", tt.tool, tt.args, err)
		}
	}
	for tool, args := range map[string]string{
		"shell": `{"command":"x","timeout":0.5,"shell":"bash"}`, "read_file": `{"path":"a","offset":1,"limit":2.0}`,
		"list_dir": `{}`, "ask_user": `{"question":"x","choices":["a","b"]}`, "write_file": `{"path":"a","content":""}`,
	} {
		if err := b.Registry.Read(tool, json.RawMessage(args)); err != nil {
			t.Errorf("%s %s: %v", tool, args, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`{}`, `{"path":"a"}`, `{"pattern":"a{b,c}"}`, `{"command":"x","timeout":1e9}`, `{"path":"a","offset":-0}`, `[`, `null`} {
		for i := range 10 {
			f.Add(i, s)
		}
	}
	list, err := Tools(Options{State: "/s", Calls: "/s/c", Exe: "/e", Outputs: outputs{}})
	if err != nil {
		f.Fatal(err)
	}
	r, err := tools.NewRegistry(list...)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, which int, text string) {
		names := r.Names()
		name := names[uint(which)%uint(len(names))]
		if r.Read(name, json.RawMessage(text)) != nil {
			return
		}
		// What Read lets through, a tool can read.
		tool, err := r.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		is := tool.Describe("", json.RawMessage(text))
		if q := is.Question; tool.Spec().Asks && (q == nil || q.Message == "") {
			t.Fatalf("%s %s: %+v", name, text, q)
		}
	})
}

// The built-in tools' schemas are parsed when a call first needs one. They all parse, and refuse
// what they always refused.
func TestBuiltinRegistry(t *testing.T) {
	o := Options{State: "/s", Calls: "/s/c", Exe: "/e", Outputs: outputs{}}
	late, err := Registry(o)
	if err != nil {
		t.Fatal(err)
	}
	list, err := Tools(o)
	if err != nil {
		t.Fatal(err)
	}
	early, err := tools.NewRegistry(list...)
	if err != nil {
		t.Fatal(err)
	}
	if late.Digest() != early.Digest() {
		t.Error("the set of tools has another digest")
	}
	for _, name := range early.Names() {
		args := json.RawMessage(`{"no such argument":1}`)
		want, got := early.Read(name, args), late.Read(name, args)
		if want == nil || got == nil || got.Error() != want.Error() || !strings.Contains(got.Error(), "schema") {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
