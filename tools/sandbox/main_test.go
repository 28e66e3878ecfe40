//go:build linux && !portable

package sandbox_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/scripts/testkit/seed"
	"agent/tools/sandbox"
	"golang.org/x/sys/unix"
)

// self is the test binary, which is also the confining process, as the shipped one is, and a small
// program that tries things.
const self = "/proc/self/exe"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Command {
		os.Exit(sandbox.Main(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == "__try" {
		if err := try(os.Args[2], os.Args[3:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// A binary with the race detector waits for a second at its end, for each of hundreds of
	// processes. It cannot fail here.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

// nobody is an ordinary user for tests that run as root.
const nobody = 65534

// TestAsAnOrdinaryUser runs the other tests once more where root runs them: the namespaces are made
// another way then.
func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the tests run as one already")
	}
	onlyWhole(t)
	dir, err := os.MkdirTemp("", "sandbox-nobody")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a folder that stays is in nobody's way
	binary := filepath.Join(dir, "sandbox.test")
	if err := copyFile(self, binary); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	drawn := fmt.Sprintf("-rapid.seed=%d", seed.Number(t)) // its file is out of that user's sight
	cmd := exec.Command(binary, "-test.v", "-test.timeout=5m", "-test.run="+os.Getenv("SANDBOX_RUN"), drawn)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HOME=/nonexistent")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: false}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestMatrix") && os.Getenv("SANDBOX_RUN") == "" {
		t.Fatalf("as user %d: %v\n%s", nobody, err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "--- SKIP") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

// scene is a person's home with a workspace, a state folder and a policy.
type scene struct {
	t       *testing.T
	support sandbox.Support
	base    string
	home    string
	work    string
	state   string
	policy  string
	outside string
	temp    string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	return newSceneIn(t, t.TempDir())
}

func newSceneIn(t *testing.T, base string) *scene {
	t.Helper()
	s := &scene{t: t, support: sandbox.Probe(self), base: base}
	if !s.support.Namespaces || !s.support.Hiding {
		t.Skipf("there are no namespaces here: %s", strings.Join(s.support.Missing, "; "))
	}
	s.home = filepath.Join(s.base, "home")
	s.work, s.outside = filepath.Join(s.home, "work"), filepath.Join(s.home, "outside")
	s.state, s.policy = filepath.Join(s.home, ".local", "state", "agent"), filepath.Join(s.home, ".config", "agent")
	s.temp = filepath.Join(s.base, "temp")
	for _, dir := range []string{s.work, s.outside, s.state, s.policy, s.temp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.put(s.state+"/key", "the key\n")
	s.put(s.state+"/agent.db", "the database\n")
	s.put(s.state+"/token", "the token\n")
	s.put(s.policy+"/config.toml", "mode = \"ask\"\n")
	return s
}

func (s *scene) put(path, content string) {
	s.t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) profile(a sandbox.Access) sandbox.Profile {
	return sandbox.Profile{
		Access: a, Support: s.support, Workspace: s.work, Temp: s.temp, Hidden: []string{s.state}, Guarded: []string{s.policy},
	}
}

// run runs a script confined by p. $TRY is a program that tries things.
func (s *scene) run(p sandbox.Profile, script string, env ...string) (string, error) {
	s.t.Helper()
	cmd := exec.Command("/bin/bash", "-c", script)
	cmd.Dir = p.Workspace
	cmd.Env = append([]string{
		"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + s.home, "STATE=" + s.state, "POLICY=" + s.policy, "OUTSIDE=" + s.outside,
		"TRY=/proc/self/fd/3 __try", fmt.Sprintf("HOST=%d", os.Getpid()),
	}, env...)
	binary, err := os.Open(self)
	if err != nil {
		s.t.Fatal(err)
	}
	defer binary.Close()
	cmd.ExtraFiles = []*os.File{binary}
	if err := p.Wrap(cmd, self); err != nil {
		return "", err
	}
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // one that has ended is what is wanted
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// try tries what a shell cannot.
func try(what string, args []string) error {
	switch what {
	case "dial":
		return dial(args[0], args[1])
	case "serve":
		return serve()
	case "socket":
		return socket(args[0])
	case "datagram":
		return datagram(args[0])
	case "call":
		return call(args[0])
	}
	return fmt.Errorf("there is no %q", what)
}

// call makes a system call that must be refused.
func call(name string) error {
	var errno syscall.Errno
	switch name {
	case "io_uring":
		var params [120]byte
		_, _, errno = unix.Syscall(unix.SYS_IO_URING_SETUP, 1, addressOf(&params[0]), 0)
	case "keyctl":
		_, _, errno = unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 0)
	case "bpf":
		_, _, errno = unix.Syscall(unix.SYS_BPF, 0, 0, 0)
		if errno == syscall.EINVAL {
			errno = 0 // it looked at its arguments
		}
	}
	if errno != 0 {
		return errno
	}
	return nil
}
