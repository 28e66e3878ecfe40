//go:build linux

package rewinds

import (
	"maps"
	"slices"
	"strings"

	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/story"
)

// family is a workspace with a person's work in it, and commands that destroy that work.
type family struct {
	git      bool
	commands map[string]string   // by the letter of the mark that each leaves elsewhere
	moved    []string            // paths that git moves with HEAD, which git alone takes back
	person   []act               // what a person does once the run is over
	between  map[string][]string // what a person writes between two calls: path, content
}

// act is a change by a person's own hand.
type act struct{ path, content string }

func names() []string { return slices.Sorted(maps.Keys(families())) }

// outside is where a family's commands leave their marks: no undo reaches it.
const outside = "effects"

// work is what a person has in the workspace: committed, changed since, staged, untracked, ignored
// and in scope (.env), and ignored in a folder that is out of scope (build).
const work = `set -e
mkdir -p src/deep docs notes build hollow
echo alpha > src/a.txt; echo beta > src/deep/b.txt; echo gamma > docs/c.txt; echo delta > docs/d.txt
printf '#!/bin/sh\n' > tool.sh; chmod 755 tool.sh; ln -s src/a.txt link
printf 'build/\n.env\n' > .gitignore
echo SETTING=1 > .env; echo made > build/out; echo mine > untracked.txt; echo n > notes/n.txt; : > empty
`

const repository = `set -e
git init -q -b main .
git config user.name Person; git config user.email person@example.com
git add .gitignore src docs tool.sh link; git commit -q -m one
echo second >> docs/c.txt; git commit -q -a -m two
echo 'not committed' >> src/a.txt
echo staged > staged.txt; git add staged.txt; echo 'not staged' >> staged.txt
`

func families() map[string]*family {
	return map[string]*family{
		"work": {git: true, commands: map[string]string{
			"c": "rm -rf src/deep untracked.txt .env link hollow; printf x > docs/c.txt; chmod 600 tool.sh; mkdir made; echo m > made/m.txt",
			"d": "git checkout -q -- . && git clean -fdq",
			"e": "mv docs papers; printf y >> src/a.txt; ln -sfn nowhere link; echo other > untracked.txt; rm -rf build",
		}, person: []act{
			{"mine.txt", "a person made this\n"}, {"untracked.txt", "a person changed this\n"}, {"papers/mine.txt", "a person made this too\n"},
		}},
		"moved": {git: true, commands: map[string]string{
			"c": "rm untracked.txt; echo z > src/deep/b.txt",
			"d": "git reset -q --hard HEAD~1",
			"e": "echo late >> notes/n.txt; git reflog expire --expire=now --all; git gc -q --prune=now; rm docs/d.txt",
		}, moved: []string{"docs/c.txt"}, person: []act{{"mine.txt", "a person made this\n"}, {"notes/n.txt", "a person changed this\n"}}},
		"gone": {git: true, commands: map[string]string{
			"c": "rm -rf .git .gitignore .env src docs notes empty *.txt",
			"d": "echo w > fresh.txt; mkdir src; echo other > src/a.txt",
		}, person: []act{{"fresh.txt", "a person changed this\n"}, {"src/mine.txt", "a person made this\n"}}},
		"plain": {commands: map[string]string{
			"c": "rm -rf src notes .env; : > docs/c.txt; printf nine | dd of=untracked.txt conv=notrunc status=none",
			"d": "mv docs papers; chmod 600 tool.sh; ln -sfn nowhere link",
		}, person: []act{{"papers/mine.txt", "a person made this\n"}}},
		between: {git: true, commands: map[string]string{
			"c": "echo first >> src/a.txt; rm .env",
			"d": "rm notes/n.txt; echo d >> docs/d.txt",
		}, between: map[string][]string{
			"keeps": {"src/a.txt", "a person wrote this over what a call left\n"},
			"loses": {"notes/n.txt", "a person wrote this, and a call removed it\n"},
		}},
	}
}

// between is the family in which a person writes between two calls.
const between = "between"

// turns are what the model asks for: one command a turn.
func (f *family) turns(world int, elsewhere string) (out [][]story.Step) {
	for _, letter := range slices.Sorted(maps.Keys(f.commands)) {
		command := "echo " + marks.In(world, letter) + " >> " + elsewhere + "; " + f.commands[letter]
		out = append(out, []story.Step{{Tool: "shell", Args: map[string]any{"command": command}}})
	}
	return out
}

// build is the shell's text that makes the workspace.
func (f *family) build() string {
	if f.git {
		return work + repository
	}
	return work
}

// given says whether an undo gives a path back: it does not where it is out of scope, where git
// moved it, and where a person has changed it since.
func (f *family) given(path string) bool {
	if path == "build" || strings.HasPrefix(path, "build/") || slices.Contains(f.moved, path) {
		return false
	}
	return !slices.ContainsFunc(f.person, func(a act) bool { return path == a.path || strings.HasPrefix(a.path, path+"/") })
}
