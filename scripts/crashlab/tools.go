//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// class says what a tool's calls may do.
type class string

const (
	reads  class = "read"
	writes class = "write"
	asks   class = "question"
)

// step is one call of a story.
type step struct {
	tool string
	args map[string]any
	book string // the same in a runbook; "" where a runbook cannot say it
}

// rawArgs are the arguments as a model sends them.
func (s step) rawArgs() json.RawMessage {
	b, err := json.Marshal(s.args)
	if err != nil {
		panic(err) // maps of texts always encode
	}
	return b
}

// subject says how the lab calls a tool. Marks in the arguments name what a witness must see.
type subject struct {
	class   class
	runs    bool // by the runner
	moves   bool // files into place
	server  bool // an MCP server's
	elicits bool // asks in the middle of its call
	blind   bool // what came of a call whose host died, nobody here can look at
	files   func(mark string) map[string]string
	before  func(mark string) []step // turns that the call rests on
	call    func(mark, counter string) step
	returns string // words that its result must hold
}

// subjects has a line for each tool of the binary; one that is missing is an error of the lab. What stands behind a colon names
// another way to call the same tool.
func subjects() map[string]subject {
	return map[string]subject{
		"read_file":  {class: reads, returns: "needle", call: plain("read_file", "read_file notes.txt", "path", "notes.txt")},
		"list_dir":   {class: reads, returns: "notes.txt", call: plain("list_dir", "list_dir .", "path", ".")},
		"find_files": {class: reads, returns: "notes.txt", call: plain("find_files", `find_files "*.txt"`, "pattern", "*.txt")},
		"search":     {class: reads, returns: "needle", call: plain("search", "search needle", "pattern", "needle")},
		"read_output": {class: reads, returns: "line 10002", before: func(string) []step {
			return []step{{tool: "shell", args: map[string]any{"command": "seq -f 'line %g' 1 20000"}}}
		}, call: plain("read_output", "", "call", "{{call}}", "offset", 98895, "limit", 2000)},
		"ask_user":       {class: asks, returns: "blue", call: plain("ask_user", `ask_user "Which colour?"`, "question", "Which colour?")},
		"confirm_action": {class: asks, returns: "yes", call: plain("confirm_action", `confirm_action "Go on?"`, "question", "Go on?")},
		"shell":          {class: writes, runs: true, call: func(mark, _ string) step { return shellStep(mark) }},
		"shell:write": {class: writes, runs: true, call: func(mark, _ string) step {
			command := "echo " + mark + " >> effects"
			return step{"shell", map[string]any{"command": command, "access": "write"}, "```sh access=write\n" + command + "\n```\n"}
		}},
		"shell:read": {class: reads, runs: true, returns: "needle", call: plain("shell", `shell "cat notes.txt" access=read`, "command", "cat notes.txt", "access", "read")},
		"fetch:get": {class: reads, returns: "hay and needle", call: func(_, counter string) step {
			url := "http://" + counter + "/page"
			return step{"fetch", map[string]any{"url": url}, "- fetch " + url + "\n"}
		}},
		mcpTool("look"):  {class: reads, server: true, returns: "needle", call: plain(mcpTool("look"), "")},
		mcpTool("count"): {class: writes, server: true, blind: true, returns: "counted", call: mcpStep("count")},
		mcpTool("ask"):   {class: writes, server: true, blind: true, elicits: true, returns: "counted, blue", call: mcpStep("ask")},
		"fetch": {class: writes, blind: true, returns: "counted", call: func(mark, counter string) step {
			url := "http://" + counter + "/effect/" + mark
			return step{"fetch", map[string]any{"url": url, "method": "POST", "body": "x"}, "- fetch " + url + " method=POST body=x\n"}
		}},
		"write_file": {class: writes, moves: true, call: func(mark, _ string) step {
			name := "out-" + mark + ".txt"
			return step{"write_file", map[string]any{"path": name, "content": "written\n"}, "- write_file " + name + "\n\n```\nwritten\n```\n"}
		}},
		"edit_file": {class: writes, moves: true, files: func(mark string) map[string]string {
			return map[string]string{"edit-" + mark + ".txt": "one\n"}
		}, call: func(mark, _ string) step {
			name := "edit-" + mark + ".txt"
			return step{"edit_file", map[string]any{"path": name, "old": "one", "new": "one two"}, "- edit_file " + name + ` "one" "one two"` + "\n"}
		}},
		"apply_patch": {class: writes, moves: true, files: func(mark string) map[string]string {
			return map[string]string{"patch-" + mark + ".txt": "one\n", "patch-" + mark + "b.txt": "two\n"}
		}, call: patchStep},
	}
}

// callsOf are the ways to call the tools that the lab knows, and the tools that it does not know.
func callsOf(tools []string) (names, unknown []string) {
	for _, t := range tools {
		if _, ok := subjects()[t]; !ok {
			unknown = append(unknown, t)
		}
	}
	for name := range subjects() {
		if base, _, _ := strings.Cut(name, ":"); subjects()[name].server || slices.Contains(tools, base) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, unknown
}

// plain is a call whose arguments hold no mark. pairs are names and values.
func plain(tool, book string, pairs ...any) func(string, string) step {
	args := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i].(string)] = pairs[i+1]
	}
	if book != "" {
		book = "- " + book + "\n"
	}
	return func(string, string) step { return step{tool, args, book} }
}

func shellStep(mark string) step {
	command := "echo " + mark + " >> effects"
	return step{"shell", map[string]any{"command": command}, "```sh\n" + command + "\n```\n"}
}

// mcpStep is a call of the lab's own MCP server. No runbook can name it.
func mcpStep(name string) func(string, string) step {
	return func(mark, _ string) step { return step{tool: mcpTool(name), args: map[string]any{"mark": mark}} }
}

// patchStep changes two files. Its hunks would fit a second time.
func patchStep(mark, _ string) step {
	var b strings.Builder
	for _, f := range [][2]string{{"patch-" + mark + ".txt", "one"}, {"patch-" + mark + "b.txt", "two"}} {
		name, line := f[0], f[1]
		fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n@@ -1 +1,2 @@\n %s\n+%s\n", name, name, line, line)
	}
	return step{"apply_patch", map[string]any{"patch": b.String()}, "- apply_patch\n\n```diff\n" + b.String() + "```\n"}
}
