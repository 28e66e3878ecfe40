package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"agent/host/config"
	"agent/host/doctor"
	"agent/tools/sandbox"
)

// sandbox is what confines commands here: they see neither the state folder nor can they change the
// person's policy.
func (a *App) sandbox(exe, home string) *sandbox.System {
	s := &sandbox.System{
		Exe: exe, Hidden: home, Caches: toolCaches(a), Probed: func() sandbox.Support { return a.enforces.support(exe) },
		Settings: func() sandbox.Settings {
			conf, err := a.Settings("")
			if err != nil {
				return sandbox.Settings{} // the tightest; what is wrong in the file is reported by whoever needs the rest of it
			}
			return sandbox.Settings(conf.Sandbox)
		},
	}
	if policy := config.UserPath(a.Env); policy != "" {
		s.Guarded = []string{filepath.Dir(policy)}
	}
	return s
}

// toolCaches is the folder for caches of tools that commands with access write use; "" where no
// place is known for it.
func toolCaches(a *App) string {
	if marks := marksFolder(a); marks != "" {
		return filepath.Join(filepath.Dir(marks), "tools")
	}
	return ""
}

// enforced is what this system can enforce: found out once in a process, for the commands and for
// every server.
type enforced struct {
	once sync.Once
	what sandbox.Support
}

func (e *enforced) support(exe string) sandbox.Support {
	e.once.Do(func() { e.what = sandbox.Probe(exe) })
	return e.what
}

// ahead begins to find out, beside whatever comes before the first command.
func (e *enforced) ahead() {
	if exe, err := Binary(); err == nil { // who needs the binary says what is wrong
		go e.support(exe)
	}
}

// sandboxWords says in one line what each access of shell gives here.
func (a *App) sandboxWords(home string) string {
	exe, err := Binary()
	if err != nil {
		return fmt.Sprintf("find this binary: %v", err)
	}
	s := a.sandbox(exe, home).Support()
	var words []string
	for _, access := range sandbox.Accesses() {
		effect := "write_external"
		switch {
		case access == sandbox.Read && s.Holds(access):
			effect = "read"
		case access == sandbox.Write && s.Holds(access):
			effect = "write_local"
		}
		words = append(words, fmt.Sprintf("access %s is a %s (%s)", access, effect, s.Level(access)))
	}
	return "shell with " + strings.Join(words, ", ")
}

// examineSandbox says what each access of shell gives here, and what is missing for more.
func (a *App) examineSandbox(home string, f *doctor.Findings) {
	const area = "sandbox"
	exe, err := Binary()
	if err != nil {
		f.Bad(area, "", "find this binary: %v", err)
		return
	}
	s := a.sandbox(exe, home).Support()
	for _, c := range []struct {
		access     sandbox.Access
		holds, not string
	}{
		{sandbox.Read, "nothing can be written, and there is no network", "what it should keep a command from is not enforced in full, so it counts as write_external"},
		{sandbox.Write, "only the workspace and a private temporary folder can be written, and there is no network", "what it should keep a command from is not enforced in full, so it counts as write_external"},
		{sandbox.Full, "the state folder is hidden and the configuration cannot be changed", ""},
	} {
		switch {
		case s.Holds(c.access):
			f.OK(area, "access %s: %s (%s)", c.access, c.holds, s.Level(c.access))
		case c.access != sandbox.Full:
			f.Warn(area, "", "access %s: %s (%s)", c.access, c.not, s.Level(c.access))
		case s.Open:
			f.Warn(area, `take full = "open" out of [sandbox] in config.toml, unless commands need sudo`,
				"access full: left open by the configuration: a command can read the state folder, answer for you, and change the configuration")
		default:
			f.Warn(area, "", "access full: nothing confines it: a command can read the state folder, answer for you, and change the configuration")
		}
	}
	if s.Holds(sandbox.Full) && os.Geteuid() == 0 {
		f.OK(area, "access full keeps the powers of root here: a command that sets out to can unmount what hides the state folder")
	} else if s.Holds(sandbox.Full) {
		f.OK(area, `access full: sudo and other programs that change the user do not work; full = "open" of [sandbox] in config.toml lets them`)
	}
	for _, at := range a.sandbox(exe, home).Veiled() {
		f.Warn(area, "unmount it if it shows the state folder", "%s", veiledWords(at))
	}
	for _, missing := range s.Missing {
		f.Warn(area, "", "%s", missing)
	}
	if s.Landlock > 0 {
		f.OK(area, "Landlock ABI %d", s.Landlock)
	}
}

// veiledWords says what a mount may show that cannot be looked through.
func veiledWords(at string) string {
	return fmt.Sprintf("what is mounted at %s may show the state folder once more, where a command with access full could read it and answer for you", at)
}
