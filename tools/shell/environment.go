package shell

import (
	"maps"
	"slices"
	"strings"
)

// Allowed is what commands get of an environment: each variable once, by its name in alphabetical
// order. Keys and tokens are not in it.
func Allowed(environ []string) []string {
	return variables(environ, nil)
}

// Recorded is what of an environment is kept with a run: what commands get, but for what belongs to
// a login session.
func Recorded(environ []string) []string {
	return slices.DeleteFunc(Allowed(environ), func(v string) bool { return ofSession(nameOf(v)) })
}

// Restored is what the commands of a run get whose environment was recorded: what was recorded, and
// what belongs to the login session of the process that drives the run now.
func Restored(recorded, own []string) []string {
	here := slices.DeleteFunc(Allowed(own), func(v string) bool { return !ofSession(nameOf(v)) })
	return variables(slices.DeleteFunc(slices.Clone(recorded), func(v string) bool { return ofSession(nameOf(v)) }), here)
}

// EnvironmentNames lists, in alphabetical order, the variables of an environment that commands get.
func EnvironmentNames(environ []string) []string {
	names := []string{}
	for _, v := range Allowed(environ) {
		names = append(names, nameOf(v))
	}
	return names
}

// ofSession says whether a variable belongs to a login session: its value means nothing once that
// is over, and something else in another one.
func ofSession(name string) bool {
	switch name {
	case "SSH_AUTH_SOCK", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "TERM":
		return true
	}
	return false
}

// variables keeps what a command may see, the last one of each name.
func variables(first, then []string) []string {
	byName := map[string]string{}
	for _, v := range slices.Concat(first, then) {
		switch name := nameOf(v); name {
		case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR":
			byName[name] = v
		default:
			if strings.HasPrefix(name, "LC_") {
				byName[name] = v
			}
		}
	}
	out := make([]string, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, byName[name])
	}
	return out
}

func nameOf(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return name
}
