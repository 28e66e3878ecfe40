// Package hooklines is what this program adds to a repository and to a commit: the lines by which
// git runs it, and the trailer of a message. Whoever reads a repository afterwards tells by them
// what is ours, and takes away exactly that.
package hooklines

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"agent/tools/gitrepo/gitconfig"
)

// Command is the hidden command that git runs as a hook: its verbs are prepare and strip.
const Command = "__git"

// Hook is one event at which git runs this program.
type Hook struct {
	Name  string // of its section: hook.NAME.command
	Event string // as git names it, and a file in the hooks folder
	Verb  string // of Command

	unless string // what a shell sees by itself: there is nothing to do
}

// Hooks lists them in the order in which they are written. A message that nobody edits is as it was
// prepared: git says so by an editor of this name.
func Hooks() []Hook {
	return []Hook{
		{Name: "agent-prepare", Event: "prepare-commit-msg", Verb: "prepare"},
		{Name: "agent-strip", Event: "commit-msg", Verb: "strip", unless: `test "${GIT_EDITOR-}" = : || `},
	}
}

// Line is what a shell runs. Without the program it does nothing; it prints nothing, and its status
// is 0, whatever becomes of the program and of whatever script it stands in. Git adds the arguments
// behind the last command.
func (h Hook) Line(exe string) string {
	quoted := quote(exe)
	return fmt.Sprintf(`{ test ! -x %s || %s%s %s %s "$@"; } 2>/dev/null || :`, quoted, h.unless, quoted, Command, h.Verb)
}

// Script is the file of a hook, for a git that reads none from its configuration.
func (h Hook) Script(exe string) string { return "#!/bin/sh\n" + h.Line(exe) + "\n" }

// Usable says whether a path can stand in a line.
func Usable(exe string) bool {
	return filepath.IsAbs(exe) && !strings.ContainsFunc(exe, func(c rune) bool { return c < ' ' || c == 0x7f })
}

// quote makes one word of a shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Section is what git's configuration gets: git-config, hook.<name>.command.
func Section(exe string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var b strings.Builder
	for _, h := range Hooks() {
		fmt.Fprintf(&b, "[hook %q]\n\tcommand = \"%s\"\n\tevent = %s\n", h.Name, escape.Replace(h.Line(exe)), h.Event)
	}
	return b.String()
}

// Pair is one setting of git's configuration, by its full name.
type Pair struct{ Key, Value string }

// Pairs is the same as Section, for an environment.
func Pairs(exe string) []Pair {
	var list []Pair
	for _, h := range Hooks() {
		list = append(list, Pair{"hook." + h.Name + ".command", h.Line(exe)}, Pair{"hook." + h.Name + ".event", h.Event})
	}
	return list
}

// Join adds the settings to an environment, behind those that it has: git-config, GIT_CONFIG_COUNT.
func Join(env []string, exe string) []string {
	count := 0
	joined := make([]string, 0, len(env)+2*len(Hooks())*2+1)
	for _, pair := range env {
		if text, ok := strings.CutPrefix(pair, countName+"="); ok {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return env // git refuses it, and would still
			}
			count = n
			continue
		}
		joined = append(joined, pair)
	}
	for _, p := range Pairs(exe) {
		joined = append(joined, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", count, p.Key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count, p.Value))
		count++
	}
	return append(joined, fmt.Sprintf("%s=%d", countName, count))
}

const countName = "GIT_CONFIG_COUNT"

// Cut takes Section out of a configuration. found says whether it was there, to the byte, and with
// nothing added to it: a line behind it would belong to another section once it is gone.
func Cut(config, exe string) (rest string, found bool) {
	section := Section(exe)
	for at := 0; ; {
		i := strings.Index(config[at:], section)
		if i < 0 {
			return config, false
		}
		i += at
		behind := config[i+len(section):]
		if (i == 0 || config[i-1] == '\n') && ends(behind) {
			return config[:i] + behind, true
		}
		at = i + 1
	}
}

// ends says whether a section ends here: the next that is not blank and no comment begins another.
func ends(config string) bool {
	for line := range strings.Lines(config) {
		if line = strings.TrimLeft(line, " \t\r\n"); line != "" && line[0] != '#' && line[0] != ';' {
			return line[0] == '['
		}
	}
	return true
}

// Installed is the program that a configuration has git run, whether or not it is the one that
// asks; "" where none is, or where the lines are others than ours.
func Installed(config string) string {
	list, err := gitconfig.Parse([]byte(config), "")
	if err != nil {
		return ""
	}
	for _, s := range list {
		if s.Section == "hook" && s.Sub == Hooks()[0].Name && s.Name == "command" {
			if exe := program(s.Value); exe != "" {
				if _, ok := Cut(config, exe); ok {
					return exe
				}
			}
		}
	}
	return ""
}

// InScript is the program that a hook's file runs, where the file is one of ours to the byte.
func (h Hook) InScript(script string) string {
	line, ok := strings.CutPrefix(script, "#!/bin/sh\n")
	if exe := program(line); ok && exe != "" && h.Script(exe) == script {
		return exe
	}
	return ""
}

// program takes the path out of a line.
func program(line string) string {
	rest, ok := strings.CutPrefix(line, "{ test ! -x '")
	word, _, end := strings.Cut(rest, "' || ")
	if exe := strings.ReplaceAll(word, `'\''`, "'"); ok && end && Usable(exe) {
		return exe
	}
	return ""
}
