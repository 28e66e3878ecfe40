//go:build linux && !portable

package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"agent/tools/sandbox"
)

// A policy and a state folder that are found by links, as among a person's dotfiles, cannot be
// exchanged by exchanging a link on the way to them.
func TestLinksOnTheWay(t *testing.T) {
	s := newScene(t)
	dotfiles := s.home + "/dotfiles"
	if err := os.MkdirAll(dotfiles+"/real/config/agent", 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		s.home + "/.config2":                          "dotfiles/config",
		dotfiles + "/config":                          "real/config",
		s.home + "/byname":                            filepath.Dir(s.state),
		dotfiles + "/real/config/agent/config.toml":   "../../../rules/config.toml",
		dotfiles + "/rules":                           dotfiles + "/real/rules",
		dotfiles + "/real/config/agent/dangling.toml": "nothing",
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dotfiles+"/real/rules", 0o700); err != nil {
		t.Fatal(err)
	}
	s.put(dotfiles+"/real/rules/config.toml", "kept\n")
	policy := s.home + "/.config2/agent"
	y := &sandbox.System{Exe: self, Hidden: s.home + "/byname/" + filepath.Base(s.state), Guarded: []string{policy}}
	for _, a := range []sandbox.Access{sandbox.Write, sandbox.Full} {
		if !y.Support().Holds(a) {
			t.Skipf("nothing is promised for %s here", a)
		}
		p, err := y.Profile(a, s.home, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, script := range []string{
			"rm .config2", "mv .config2 other", "ln -sfn / .config2", "ln -s / x && mv -T x .config2", "rm dotfiles/config", "mv dotfiles/real x",
			"rm byname", "mv dotfiles y", "rm dotfiles/rules", "ln -sfn /tmp dotfiles/rules", "echo x > .config2/agent/config.toml",
			"rm .config2/agent/config.toml", "echo x > dotfiles/rules/config.toml", "mv dotfiles/rules/config.toml z",
			"cat byname/" + filepath.Base(s.state) + "/key",
		} {
			if out, err := s.run(p, script); err == nil {
				t.Errorf("%s: %s worked: %s", a, script, out)
			}
		}
		out, err := s.run(p, "cat .config2/agent/config.toml && touch dotfiles/free dotfiles/real/free && readlink .config2")
		if err != nil || out != "kept\ndotfiles/config\n" {
			t.Errorf("%s: what may be done did not work: %v %q", a, err, out)
		}
	}
}
