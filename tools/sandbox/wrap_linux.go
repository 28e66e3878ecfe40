//go:build !portable

package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"agent/recovery/fault"
	"golang.org/x/sys/unix"
)

// order is what the confining process gets, in a file that exists only in memory.
type order struct {
	Profile Profile
	Path    string // empty: only set up, and end
	Args    [][]byte
	Dir     string
	Env     [][]byte
	Files   int // open files to hand on, counted from 3
	Report  int // descriptor to report to; 0 is none
	Gate    int // descriptor at which to wait, once all is set up, until the command may start; 0 is none
	Host    int // pidfd of the process that started it
}

// Wrap has cmd start confined: `exe __sandbox` sets everything up and runs it. Standard streams,
// extra files and the exit status are the command's own; a command that ended by a signal gives 128
// and its number. Everything in the confinement ends when the process that called Wrap does, and,
// but for Full, when the command does. A level that cannot be reached when it starts is a message
// on stderr and exit status 125. Where nothing confines, cmd is left as it is.
func (p Profile) Wrap(cmd *exec.Cmd, exe string) error {
	_, err := p.wrap(cmd, exe, false)
	return err
}

// WrapReported is Wrap for a caller that needs the exact end, and who must be able to leave what a
// Full command left behind. It is nil where nothing confines. Otherwise cmd.Start only has the
// confinement set up, and Started or Abort must be called after it.
func (p Profile) WrapReported(cmd *exec.Cmd, exe string) (*Report, error) {
	return p.wrap(cmd, exe, true)
}

func (p Profile) wrap(cmd *exec.Cmd, exe string, reported bool) (*Report, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("confine the command: %w", err)
	}
	if cmd.Err != nil {
		return nil, fmt.Errorf("confine the command: %w", cmd.Err)
	}
	if !p.Confines() {
		return nil, nil
	}
	env := cmd.Env
	if env == nil {
		env = os.Environ()
	}
	o := order{
		Profile: p, Path: cmd.Path, Args: ToBytes(cmd.Args), Dir: cmd.Dir, Env: ToBytes(p.environ(env)), Files: len(cmd.ExtraFiles),
	}
	var r *Report
	if reported {
		var err error
		if r, err = newReport(); err != nil {
			return nil, fmt.Errorf("confine the command: %w", err)
		}
	}
	if err := o.attach(cmd, r); err != nil {
		return nil, errors.Join(fmt.Errorf("confine the command: %w", err), r.close())
	}
	cmd.Path, cmd.Dir = exe, "/"
	cmd.Env = append([]string{inside + "=1", "GOMAXPROCS=1"}, fault.Race()...)
	for _, pair := range env {
		if strings.HasPrefix(pair, "AGENT_CALL=") { // the mark by which strays are found
			cmd.Env = append(cmd.Env, pair)
		}
	}
	p.namespaces(cmd)
	return r, nil
}

// inside marks the environment of the confining process, so that a binary that is not prepared to
// be one can tell.
const inside = "AGENT_SANDBOX"

// attach hands the order and what it names to cmd.
func (o order) attach(cmd *exec.Cmd, r *Report) error {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return fmt.Errorf("open this process: %w", err)
	}
	host := os.NewFile(uintptr(fd), "host")
	files := append(append([]*os.File{}, cmd.ExtraFiles...), host)
	o.Host = 2 + len(files)
	if r != nil {
		files = append(files, r.write, r.wait)
		o.Report, o.Gate = 1+len(files), 2+len(files)
	}
	b, err := json.Marshal(o)
	if err != nil {
		return errors.Join(err, host.Close())
	}
	memory, err := MemoryFile("agent-sandbox", b)
	if err != nil {
		return errors.Join(err, host.Close())
	}
	cmd.ExtraFiles = append(files, memory)
	cmd.Args = []string{"agent", Command, strconv.Itoa(2 + len(cmd.ExtraFiles))}
	return nil
}

