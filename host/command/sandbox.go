package command

import (
	"path/filepath"

	"agent/host/config"
	"agent/tools/sandbox"
)

// sandbox is what confines commands here: they see neither the state folder nor can they change the person's policy.
func (a *app) sandbox(exe, home string) *sandbox.System {
	s := &sandbox.System{Exe: exe, Hidden: home, Settings: func() sandbox.Settings {
		conf, err := a.settings("")
		if err != nil {
			return sandbox.Settings{} // the tightest; what is wrong in the file is told by whoever needs the rest of it
		}
		return sandbox.Settings(conf.Sandbox)
	}}
	if policy := config.UserPath(a.Getenv); policy != "" {
		s.Guarded = []string{filepath.Dir(policy)}
	}
	return s
}
