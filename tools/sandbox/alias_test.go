//go:build linux && !portable

package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"agent/tools/sandbox"
	"golang.org/x/sys/unix"
)

// mountsOfOwn runs a test once more in a mount namespace of its own, where it may mount what it
// wants; true where it runs there.
func mountsOfOwn(t *testing.T) bool {
	t.Helper()
	if os.Getenv("SANDBOX_MOUNTS") != "" {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	cmd := exec.Command(self, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "SANDBOX_MOUNTS=1")
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	cmd.SysProcAttr = a
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Skipf("no mount namespace can be made here: %v", err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skipf("%s", out)
	}
	t.Logf("%s", out)
	return false
}

// The state folder stays hidden, and the policy unchanged, where a second mount shows them: a bind
// mount of the home, of the folder itself or of one of its files, in the workspace too, and an
// overlay.
func TestSecondMount(t *testing.T) {
	if !mountsOfOwn(t) {
		return
	}
	s := newScene(t)
	mount := func(kind, from, to, options string, flags uintptr) bool {
		t.Helper()
		if err := os.MkdirAll(to, 0o700); err != nil && flags&unix.MS_BIND == 0 {
			t.Fatal(err)
		}
		if err := unix.Mount(from, to, kind, flags, options); err != nil {
			t.Logf("not tried: %s on %s: %v", kind+options, to, err)
			return false
		}
		t.Cleanup(func() { _ = unix.Unmount(to, unix.MNT_DETACH) }) // else the folder stays, and the test fails
		return true
	}
	s.put(s.work+"/one", "")
	inner := strings.TrimPrefix(s.state, s.home)
	var keys []string
	for _, m := range []struct{ kind, from, to, options, key string }{
		{"", s.home, s.base + "/bind", "", inner + "/key"},
		{"", s.state, s.base + "/own", "", "/key"},
		{"", s.state, s.work + "/here", "", "/key"},
		{"", s.state + "/key", s.work + "/one", "", ""},
		{"overlay", "overlay", s.base + "/merged", "lowerdir=" + s.home + ":" + s.temp, inner + "/key"},
	} {
		flags := uintptr(0)
		if m.kind == "" {
			flags = unix.MS_BIND | unix.MS_REC
		}
		if !mount(m.kind, m.from, m.to, m.options, flags) {
			continue
		}
		key := m.to + m.key
		if text, err := os.ReadFile(key); err != nil || string(text) != "the key\n" {
			t.Fatalf("%s does not show the key: %q, %v", key, text, err)
		}
		keys = append(keys, key)
	}
	y := &sandbox.System{Exe: self, Hidden: s.state, Guarded: []string{s.policy}}
	for _, a := range sandbox.Accesses() {
		if !y.Support().Holds(a) {
			t.Logf("not tried: nothing is promised for %s here", a)
			continue
		}
		p, err := y.Profile(a, s.work, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range append(keys, s.state+"/key") {
			if out, err := s.run(p, "cat "+key); err == nil || strings.Contains(out, "the key") {
				t.Errorf("%s: %s can be read: %q, %v", a, key, out, err)
			}
		}
		if out, err := s.run(p, "echo x >> "+s.base+"/bind/.config/agent/config.toml"); err == nil {
			t.Errorf("%s: the policy can be changed through the second mount: %s", a, out)
		}
		if a == sandbox.Full {
			if out, err := s.run(p, "touch $OUTSIDE/a "+s.base+"/bind/outside/b && ls "+s.base+"/bind/outside"); err != nil || out != "a\nb\n" {
				t.Errorf("what may be done did not work: %v %q", err, out)
			}
		}
	}
}
