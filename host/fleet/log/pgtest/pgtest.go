// Package pgtest starts a PostgreSQL for tests: the system's, in a folder of its own, reached by a
// socket there. Where it is not installed, the test fails.
package pgtest

import (
	"bufio"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is a running PostgreSQL.
type Server struct {
	Dir string // of its socket
	tb  testing.TB
	cmd *exec.Cmd
	as  *syscall.Credential
	set []string // settings
}

// Start starts a server with settings such as fsync=on, and stops it when the test ends. What it
// stores outlives its end by Stop, but is not forced to the disk unless a setting says so.
func Start(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	dir, err := os.MkdirTemp("", "pg-")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{Dir: dir, tb: tb, set: append([]string{"listen_addresses=", "max_connections=50", "fsync=off"}, settings...)}
	tb.Cleanup(func() {
		s.Stop()
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	if os.Geteuid() == 0 { // initdb refuses to run as root
		s.as = nobody(tb)
		if err := os.Chown(dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			tb.Fatal(err)
		}
	}
	initdb := s.command("initdb", "-D", filepath.Join(dir, "data"), "-A", "trust", "-U", "fleet", "--no-sync", "-E", "UTF8", "--locale", "C")
	if out, err := initdb.CombinedOutput(); err != nil {
		tb.Fatalf("PostgreSQL of the system is needed for this test: initdb: %v\n%s", err, out)
	}
	s.Run()
	return s
}

func nobody(tb testing.TB) *syscall.Credential {
	tb.Helper()
	u, err := user.Lookup("nobody")
	if err != nil {
		tb.Fatal(err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		tb.Fatal(err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		tb.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// command finds a program where a distribution may have it.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	path, err := exec.LookPath(name)
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
		slices.Sort(found)
		if len(found) == 0 {
			s.tb.Fatalf("PostgreSQL of the system is needed for this test: %v", err)
		}
		path = found[len(found)-1]
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = s.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return cmd
}

// Run starts the server again after Stop.
func (s *Server) Run() {
	s.tb.Helper()
	args := []string{"-D", filepath.Join(s.Dir, "data"), "-k", s.Dir}
	for _, setting := range s.set {
		args = append(args, "-c", setting)
	}
	s.cmd = s.command("postgres", args...)
	errs, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		s.tb.Fatalf("start PostgreSQL: %v", err)
	}
	ready := make(chan struct{})
	said := make(chan string, 1)
	go func() {
		var all strings.Builder
		for in := bufio.NewScanner(errs); in.Scan(); {
			if all.Len() < 4<<10 {
				all.WriteString(in.Text() + "\n")
			}
			if strings.Contains(in.Text(), "ready to accept connections") {
				close(ready)
			}
		}
		said <- all.String()
	}()
	select {
	case <-ready:
	case text := <-said:
		s.tb.Fatalf("PostgreSQL ended:\n%s", text)
	case <-time.After(60 * time.Second):
		s.tb.Fatal("PostgreSQL is not ready after a minute")
	}
}

// Stop has the server end at once, as in a crash.
func (s *Server) Stop() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	if err := s.cmd.Process.Signal(syscall.SIGQUIT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.tb.Error(err)
	}
	_ = s.cmd.Wait() // it ends with an error, since it was made to
	s.cmd = nil
}

// URL is where the server is, or what passes its socket on in another folder.
func (s *Server) URL(dir string) string {
	q := url.Values{"host": {dir}, "user": {"fleet"}}
	return "postgres:///postgres?" + q.Encode()
}
