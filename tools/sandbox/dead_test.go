//go:build linux && !portable

package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"agent/tools/sandbox"
	"golang.org/x/sys/unix"
)

// A command is confined beside a file system that answers no more, such as one of FUSE whose
// program was killed: in the home, beside the state folder and in the workspace. What lies around
// it can be read as ever, with the namespaces and without.
func TestDeadFileSystem(t *testing.T) {
	if !mountsOfOwn(t) {
		return
	}
	s := newScene(t)
	for _, at := range []string{s.base + "/dead", s.home + "/dead", s.state + "-dead", s.work + "/dead"} {
		mountDead(t, at)
	}
	s.put(s.work+"/in", "read\n")
	s.put(s.outside+"/in", "too\n")
	without, tried := s.support, 0
	without.Namespaces, without.Hiding = false, false
	for _, support := range []sandbox.Support{s.support, without} {
		s.support = support
		for _, a := range sandbox.Accesses() {
			if !support.Holds(a) {
				continue
			}
			tried++
			if out, err := s.run(s.profile(a), "cat in $OUTSIDE/in && ! ls dead 2>/dev/null"); err != nil || out != "read\ntoo\n" {
				t.Errorf("namespaces %v, access %s: %v\n%s", support.Namespaces, a, err, out)
			}
		}
	}
	t.Logf("%d confinements", tried)
}

// mountDead mounts a file system whose program has ended before it answered anything.
func mountDead(t *testing.T, at string) {
	t.Helper()
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	program, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("there is no FUSE here: %v", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", program, os.Geteuid(), os.Getegid())
	err = unix.Mount("dead", at, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options)
	if errors.Join(err, unix.Close(program)) != nil {
		t.Skipf("no file system of FUSE can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) }) // else the folder stays, and the test fails
	if _, err := os.Lstat(at); !errors.Is(err, unix.ENOTCONN) {
		t.Fatalf("%s answers: %v", at, err)
	}
}
