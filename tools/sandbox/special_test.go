//go:build linux && !portable

package sandbox_test

import (
	"net"
	"os"
	"strings"
	"testing"

	"agent/tools/sandbox"
	"golang.org/x/sys/unix"
)

// written are ways to write to what lies in $AT, and reach is what a command needs for itself.
// Those that fill a temporary file come last: without namespaces there is none.
func written() []string {
	return []string{
		"echo x > $AT/fifo", "echo x >> $AT/fifo", "exec 5<> $AT/fifo && echo x >&5", "cd $AT && echo x > ./fifo", "mv $AT/fifo $AT/other",
		"echo x > /proc/self/root/$AT/fifo", "echo x > $AT/device", "$TRY dial unix $AT/sock", "$TRY datagram $AT/datagram",
	}
}

func needed(scratch bool) []string {
	list := []string{
		"ls -l $AT/fifo && test -p $AT/fifo", "echo hi | cat | grep -q hi", "grep -q hi <(echo hi)", "echo x > /dev/null && echo x > /dev/zero",
		"echo x > /dev/stderr && echo x > /dev/stdout", "{ echo x > /dev/full; } 2>&1 | grep -q 'No space'",
		"{ : > /dev/tty; } 2>&1 | grep -q 'No such device'", // there is no terminal here, and nothing forbids it
	}
	if scratch {
		list = append(list, "echo x > $TMPDIR/file && echo y > $(mktemp)", "grep -q hi <<< hi",
			"mkfifo $TMPDIR/own && (echo hi > $TMPDIR/own & cat $TMPDIR/own) | grep -q hi")
	}
	return list
}

// tried is one script that carries each of these out and prints what did not end as wanted.
func tried(fail, work []string) string {
	script := ""
	for _, f := range fail {
		script += "if ( " + f + " ) >/dev/null 2>&1; then echo \"it worked: \"'" + strings.ReplaceAll(f, "'", "`") + "'; fi\n"
	}
	for _, w := range work {
		script += "( " + w + " ) || echo 'it did not work: " + strings.ReplaceAll(w, "'", "`") + "'\n"
	}
	return script
}

// A command with access read writes to no FIFO, device or socket of the person's, wherever the
// workspace and the home are, and can still use its own pipes and the harmless devices. Issue 11,
// B13.
func TestReadWritesNothingSpecial(t *testing.T) {
	for _, under := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		t.Run(under, func(t *testing.T) {
			base, err := os.MkdirTemp(under, "sandbox-special-")
			if err != nil {
				t.Skipf("nothing can be made below %s: %v", under, err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(base) }) // a folder that stays is in nobody's way
			s := newSceneIn(t, base)
			if !s.support.Holds(sandbox.Read) {
				t.Skip("nothing is promised for read here")
			}
			for _, at := range []string{s.work, s.outside} {
				s.makeSpecial(at)
			}
			without := s.support
			without.Namespaces, without.Hiding = false, false
			for _, support := range []sandbox.Support{s.support, without} {
				if !support.Holds(sandbox.Read) {
					continue
				}
				s.support = support
				s.trySpecial()
			}
		})
	}
}

// A workspace that is itself a folder for temporary files is seen as it is.
func TestReadInATemporaryFolder(t *testing.T) {
	for _, work := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		f, err := os.CreateTemp(work, "sandbox-seen-")
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { _ = os.Remove(f.Name()) }) // as above
		if _, err := f.WriteString("seen"); err != nil || f.Close() != nil {
			t.Fatal(err)
		}
		s := newScene(t)
		p := s.profile(sandbox.Read)
		p.Workspace = work
		if out, err := s.run(p, "grep -q seen "+f.Name()+" && ! echo x 2>/dev/null > "+f.Name()+" && echo y > $(mktemp)"); err != nil {
			t.Errorf("%s: %v %s", work, err, out)
		}
	}
}

func (s *scene) trySpecial() {
	s.t.Helper()
	p := s.profile(sandbox.Read)
	p.Temp = ""
	for _, at := range []string{s.work, s.outside} {
		out, err := s.run(p, tried(written(), needed(p.Support.Namespaces)), "AT="+at)
		if err != nil || strings.Contains(out, "it worked: ") || strings.Contains(out, "it did not work: ") {
			s.t.Errorf("namespaces %v, in %s: %v\n%s", p.Support.Namespaces, at, err, out)
		}
		// The control: what holds it back is the access, not the file.
		if out, err := s.run(s.profile(sandbox.Full), "echo x > $AT/fifo && $TRY dial unix $AT/sock", "AT="+at); s.support.Hiding && err != nil {
			s.t.Errorf("%s cannot be written at all: %v %s", at, err, out)
		}
	}
}

// makeSpecial makes a FIFO with a reader, a device and two sockets that answer.
func (s *scene) makeSpecial(at string) {
	s.t.Helper()
	if err := unix.Mkfifo(at+"/fifo", 0o600); err != nil {
		s.t.Fatal(err)
	}
	reader, err := os.OpenFile(at+"/fifo", os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = reader.Close() }) // nothing is lost with it
	if os.Geteuid() == 0 {
		if err := unix.Mknod(at+"/device", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
			s.t.Fatal(err)
		}
	}
	l, err := net.Listen("unix", at+"/sock")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = l.Close() }) // as above
	go answerAll(l)
	d, err := net.ListenPacket("unixgram", at+"/datagram")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = d.Close() }) // as above
}
