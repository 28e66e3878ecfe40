//go:build linux

package story

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agent/scripts/crashlab/mcp"
)

// class says what a tool's calls may do.
type class string

const (
	Reads  class = "read"
	writes class = "write"
	Asks   class = "question"
)

// Delegates is the tool whose calls runs of their own carry out.
const Delegates = "delegate"

// Step is one call of a story.
type Step struct {
	Tool string
	Args map[string]any
	Book string // the same in a runbook; "" where a runbook cannot say it
}

// RawArgs are the arguments as a model sends them.
func (s Step) RawArgs() json.RawMessage {
	b, err := json.Marshal(s.Args)
	if err != nil {
		panic(err) // maps of texts always encode
	}
	return b
}

// Subject says how the lab calls a tool. Marks in the arguments name what a witness must see.
type Subject struct {
	Class   class
	Runs    bool // by the runner
	Moves   bool // files into place
	Server  bool // an MCP server's
	Elicits bool // asks in the middle of its call
	Blind   bool // nothing on this machine shows what came of a call whose host died
	Files   func(mark string) map[string]string
	Before  func(mark string) []Step // turns that the call rests on
	Call    func(mark, counter string) Step
	Returns string // text that its result must hold
}

// Subjects has a line for each tool of the binary; one that is missing is an error of the lab. What
// stands behind a colon names another way to call the same tool.
func Subjects() map[string]Subject {
	return map[string]Subject{
		"read_file":  {Class: Reads, Returns: "needle", Call: plain("read_file", "read_file notes.txt", "path", "notes.txt")},
		"list_dir":   {Class: Reads, Returns: "notes.txt", Call: plain("list_dir", "list_dir .", "path", ".")},
		"find_files": {Class: Reads, Returns: "notes.txt", Call: plain("find_files", `find_files "*.txt"`, "pattern", "*.txt")},
		"search":     {Class: Reads, Returns: "needle", Call: plain("search", "search needle", "pattern", "needle")},
		"read_output": {Class: Reads, Returns: "line 10002", Before: func(string) []Step {
			return []Step{{Tool: "shell", Args: map[string]any{"command": "seq -f 'line %g' 1 20000"}}}
		}, Call: plain("read_output", "", "call", "{{call}}", "offset", 98895, "limit", 2000)},
		"ask_user":       {Class: Asks, Returns: "blue", Call: plain("ask_user", `ask_user "Which colour?"`, "question", "Which colour?")},
		"confirm_action": {Class: Asks, Returns: "yes", Call: plain("confirm_action", `confirm_action "Go on?"`, "question", "Go on?")},
		"shell":          {Class: writes, Runs: true, Call: func(mark, _ string) Step { return ShellStep(mark) }},
		"shell:write": {Class: writes, Runs: true, Call: func(mark, _ string) Step {
			command := "echo " + mark + " >> effects"
			return Step{"shell", map[string]any{"command": command, "access": "write"}, "```sh access=write\n" + command + "\n```\n"}
		}},
		"shell:read": {Class: Reads, Runs: true, Returns: "needle", Call: plain("shell", `shell "cat notes.txt" access=read`, "command", "cat notes.txt", "access", "read")},
		"fetch:get": {Class: Reads, Returns: "hay and needle", Call: func(_, counter string) Step {
			url := "http://" + counter + "/page"
			return Step{"fetch", map[string]any{"url": url}, "- fetch " + url + "\n"}
		}},
		mcp.Tool("look"):  {Class: Reads, Server: true, Returns: "needle", Call: plain(mcp.Tool("look"), "")},
		mcp.Tool("count"): {Class: writes, Server: true, Blind: true, Returns: "counted", Call: mcpStep("count")},
		mcp.Tool("ask"):   {Class: writes, Server: true, Blind: true, Elicits: true, Returns: "counted, blue", Call: mcpStep("ask")},
		"fetch": {Class: writes, Blind: true, Returns: "counted", Call: func(mark, counter string) Step {
			url := "http://" + counter + "/effect/" + mark
			return Step{"fetch", map[string]any{"url": url, "method": "POST", "body": "x"}, "- fetch " + url + " method=POST body=x\n"}
		}},
		"write_file": {Class: writes, Moves: true, Call: func(mark, _ string) Step {
			name := "out-" + mark + ".txt"
			return Step{"write_file", map[string]any{"path": name, "content": "written\n"}, "- write_file " + name + "\n\n```\nwritten\n```\n"}
		}},
		"edit_file": {Class: writes, Moves: true, Files: func(mark string) map[string]string {
			return map[string]string{"edit-" + mark + ".txt": "one\n"}
		}, Call: func(mark, _ string) Step {
			name := "edit-" + mark + ".txt"
			return Step{"edit_file", map[string]any{"path": name, "old": "one", "new": "one two"}, "- edit_file " + name + ` "one" "one two"` + "\n"}
		}},
		"apply_patch": {Class: writes, Moves: true, Files: func(mark string) map[string]string {
			return map[string]string{"patch-" + mark + ".txt": "one\n", "patch-" + mark + "b.txt": "two\n"}
		}, Call: patchStep},
	}
}

// CallsOf lists the ways to call those of the tools that the lab knows, and names the others. What
// delegates has stories of whole families, in fault/delegate.
func CallsOf(tools []string) (names, unknown []string) {
	for _, t := range tools {
		if _, ok := Subjects()[t]; !ok && t != Delegates {
			unknown = append(unknown, t)
		}
	}
	for name := range Subjects() {
		if base, _, _ := strings.Cut(name, ":"); Subjects()[name].Server || slices.Contains(tools, base) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, unknown
}

// plain is a call whose arguments hold no mark. pairs are names and values.
func plain(tool, book string, pairs ...any) func(string, string) Step {
	args := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i].(string)] = pairs[i+1]
	}
	if book != "" {
		book = "- " + book + "\n"
	}
	return func(string, string) Step { return Step{tool, args, book} }
}

func ShellStep(mark string) Step {
	command := "echo " + mark + " >> effects"
	return Step{"shell", map[string]any{"command": command}, "```sh\n" + command + "\n```\n"}
}

// mcpStep is a call of the lab's own MCP server. No runbook can name it.
func mcpStep(name string) func(string, string) Step {
	return func(mark, _ string) Step { return Step{Tool: mcp.Tool(name), Args: map[string]any{"mark": mark}} }
}

// patchStep changes two files. Its hunks would fit a second time.
func patchStep(mark, _ string) Step {
	var b strings.Builder
	for _, f := range [][2]string{{"patch-" + mark + ".txt", "one"}, {"patch-" + mark + "b.txt", "two"}} {
		name, line := f[0], f[1]
		fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n@@ -1 +1,2 @@\n %s\n+%s\n", name, name, line, line)
	}
	return Step{"apply_patch", map[string]any{"patch": b.String()}, "- apply_patch\n\n```diff\n" + b.String() + "```\n"}
}
