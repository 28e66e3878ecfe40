//go:build linux && !portable

package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"agent/tools/sandbox"
)

// A command that is reported on starts with Started and never without: until then whoever started
// it may give it up.
func TestACommandWaitsUntilItMayStart(t *testing.T) {
	s := newScene(t)
	profiles := map[string]sandbox.Profile{}
	for _, a := range sandbox.Accesses() {
		profiles[string(a)] = s.profile(a)
	}
	bare := s.profile(sandbox.Write)
	if bare.Support.Namespaces = false; bare.Confines() {
		profiles["write, without namespaces"] = bare
	}
	for name, p := range profiles {
		for _, start := range []bool{true, false} {
			cmd := exec.Command("/bin/sh", "-c", "exit 7")
			cmd.Dir = s.work
			if p.Access != sandbox.Read {
				cmd.Args[2] = "echo >made; exit 7"
			}
			report, err := p.WrapReported(cmd, self)
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if start {
				if _, err := report.Started(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			} else {
				report.Abort()
			}
			_ = cmd.Wait() // its code is looked at
			if code := cmd.ProcessState.ExitCode(); (code == 7) != start {
				t.Errorf("%s, started %t: it ended with %d", name, start, code)
			}
			made := filepath.Join(s.work, "made")
			if err := os.Remove(made); errors.Is(err, fs.ErrNotExist) == start && p.Access != sandbox.Read && p.Support.Namespaces {
				t.Errorf("%s, started %t: what it makes: %v", name, start, err)
			}
		}
	}
}