// namespaces asks for those that the promise names. An ordinary user needs a user namespace to have
// the others; the user stays the same in it. For root it is there to leave the powers of root
// behind, so a full command of root's gets none.
func (p Profile) namespaces(cmd *exec.Cmd) {
	if !p.names() {
		return
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	a := cmd.SysProcAttr
	a.Cloneflags |= syscall.CLONE_NEWNS | syscall.CLONE_NEWPID
	if p.Access != Full {
		a.Cloneflags |= syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC
	}
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 && p.Access == Full {
		return
	}
	a.Cloneflags |= syscall.CLONE_NEWUSER
	if uid == 0 {
		const all = 1<<32 - 1
		a.UidMappings = []syscall.SysProcIDMap{{Size: all}}
		a.GidMappings = []syscall.SysProcIDMap{{Size: all}}
		a.GidMappingsEnableSetgroups = true
	} else {
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
}

// Report is what a confined command's process tells of it, and what that waits for.
type Report struct {
	pipe, write *os.File // what is reported
	wait, gate  *os.File // a byte lets the command start, and an end does not
	lines       *bufio.Reader
}

func newReport() (*Report, error) {
	r := &Report{}
	var err error
	if r.pipe, r.write, err = os.Pipe(); err != nil {
		return nil, err
	}
	if r.wait, r.gate, err = os.Pipe(); err != nil {
		return nil, errors.Join(err, r.pipe.Close(), r.write.Close())
	}
	return r, nil
}

func (r *Report) close() error {
	if r == nil {
		return nil
	}
	return errors.Join(r.pipe.Close(), r.write.Close(), r.wait.Close(), r.gate.Close())
}

// Abort gives the report up, for a command that could not be started at all, or is not to be.
func (r *Report) Abort() { _ = r.close() } // nothing was said

// Started lets the command start, waits until it runs, and says why it does not; with an error
// nothing of it ran. Where the confining process dies in between, it may have run: that counts as
// started. direct says that no process stands between: cmd's own end is the command's, and Ended
// must not be called.
func (r *Report) Started() (direct bool, err error) {
	_, _ = r.write.Close(), r.wait.Close() // the confining process has its own copies
	_, _ = r.gate.Write([]byte{1})         // a process that is gone has said why, or its end does
	_ = r.gate.Close()                     // said
	r.lines = bufio.NewReader(r.pipe)
	line, err := r.lines.ReadString('\n')
	starting := line == "starting\n"
	if starting {
		line, err = r.lines.ReadString('\n')
	}
	switch word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); {
	case word == "started":
		return false, nil
	case word == "direct":
		// It becomes the command now; if that does not work, it says so.
		line, err = r.lines.ReadString('\n')
		_ = r.pipe.Close() // nothing more comes
		if errors.Is(err, io.EOF) && line == "" {
			return true, nil
		}
		_, rest, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		return true, refusal(rest)
	case word == "refused":
		_ = r.pipe.Close() // nothing more comes
		return false, refusal(rest)
	case starting:
		return false, nil // its end tells the rest
	case err != nil && !errors.Is(err, io.EOF):
		return false, errors.Join(fmt.Errorf("hear from the sandbox: %w", err), r.pipe.Close())
	}
	return false, errors.Join(errors.New("the sandbox ended before the command was started"), r.pipe.Close())
}

func refusal(quoted string) error {
	text, err := strconv.Unquote(quoted)
	if err != nil {
		text = quoted
	}
	return errors.New(text)
}

// Ended waits for the command's end; false means that the confining process was ended before it
// could tell.
func (r *Report) Ended() (syscall.WaitStatus, bool) {
	defer r.pipe.Close() // it was only read
	line, err := r.lines.ReadString('\n')
	if err != nil {
		return 0, false
	}
	number, ok := strings.CutPrefix(strings.TrimSpace(line), "ended ")
	status, err := strconv.ParseUint(number, 10, 32)
	return syscall.WaitStatus(status), ok && err == nil
}
