// Package environ says which variables of an environment the commands of a run get.
//
// They get what the person's own shell would give them, but for what the record keeps secret (keys,
// tokens and passwords, by the name of a variable or by its value), what belongs to the shell that
// agent was started from, what would have another program run in place of the one that is named,
// and what steers agent itself. Rules of the person let more through, or less.
package environ

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Rules are what a person says about the variables. Names are as they stand or have * for any part.
type Rules struct {
	Pass []string          // given though they look like secrets
	Deny []string          // not given
	Set  map[string]string // given with this value, whatever the environment has
}

// Chosen is what commands get of an environment.
type Chosen struct {
	Variables []string // each "NAME=value", once, in the order of the names
	Hidden    []string // names of those that they do not get because they look like secrets
}

// Choose chooses from an environment, whose later variables count. secret says whether a variable
// is one that the record would not hold in the clear.
func Choose(environ []string, r Rules, secret func(name, value string) bool) Chosen {
	byName := map[string]string{}
	var hidden []string
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok && isName(name) {
			byName[name] = value
		}
	}
	for name, value := range byName {
		switch {
		case matches(r.Deny, name), ofShell(name), strings.HasPrefix(name, "AGENT_"):
			delete(byName, name)
		case !matches(r.Pass, name) && secret(name, value):
			delete(byName, name)
			hidden = append(hidden, name)
		}
	}
	for name, value := range r.Set {
		byName[name] = value
		hidden = slices.DeleteFunc(hidden, func(h string) bool { return h == name })
	}
	slices.Sort(hidden)
	return Chosen{listed(byName), hidden}
}

// Recorded is what of the variables that commands get is kept with a run: all but what belongs to a
// login session.
func Recorded(variables []string) []string {
	return slices.DeleteFunc(slices.Clone(variables), func(v string) bool { return ofSession(nameOf(v)) })
}

// Restored is what the commands of a run get whose environment was recorded: that, and what belongs
// to the login session of the process that drives the run now.
func Restored(recorded, own []string) []string {
	byName := map[string]string{}
	for _, v := range own {
		if ofSession(nameOf(v)) {
			byName[nameOf(v)] = valueOf(v)
		}
	}
	for _, v := range recorded {
		if !ofSession(nameOf(v)) {
			byName[nameOf(v)] = valueOf(v)
		}
	}
	return listed(byName)
}

// Names are the names of variables.
func Names(variables []string) []string {
	names := make([]string, len(variables))
	for i, v := range variables {
		names[i] = nameOf(v)
	}
	return names
}

// isName says whether a shell could name the variable: others reach no script anyway.
func isName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return name != "" && strings.Trim(name, letters+"0123456789") == "" && strings.Contains(letters, name[:1])
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil // whoever reads the patterns refuses those that cannot be read
	})
}

// ofShell says whether a variable is about the shell that it was found in, wants a person at a
// terminal, or has commands run something else than they name: what a shell reads before a script,
// or another repository than that of the folder.
func ofShell(name string) bool {
	switch name {
	case "_", "PWD", "OLDPWD", "SHLVL", "COLUMNS", "LINES",
		"EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR",
		"BASH_ENV", "ENV", "BASHOPTS", "SHELLOPTS", "PS4", "CDPATH", "GLOBIGNORE", "IFS", "PROMPT_COMMAND", "POSIXLY_CORRECT",
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR",
		"GIT_PREFIX", "GIT_NAMESPACE", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE",
		"GIT_IMPLICIT_WORK_TREE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_QUARANTINE_PATH":
		return true
	}
	return false
}

// ofSession says whether a variable belongs to a login session or a terminal: its value means
// nothing once that is over, and something else in another one.
func ofSession(name string) bool {
	switch name {
	case "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "GPG_TTY", "DISPLAY", "WAYLAND_DISPLAY", "WINDOWID",
		"XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID",
		"ITERM_SESSION_ID", "VTE_VERSION", "TMUX", "TMUX_PANE", "STY", "INVOCATION_ID", "JOURNAL_STREAM":
		return true
	}
	of, rest, _ := strings.Cut(name, "_")
	return of == "XDG" && (rest == "RUNTIME_DIR" || strings.HasPrefix(rest, "SESSION_")) || of == "KONSOLE"
}

func nameOf(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return name
}

func valueOf(variable string) string {
	_, value, _ := strings.Cut(variable, "=")
	return value
}

func listed(byName map[string]string) []string {
	out := make([]string, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, name+"="+byName[name])
	}
	return out
}
