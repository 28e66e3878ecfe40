//go:build linux

package delegate

import (
	"maps"
	"slices"
	"strings"

	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/story"
)

// family is what a run that a person starts is asked to do, and those to which it delegates.
type family struct {
	root  func(world int) [][]story.Step
	parts map[string]func(world int) [][]story.Step // by the task
}

func names() []string { return slices.Sorted(maps.Keys(families())) }

// task delegates a task, which may be to read only.
func task(text, mode string) story.Step {
	args := map[string]any{"task": text}
	if mode != "" {
		args["mode"] = mode
	}
	return story.Step{Tool: story.Delegates, Args: args}
}

func effect(world int, letter string) story.Step { return story.ShellStep(marks.In(world, letter)) }

func writes(letters string) func(int) [][]story.Step {
	return func(world int) (out [][]story.Step) {
		for l := range strings.SplitSeq(letters, "") {
			out = append(out, []story.Step{effect(world, l)})
		}
		return out
	}
}

// asks is a task that reads, and asks a person who is named in the answer.
func asks(who string) func(int) [][]story.Step {
	return func(int) [][]story.Step {
		return [][]story.Step{
			{{Tool: "read_file", Args: map[string]any{"path": "notes.txt"}}},
			{{Tool: "ask_user", Args: map[string]any{"question": question + who}}},
		}
	}
}

// question stands before the name of who asks it.
const question = "Which colour for "

func families() map[string]*family {
	one := func(world int) [][]story.Step { return [][]story.Step{{task("PART one", "")}} }
	return map[string]*family{
		"task": {root: one, parts: map[string]func(int) [][]story.Step{"PART one": writes("cd")}},
		"three": {
			root: func(world int) [][]story.Step {
				return [][]story.Step{{task("PART one", "plan"), task("PART two", "plan"), task("PART six", "plan")}, {effect(world, "c")}}
			},
			parts: map[string]func(int) [][]story.Step{"PART one": asks("one"), "PART two": asks("two"), "PART six": asks("six")},
		},
		"further": {root: one, parts: map[string]func(int) [][]story.Step{
			"PART one": func(world int) [][]story.Step {
				return [][]story.Step{{task("PART two", "")}, {effect(world, "c")}}
			},
			"PART two": writes("de"),
		}},
		"after": {
			root: func(world int) [][]story.Step {
				return [][]story.Step{{task("PART one", "")}, {effect(world, "d")}, {story.Subjects()["write_file"].Call(marks.In(world, "e"), "")}}
			},
			parts: map[string]func(int) [][]story.Step{"PART one": writes("c")},
		},
	}
}
