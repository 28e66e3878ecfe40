package gitrepo

import (
	_ "embed"
	"strings"
	"sync"

	"agent/tools/gitrepo/gitconfig"
)

// keysText classifies the keys of git's configuration: a class and a key in each line.
//
//go:embed keys.txt
var keysText string

// class says what the value of a key can do.
type class string

const (
	harmless class = "harmless" // it names no program and no settings
	command  class = "command"  // it is a command, or a part of one
	code     class = "code"     // it names a file, folder or server whose content is obeyed, or loosens what git trusts
	address  class = "address"  // it names another repository; harmful if it names a program with ::
	toggle   class = "switch"   // a command unless it is a boolean
	tool     class = "tool"     // it names a tool that git knows; with a slash it is a file that git runs
	folder   class = "folder"   // it names a folder that git writes in; harmless inside the workspace
	unknown  class = "unknown"  // nobody classified it
)

// classes are the keys by their lower-case pattern, in which * stands for what a person names.
var classes = sync.OnceValue(func() map[string]class {
	list := map[string]class{}
	for line := range strings.Lines(keysText) {
		word, key, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && word != "#" {
			list[pattern(key)] = class(word)
		}
	}
	return list
})

// pattern is a key as `git help --config` writes it, with what a person names as *.
func pattern(key string) string {
	parts := strings.Split(key, ".")
	for i, part := range parts {
		if strings.HasPrefix(part, "<") || part == "*" {
			parts[i] = "*"
		}
	}
	return strings.ToLower(strings.Join(parts, "."))
}

// Setting is one line of a configuration.
type Setting struct {
	gitconfig.Setting
	Top string `json:"top,omitempty"` // of a repository outside: the top of its worktree
}

func (s Setting) class() class {
	tries := []string{s.Section + "." + s.Name, s.Section + ".*"}
	if s.Sub != "" {
		tries = []string{s.Section + "." + strings.ToLower(s.Sub) + "." + s.Name, s.Section + ".*." + s.Name, s.Section + ".*.*", s.Section + ".*"}
	}
	for _, key := range tries {
		if c, ok := classes()[key]; ok {
			return c
		}
	}
	return unknown
}
