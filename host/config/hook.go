package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/host/permission"
)

// Hook is a command of the person that is called when something happens to a run.
type Hook struct {
	On      []string      // what calls it, of Events
	Tools   []string      // before a call: of tools with these names alone, or globs of names; none for all
	Command []string      // without a shell; its first part is a name in PATH or an absolute path
	Timeout time.Duration // it is killed after that
	Where   string        // file and line
}

// What calls a hook.
const (
	OnWaiting   = "waiting"     // a run waits for an answer
	OnEnded     = "ended"       // a run has ended
	OnLeftAlone = "left_alone"  // a run was interrupted, and nothing has it go on
	OnCall      = "before_call" // a call of a tool is about to be asked about or carried out
)

// Events are the words that a hook's on may hold.
func Events() []string { return []string{OnWaiting, OnEnded, OnLeftAlone, OnCall} }

// How a terminal shows that a run in it waits or has ended.
const (
	NotifyOff  = "off"
	NotifyBell = "bell"
	NotifyOSC9 = "osc9" // a control sequence that many terminals show as a notification
	NotifyBoth = "both"
)

// Notices are the words that notify may be.
func Notices() []string { return []string{NotifyOff, NotifyBell, NotifyOSC9, NotifyBoth} }

// How long a hook may take. A process that drives a run waits for it at its end, or before a call.
const (
	hookTimeout     = 10 * time.Second
	longestHookTime = time.Minute
)

type hookKeys struct {
	On      any      `toml:"on"` // a text or a list of them
	Tools   []string `toml:"tools"`
	Command []string `toml:"command"`
	Timeout *string  `toml:"timeout"`
}

// isList says whether a key names a list of tables.
func isList(key string) bool { return isRules(key) || key == "hook" }

// hooks reads the commands that are called when something happens.
func (c *checker) hooks(list []hookKeys) []Hook {
	var out []Hook
	for _, table := range c.d.single {
		if table[0] == "hook" {
			c.wrong(table, "hooks are a list: write [[hook]]")
		}
	}
	for i, k := range list {
		at := c.d.ruleAt("hook", i)
		wrong := func(key, format string, args ...any) {
			e := c.d.errorAt(at(key), fmt.Sprintf(format, args...))
			if key == "command" {
				e.Source = "" // its arguments may hold what is secret
			}
			c.all = append(c.all, e)
		}
		h := Hook{Tools: slices.Clone(k.Tools), Command: slices.Clone(k.Command), Timeout: hookTimeout, Where: fmt.Sprintf("%s:%d", c.d.file, at("").line)}
		h.On = events(k.On, wrong)
		h.tools(k.Tools, wrong)
		h.program(wrong)
		if k.Timeout != nil {
			var err error
			if h.Timeout, err = time.ParseDuration(*k.Timeout); err != nil || h.Timeout <= 0 || h.Timeout > longestHookTime {
				wrong("timeout", "timeout: %q is no time of at most %s, such as 10s: a run's process waits for its hooks", *k.Timeout, longestHookTime)
			}
		}
		out = append(out, h)
	}
	return out
}

// events reads what calls a hook: a text or a list of them.
func events(on any, wrong func(key, format string, args ...any)) []string {
	var out []string
	list, ok := on.([]any)
	if text, one := on.(string); one {
		list, ok = []any{text}, true
	}
	if !ok || len(list) == 0 {
		wrong("on", "on wants %s; there are %s", wants("on"), andList(Events()))
		return nil
	}
	for _, v := range list {
		word, _ := v.(string)
		if !slices.Contains(Events(), word) {
			wrong("on", "there is no on = %q; choose %s", fmt.Sprint(v), orList(Events()))
			continue
		}
		out = append(out, word)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// tools checks which calls a hook is called before.
func (h *Hook) tools(given []string, wrong func(key, format string, args ...any)) {
	switch {
	case given == nil:
	case len(given) == 0:
		wrong("tools", "tools names no tool: leave it out to be called for all of them")
	case len(h.On) > 0 && !slices.Contains(h.On, OnCall):
		wrong("tools", "tools: it is called for no call: on has no %q", OnCall)
	}
	for _, t := range given {
		if err := (permission.Rule{Tool: t}).Check(); err != nil {
			wrong("tools", "tools: %v", err)
		}
	}
}

// About says whether the hook is called before calls of a tool.
func (h Hook) About(tool string) bool {
	return len(h.Tools) == 0 || slices.ContainsFunc(h.Tools, func(t string) bool { return permission.Rule{Tool: t}.Named(tool) })
}

// program checks what is called. A path must not depend on where the run works: the folder of a run
// is no place for the person's own programs.
func (h *Hook) program(wrong func(key, format string, args ...any)) {
	if len(h.Command) == 0 || h.Command[0] == "" {
		wrong("command", "command names no command; it wants %s", wants("hook", "command"))
		return
	}
	if rest, ok := strings.CutPrefix(h.Command[0], "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			wrong("command", "command: %q: %v", h.Command[0], err)
		}
		h.Command[0] = filepath.Join(home, rest)
	}
	if strings.ContainsRune(h.Command[0], '/') && !filepath.IsAbs(h.Command[0]) {
		wrong("command", "command: %q is no name in PATH, and no path that begins with / or ~/", h.Command[0])
	}
}

// andList writes words one after the other.
func andList(words []string) string {
	end := len(words) - 1
	return strings.Join(words[:end], ", ") + " and " + words[end]
}
