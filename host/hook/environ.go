package hook

import "strings"

// Environ is what a hook gets of an environment. Keys of models and tokens are not in it, so that
// what a hook starts has none by accident; one that needs a secret reads its file. What belongs to
// the login session is that of the process that calls: it is what a notification on the desktop
// needs. AGENT_HOME names the state folder, so that agent in a hook means the same runs.
func Environ(environ []string, home string) []string {
	var out []string
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); let(name) {
			out = append(out, v)
		}
	}
	return append(out, "AGENT_HOME="+home)
}

func let(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
		"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}
