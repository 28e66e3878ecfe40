//go:build linux

package command_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// disk is a small file system of its own, mounted for one test: a tmpfs, or an ext4 in an image
// file.
type disk struct {
	t     *testing.T
	path  string
	mib   int
	image string // of an ext4
}

// mountDisk mounts a tmpfs of that many MiB. Where nothing may be mounted the test is skipped.
func mountDisk(t *testing.T, path string, mib int) *disk {
	t.Helper()
	onlyRoot(t)
	d := &disk{t: t, path: path, mib: mib}
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", path, "tmpfs", 0, d.options()); err != nil {
		t.Skipf("this test needs to mount a small disk: %v", err)
	}
	d.cleanUp()
	return d
}

// mountExt4 mounts an ext4 of that many MiB, which turns read-only at its first error. Where that
// cannot be done the test is skipped.
func mountExt4(t *testing.T, path string, mib int) *disk {
	t.Helper()
	onlyRoot(t)
	d := &disk{t: t, path: path, mib: mib, image: filepath.Join(t.TempDir(), "image")}
	f, err := os.Create(d.image)
	if err == nil {
		err = errors.Join(f.Truncate(int64(mib)<<20), f.Close(), os.MkdirAll(path, 0o700))
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-m", "0", d.image).CombinedOutput(); err != nil {
		t.Skipf("this test needs to make an ext4: %v %s", err, out)
	}
	d.mount()
	d.cleanUp()
	return d
}

// onlyRoot keeps these tests together under one beginning of a name: only root can mount a disk,
// and .ci/run has root try these.
func onlyRoot(t *testing.T) {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestDisk") {
		t.Fatal("the name of a test that mounts a disk begins with TestDisk, so that .ci/run finds it")
	}
	if t.Name() != "TestDiskBallastKeepsTheResult" {
		notRaced(t)
	}
}

func (d *disk) mount() {
	d.t.Helper()
	await(d.t, "a disk at "+d.path+" that can be written", func() bool {
		if out, err := exec.Command("mount", "-o", "loop,errors=remount-ro", d.image, d.path).CombinedOutput(); err != nil {
			d.t.Skipf("this test needs to mount a small disk: %v %s", err, out)
		}
		err := os.Chmod(d.path, 0o700)
		if errors.Is(err, unix.EROFS) { // a command that took a copy of the mounts along a moment ago still keeps the failed disk
			err = d.unused(func() error { return unix.Unmount(d.path, 0) })
			if err == nil {
				return false
			}
		}
		if err != nil {
			d.t.Fatal(err)
		}
		return true
	})
}

func (d *disk) cleanUp() {
	d.t.Cleanup(func() {
		for _, pid := range processes(d.path, "__runner") {
			_ = syscall.Kill(pid, syscall.SIGKILL) // one that is gone meanwhile is what is wanted
		}
		if err := unix.Unmount(d.path, unix.MNT_DETACH); err != nil {
			d.t.Errorf("unmount %s: %v", d.path, err)
		}
	})
}

func (d *disk) options() string { return fmt.Sprintf("size=%dm,mode=0700", d.mib) }

// breakDown makes the ext4 fail: from now on it takes nothing.
func (d *disk) breakDown() {
	d.t.Helper()
	out, err := exec.Command("findmnt", "-n", "-o", "SOURCE", d.path).Output()
	if err == nil {
		device := filepath.Base(strings.TrimSpace(string(out)))
		err = os.WriteFile(filepath.Join("/sys/fs/ext4", device, "trigger_fs_error"), []byte("1"), 0)
	}
	if err != nil {
		d.t.Skipf("this test needs a disk that can be made to fail: %v", err)
	}
}

// repair mounts the ext4 again, as a person would after checking it.
func (d *disk) repair() {
	d.t.Helper()
	if err := d.unused(func() error { return unix.Unmount(d.path, 0) }); err != nil {
		d.t.Fatalf("unmount %s: %v", d.path, err)
	}
	// A command that any test confined meanwhile took a copy of the mounts along, and keeps the
	// failed disk until it ends.
	await(d.t, "the end of the last copy of the mount "+d.path, func() bool { return !mountedAnywhere(d.path) })
	// A copy below another root cannot be seen by its path: as long as there is one, what is
	// mounted is still the failed disk.
	await(d.t, "a mount of the repaired disk at "+d.path, func() bool {
		if out, err := exec.Command("e2fsck", "-fy", d.image).CombinedOutput(); err != nil {
			d.t.Logf("e2fsck: %v\n%s", err, out) // it reports when it has fixed something
		}
		d.mount()
		if d.keeps() {
			return true
		}
		if err := d.unused(func() error { return unix.Unmount(d.path, 0) }); err != nil {
			d.t.Fatalf("unmount %s: %v", d.path, err)
		}
		return false
	})
}

// keeps says whether the disk takes a file and confirms it.
func (d *disk) keeps() bool {
	probe, err := os.Create(filepath.Join(d.path, "probe"))
	if err != nil {
		return false
	}
	return errors.Join(probe.Sync(), probe.Close(), os.Remove(probe.Name())) == nil
}

// mountedAnywhere says whether some process still sees something mounted at path.
func mountedAnywhere(path string) bool {
	tables, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	if err != nil {
		return false // the pattern is a constant
	}
	for _, table := range tables {
		if text, err := os.ReadFile(table); err == nil && strings.Contains(string(text), " "+path+" ") { // else the process has ended
			return true
		}
	}
	return false
}

// unused does it once nobody uses the disk any more: a runner ends a moment after its call.
func (d *disk) unused(do func() error) (err error) {
	d.t.Helper()
	await(d.t, "the end of who uses "+d.path, func() bool {
		err = do()
		return !errors.Is(err, unix.EBUSY)
	})
	return err
}

func (d *disk) filler() string { return filepath.Join(d.path, "filler") }

// fill takes the last byte of the disk.
func (d *disk) fill() {
	d.t.Helper()
	f, err := os.OpenFile(d.filler(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 4 << 10} {
		b := bytes.Repeat([]byte{1}, size)
		for {
			if _, err = f.Write(b); err != nil {
				break
			}
		}
		if !errors.Is(err, syscall.ENOSPC) {
			d.t.Fatalf("fill %s: %v", d.path, err)
		}
	}
}

// room takes away what fill wrote.
func (d *disk) room() {
	d.t.Helper()
	if err := os.Remove(d.filler()); err != nil {
		d.t.Fatal(err)
	}
}

// files lets so many more be made on a tmpfs.
func (d *disk) files(more uint64) {
	d.t.Helper()
	var st unix.Statfs_t
	err := unix.Statfs(d.path, &st)
	if err == nil {
		err = unix.Mount("none", d.path, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("%s,nr_inodes=%d", d.options(), st.Files-st.Ffree+more))
	}
	if err != nil {
		d.t.Fatalf("leave %d inodes on %s: %v", more, d.path, err)
	}
}

// remount makes the disk read-only, or writable again.
func (d *disk) remount(readOnly bool) {
	d.t.Helper()
	flags := uintptr(unix.MS_REMOUNT)
	if readOnly {
		flags |= unix.MS_RDONLY
	}
	if err := d.unused(func() error { return unix.Mount("none", d.path, "tmpfs", flags, d.options()) }); err != nil {
		d.t.Fatalf("remount %s: %v", d.path, err)
	}
}

// await asks until the answer is yes; it fails the test when patience ends.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-limit.C:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// child is one command of a world that can be stopped on its way.
type child struct {
	w   *world
	cmd *exec.Cmd
	out bytes.Buffer
}

// launch starts a command and does not wait for it.
func (w *world) launch(arm string, args ...string) *child {
	w.t.Helper()
	p := &child{w: w, cmd: exec.Command(filepath.Join(binDir(), "agent"), args...)}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = w.dir, &p.out, &p.out
	p.cmd.Env = append(os.Environ(), "HOME="+w.home, "AGENT_HOME="+filepath.Join(w.home, "state"), "AGENT_FAULT="+arm, "AGENT_FAULT_UNSAFE=1")
	fmt.Fprintf(&w.log, "$ %s agent %s\n", arm, strings.Join(args, " "))
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// stopped waits until the process stands at its fault point; false says that it ended without
// coming by.
func (p *child) stopped() bool {
	p.w.t.Helper()
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			return info.Code == 5 // CLD_STOPPED
		}
		if !errors.Is(err, unix.EINTR) {
			p.w.t.Fatal(err)
		}
	}
}

// goOn lets a stopped process continue.
func (p *child) goOn() {
	p.w.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		p.w.t.Fatal(err)
	}
}

// end waits for the process and returns its exit code and all that it said.
func (p *child) end() (int, string) {
	p.w.t.Helper()
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.w.t.Fatal(err)
	}
	code := p.cmd.ProcessState.ExitCode()
	fmt.Fprintf(&p.w.log, "%s(exit %d)\n", p.said(), code)
	return code, p.said()
}

// said is what the process has shown, but for what its commands printed.
func (p *child) said() string {
	var b strings.Builder
	for line := range strings.Lines(p.out.String()) {
		if !strings.Contains(line, "│") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// say runs one command and returns its exit code and all that it said.
func (w *world) say(args ...string) (int, string) {
	w.t.Helper()
	return w.launch("", args...).end()
}

// newDiskWorld is a world whose state lies on a disk of its own, with one run behind it.
func newDiskWorld(t *testing.T, mount func(*testing.T, string, int) *disk, mib int) (*world, *disk) {
	t.Helper()
	w := newWorld(t)
	d := mount(t, w.home, mib)
	w.write("first.md", "- list_dir .\n")
	w.write("blocks.md", "```sh\necho one >> effects\n"+
		// A result that needs more than what is left over in the pages of a full disk.
		"head -c 150000 /dev/urandom | base64\n```\n\n```sh\necho two >> effects\n```\n")
	if code, out := w.say("run", "--runbook", "-f", "first.md"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	return w, d
}

func (w *world) state(name string) string { return filepath.Join(w.home, "state", name) }

func (w *world) read(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	return string(b)
}

// expect fails unless the exit code and all of the words are there.
func (w *world) expect(code, want int, out string, words ...string) {
	w.t.Helper()
	if code != want {
		w.t.Fatalf("exit code %d, want %d\n%s", code, want, w.log.String())
	}
	for _, word := range words {
		if !strings.Contains(out, word) {
			w.t.Fatalf("%q is not said in\n%s\n\n%s", word, out, w.log.String())
		}
	}
}

// runner waits until the one runner of the world stands still, and returns its number.
func (w *world) runner() int {
	w.t.Helper()
	pid := 0
	await(w.t, "a runner that stands still", func() bool {
		pids := processes(w.home, "__runner")
		if len(pids) != 1 {
			return false
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pids[0]))
		_, rest, ok := strings.Cut(string(b), ") ")
		pid = pids[0]
		return err == nil && ok && strings.HasPrefix(rest, "T")
	})
	return pid
}

func (w *world) wake(pid int) {
	w.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		w.t.Fatal(err)
	}
}

// A disk that is full exactly at a commit, with the ballast and without: the run can be resumed,
// nothing happens twice, nothing that was said to be done is lost. // issue, behaviour 9
func TestDiskFullAtEveryCommit(t *testing.T) {
	for _, c := range []struct {
		name  string
		mount func(*testing.T, string, int) *disk
		mib   int
		step  int // of the commits: ext4 takes its time
	}{{"ballast", mountDisk, 48, 1}, {"no ballast", mountDisk, 24, 1}, {"ext4 with ballast", mountExt4, 64, 3}, {"ext4 without ballast", mountExt4, 24, 3}} {
		t.Run(c.name, func(t *testing.T) {
			if !whole() {
				c.step = 7
			}
			if c.name != "ballast" {
				onlyWhole(t)
			}
			t.Parallel()
			for n := 1; ; n += c.step {
				w, d := newDiskWorld(t, c.mount, c.mib)
				p := w.launch(fmt.Sprintf("db.before_commit:%d:stop", n), "run", "--runbook", "-f", "book.md")
				if !p.stopped() {
					if code, _ := p.end(); code != 3 || n < 5 {
						t.Fatalf("commit %d never came\n%s", n, w.log.String())
					}
					return
				}
				d.fill()
				p.goOn()
				code, out := p.end()
				if code != 4 && code != 3 || code == 4 && !strings.Contains(out, "make room") {
					t.Fatalf("commit %d: exit code %d\n%s", n, code, w.log.String())
				}
				// Whatever is tried while there is no room starts nothing and spoils nothing.
				d.fill()
				before := w.read("effects") + w.read("out.txt")
				for _, args := range [][]string{{"ls"}, {"show", "last"}, {"pending"}} {
					code, out := w.say(args...)
					w.expect(code, 0, out, "nothing can be written; make room there")
				}
				for _, args := range [][]string{{"doctor"}, {"resume", "last"}, {"run", "--runbook", "-f", "blocks.md"}, {"cancel", "last"}} {
					code, out := w.say(args...)
					w.expect(code, 1, out, w.state(""))
				}
				if now := w.read("effects") + w.read("out.txt"); now != before {
					t.Errorf("%q became %q on a full disk\n%s", before, now, w.log.String())
				}
				d.room()
				w.afterRoom(code)
			}
		})
	}
}

// afterRoom is what a person does once there is room again: start the run where none was recorded,
// else go on with it.
func (w *world) afterRoom(code int) {
	w.t.Helper()
	_, out := w.say("ls", "--all")
	if !strings.Contains(out, "A story") {
		code, _ = w.say("run", "--runbook", "-f", "book.md")
	}
	w.finish(code)
	w.check(false)
}

// With the ballast the result of the call that runs is kept, the host says so, and nothing new is
// started.
func TestDiskBallastKeepsTheResult(t *testing.T) {
	w, d := newDiskWorld(t, mountDisk, 48)
	p := w.launch("db.before_commit:3:stop", "run", "--runbook", "-f", "blocks.md")
	if !p.stopped() {
		t.Fatal("there was no third commit")
	}
	d.fill()
	p.goOn()
	code, out := p.end()
	w.expect(code, 4, out, "is interrupted (store: the disk is full", w.state(""), "make room", "agent resume r-")
	if got := w.read("effects"); got != "one\n" {
		t.Errorf("effects: %q\n%s", got, w.log.String())
	}
	if _, err := os.Stat(w.state("ballast")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the ballast is still there: %v", err)
	}
	code, out = w.say("ls")
	w.expect(code, 0, out, "interrupted (store)")
	code, out = w.say("show", "last")
	w.expect(code, 0, out, "the disk is full", "ok")
	code, out = w.say("doctor")
	w.expect(code, 1, out, "too little", "there is no ballast")
	d.room()
	code, out = w.say("resume", "last")
	w.expect(code, 0, out, "1 finished call")
	if got := w.read("effects"); got != "one\ntwo\n" {
		t.Errorf("effects: %q\n%s", got, w.log.String())
	}
	if _, err := os.Stat(w.state("ballast")); err != nil {
		t.Errorf("the ballast was not made again: %v", err)
	}
}

// A start that only the ballast made room for is recorded and not carried out, which is the order
// of effects: record, then act, and nothing new on a full disk. The next owner sees that it never
// began.
func TestDiskBallastStartsNothing(t *testing.T) {
	for name, step := range map[string]string{
		"a command": "```sh\ncat <<'end' > out.txt\n%s\nend\n```\n",
		"a write":   "- write_file out.txt\n\n```\n%s\n```\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, d := newDiskWorld(t, mountDisk, 48)
			text := base64.StdEncoding.EncodeToString(garbage(90_000))
			w.write("start.md", fmt.Sprintf(step, text))
			p := w.launch("db.before_commit:2:stop", "run", "--runbook", "-f", "start.md")
			if !p.stopped() {
				t.Fatal("there was no second commit")
			}
			d.fill()
			p.goOn()
			code, out := p.end()
			w.expect(code, 4, out, "is interrupted (store: the disk is full")
			if strings.Contains(out, "goes on without") {
				t.Errorf("a call that never began goes on, it is said\n%s", out)
			}
			if got := w.read("out.txt"); got != "" {
				t.Errorf("out.txt has %d bytes", len(got))
			}
			code, out = w.say("ls")
			w.expect(code, 0, out, "started")
			d.room()
			code, out = w.say("resume", "last")
			w.expect(code, 0, out, "attempt 2", "completed")
			if got := w.read("out.txt"); got != text+"\n" {
				t.Errorf("out.txt has %d bytes, want %d", len(got), len(text)+1)
			}
		})
	}
}

// A disk that is full at the runner's records: what could not be begun never ran, and what ended
// keeps its end.
func TestDiskFullAtTheRunner(t *testing.T) {
	for _, c := range []struct {
		point string
		mib   int
		ran   bool
	}{
		{"runner.before_began", 48, false}, {"runner.before_began", 24, false},
		{"runner.after_began", 48, true}, {"runner.after_began", 24, true},
		{"runner.after_command", 48, true}, {"runner.after_command", 24, true},
	} {
		t.Run(fmt.Sprintf("%s %d", c.point, c.mib), func(t *testing.T) {
			if c.mib != 48 {
				onlyWhole(t)
			}
			t.Parallel()
			w, d := newDiskWorld(t, mountDisk, c.mib)
			p := w.launch(c.point+":1:stop", "run", "--runbook", "-f", "blocks.md")
			pid := w.runner()
			d.fill()
			w.wake(pid)
			code, out := p.end()
			w.expect(code, 4, out, "interrupted (store", "make room")
			want := ""
			if c.ran {
				want = "one\n"
			}
			if got := w.read("effects"); got != want {
				t.Errorf("effects: %q, want %q\n%s", got, want, w.log.String())
			}
			d.room()
			code, out = w.say("resume", "last")
			w.expect(code, 0, out, "completed")
			if !c.ran {
				w.expect(code, 0, out, "make the start durable", "no space left")
			}
			if got := w.read("effects"); got != "one\ntwo\n" {
				t.Errorf("effects: %q\n%s", got, w.log.String())
			}
		})
	}
}

// A disk that has room and no inode left when a runner is to begin: the command never ran, which is
// no result of its call, and what is recorded can be read meanwhile.
func TestDiskWithoutInodesAtTheRunner(t *testing.T) {
	w, d := newDiskWorld(t, mountDisk, 48)
	p := w.launch("runner.before_began:1:stop", "run", "--runbook", "-f", "blocks.md")
	pid := w.runner()
	d.files(0)
	w.wake(pid)
	code, out := p.end()
	w.expect(code, 4, out, "interrupted (store", "make room", "no space left")
	if strings.Contains(out, "no such file") {
		t.Errorf("it is said that what was not made is not there\n%s", out)
	}
	d.files(0) // those too that the host has given back
	for _, args := range [][]string{{"ls"}, {"show", "last"}, {"pending"}} {
		code, out := w.say(args...)
		w.expect(code, 0, out, "no inode is left on the disk of "+w.state(""), "nothing can be written; make room there")
	}
	code, out = w.say("doctor")
	w.expect(code, 1, out, "no inode is left")
	code, out = w.say("resume", "last")
	w.expect(code, 1, out, "no inode is left")
	d.files(1000)
	code, out = w.say("resume", "last")
	w.expect(code, 0, out, "completed")
	if got := w.read("effects"); got != "one\ntwo\n" {
		t.Errorf("effects: %q\n%s", got, w.log.String())
	}
}

// A disk that becomes full when a command that only shows something is about to mark a run that
// lost its owner: the mark is said and not recorded.
func TestDiskFullAtTheMark(t *testing.T) {
	w, d := newDiskWorld(t, mountDisk, 24)
	w.write("ask.md", "- list_dir .\n")
	if w.agent("call.after_started:1", "run", "--runbook", "-f", "ask.md") != -9 {
		t.Fatal("it was not killed")
	}
	for _, args := range [][]string{{"ls"}, {"show", "last"}, {"pending"}} {
		cutLog(t, w.state("agent.db")) // in a log that a killed process leaves there is room for a mark
		p := w.launch("look.before_mark:1:stop", args...)
		if !p.stopped() {
			t.Fatal("nothing was to be marked")
		}
		d.fill()
		p.goOn()
		code, out := p.end()
		w.expect(code, 0, out, "was interrupted (crash", "cannot be written, so this is not recorded")
		d.room()
	}
}

// A commit that the disk refuses stops the host, which says so; what was recorded before is the
// truth that the next start tells, and nothing happens twice.
func TestDiskFailsAtACommit(t *testing.T) {
	for n := 1; n <= 9; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if n != 1 && n != 4 {
				onlyWhole(t)
			}
			t.Parallel()
			w, d := newDiskWorld(t, mountExt4, 64)
			p := w.launch(fmt.Sprintf("db.before_commit:%d:stop", n), "run", "--runbook", "-f", "book.md")
			if !p.stopped() {
				t.Fatalf("commit %d never came", n)
			}
			d.breakDown()
			p.goOn()
			code, out := p.end()
			w.expect(code, 4, out, "commit: the disk fails ("+w.state("agent.db")+")", "see to the disk")
			code, out = w.say("ls")
			if n > 1 { // the first one would have made the run
				w.expect(code, 0, out, "interrupted (crash)", "cannot be written, so this is not recorded")
			}
			before := w.read("effects") + w.read("out.txt")
			for _, args := range [][]string{{"resume", "last"}, {"run", "--runbook", "-f", "blocks.md"}} {
				code, out = w.say(args...)
				w.expect(code, 1, out, "make it writable", w.state(""))
			}
			if now := w.read("effects") + w.read("out.txt"); now != before {
				t.Errorf("%q became %q without a record\n%s", before, now, w.log.String())
			}
			d.repair()
			w.afterRoom(4)
		})
	}
}

// A disk that is full where the run works, and not where it is recorded: the write fails, nothing
// half is left, and it is reported as not having happened.
func TestDiskFullInTheWorkspace(t *testing.T) {
	w := newWorld(t)
	d := mountDisk(t, w.dir, 1)
	w.write("out.txt", "old\n")
	w.write("book.md", "- write_file out.txt\n\n```\n"+strings.Repeat("new\n", 4096)+"```\n")
	d.fill()
	code, out := w.say("run", "--runbook", "-f", "book.md")
	w.expect(code, 1, out, "no space left on device", "out.txt", "agent run --thread t-")
	if got := w.read("out.txt"); got != "old\n" {
		t.Errorf("out.txt holds %q", got)
	}
	code, out = w.say("show", "last", "--json")
	w.expect(code, 0, out, `"applied":"no"`)
	names, err := os.ReadDir(w.dir)
	if err != nil || len(names) != 3 {
		t.Errorf("left in the workspace: %v %v", names, err)
	}
	d.room()
	code, out = w.say("run", "-c", "continue")
	w.expect(code, 0, out, "completed")
	if got := w.read("out.txt"); !strings.HasPrefix(got, "new\n") {
		t.Errorf("out.txt holds %q", got)
	}
}

// sums is every file of the state folder with its hash, the locks apart.
func (w *world) sums() string {
	w.t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(w.state(""), func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || filepath.Base(filepath.Dir(path)) == "locks" {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %x\n", path, sha256.Sum256(data))
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.String()
}

// A state folder that cannot be written can be read, and what would have been marked is only said.
// Nothing runs.
func TestDiskReadOnlyState(t *testing.T) {
	w, d := newDiskWorld(t, mountDisk, 64)
	w.write("ask.md", "- confirm_action \"Go on?\"\n")
	if code, out := w.say("run", "--runbook", "-f", "ask.md"); code != 3 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if w.agent("call.after_effect:4", "run", "--runbook", "-f", "book.md") != -9 {
		t.Fatal("it was not killed")
	}
	before := w.read("effects") + w.read("out.txt")
	await(t, "the end of the runner", func() bool { return len(processes(w.home, "__runner")) == 0 })
	d.remount(true)
	sums := w.sums()
	for _, args := range [][]string{
		{"ls"}, {"show", "last"}, {"show", "--calls", "last"}, {"pending"}, {"checkpoints", "last"}, {"resume", "--dry-run", "last"},
		{"resume", "--dry-run", "--all"},
	} {
		code, out := w.say(args...)
		w.expect(code, 0, out, "was interrupted (crash", w.state("")+" cannot be written, so this is not recorded")
	}
	code, out := w.say("doctor")
	w.expect(code, 0, out, "cannot be written", "make it writable")
	for _, args := range [][]string{
		{"run", "--runbook", "-f", "blocks.md"}, {"resume", "last"}, {"resume", "--all"}, {"answer", "last", "yes"}, {"cancel", "last"},
	} {
		code, out := w.say(args...)
		w.expect(code, 1, out, "make it writable, or choose another state folder with AGENT_HOME", w.state(""))
	}
	if now := w.sums(); now != sums {
		t.Errorf("the files changed:\n%s\n%s", sums, now)
	}
	if now := w.read("effects") + w.read("out.txt"); now != before {
		t.Errorf("%q became %q", before, now)
	}
	d.remount(false)
	w.finish(w.agent("", "resume", "last"))
	w.check(false)
}

// Where there is no state yet and none can be made, a run is refused with what fixes that.
func TestDiskReadOnlyWithoutState(t *testing.T) {
	w := newWorld(t)
	d := mountDisk(t, w.home, 8)
	w.write("first.md", "- list_dir .\n")
	d.remount(true)
	code, out := w.say("run", "--runbook", "-f", "first.md")
	w.expect(code, 1, out, "read-only file system", "make it writable, or choose another state folder with AGENT_HOME", w.state(""))
}

// garbage is bytes that no format begins with, the same in every run.
func garbage(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{9}).Read(b) // never fails
	return b
}

func patch(t *testing.T, path string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(b, at)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What is no database of ours, of a newer agent, damaged, or not safe is refused by every command,
// with the file and the remedy named, and left as it is.
func TestStateThatIsRefused(t *testing.T) {
	database := func(change func(t *testing.T, path string)) func(*testing.T, *world) {
		return func(t *testing.T, w *world) { change(t, w.state("agent.db")) }
	}
	replace := func(with string) func(*testing.T, *world) {
		return database(func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(with), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	write := func(at int64, b []byte) func(*testing.T, *world) {
		return database(func(t *testing.T, path string) { patch(t, path, at, b) })
	}
	try := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	const notOurs, salvage = "the file was left as it is", "agent doctor --salvage"
	for name, c := range map[string]struct {
		harm func(t *testing.T, w *world)
		say  []string
	}{
		"an empty file":       {replace(""), []string{"agent.db: it is not a database", notOurs}},
		"a text":              {replace(strings.Repeat("Dear diary\n", 500)), []string{"agent.db: it is not a database", notOurs}},
		"of another program":  {write(68, []byte{0, 0, 0, 7}), []string{"a database of another program", notOurs}},
		"of a newer agent":    {write(60, []byte{0, 0, 0, 99}), []string{"written by a newer agent (format 99", notOurs}},
		"a header of garbage": {write(0, garbage(100)), []string{"agent.db: it is not a database", notOurs}},
		"pages of garbage":    {write(8192, garbage(16*4096)), []string{"agent.db: the database file is damaged", salvage}},
		"a page too few":      {write(28, []byte{255, 255, 255}), []string{"agent.db: the database file is damaged", salvage}},
		"a folder in its place": {database(func(t *testing.T, path string) { try(errors.Join(os.Remove(path), os.Mkdir(path, 0o700))) }),
			[]string{"not a regular file", notOurs}},
		"cut to a half": {database(func(t *testing.T, path string) {
			info, err := os.Stat(path)
			try(err)
			try(os.Truncate(path, info.Size()/2))
		}), []string{"agent.db: the database file is damaged", salvage}},
		"no key":         {func(t *testing.T, w *world) { try(os.Remove(w.state("key"))) }, []string{"state/key: the key that belongs to the database is missing", "restore a backup of the whole folder"}},
		"half a key":     {func(t *testing.T, w *world) { try(os.Truncate(w.state("key"), 16)) }, []string{"state/key: the key has 16 bytes and not 32", "restore a backup of the whole folder"}},
		"an open folder": {func(t *testing.T, w *world) { try(os.Chmod(w.state(""), 0o777)) }, []string{"others may write in it", "chmod 700"}},
		"somebody else's": {func(t *testing.T, w *world) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			try(os.Chown(w.state(""), 4711, -1))
		}, []string{"belongs to user 4711", "AGENT_HOME"}},
	} {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains([]string{"a text", "pages of garbage", "no key", "somebody else's"}, name) || raceEnabled {
				onlyWhole(t)
			}
			t.Parallel()
			w := newWorld(t)
			w.write("blocks.md", "```sh\necho one >> effects\n```\n\n- confirm_action \"Go on?\"\n")
			if code, out := w.say("run", "--runbook", "-f", "blocks.md"); code != 3 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			if err := os.RemoveAll(w.state("locks")); err != nil {
				t.Fatal(err)
			}
			c.harm(t, w)
			before := w.sums()
			for _, args := range [][]string{
				{"run", "--runbook", "-f", "blocks.md"}, {"ls"}, {"show", "last"}, {"pending"}, {"resume", "last"}, {"resume", "--dry-run", "last"},
				{"answer", "last", "yes"}, {"cancel", "last"}, {"checkpoints", "last"}, {"doctor"}, {"doctor", "--fix"},
			} {
				code, out := w.say(args...)
				w.expect(code, 1, out, append(c.say, w.state(""))...)
			}
			if after := w.sums(); after != before {
				t.Errorf("the files changed:\n%s\n%s", before, after)
			}
			if _, err := os.Stat(w.state("locks")); err == nil && slices.Contains(c.say, notOurs) {
				t.Errorf("a folder of ours was made beside what is not ours")
			}
			if got := w.read("effects"); got != "one\n" {
				t.Errorf("effects: %q", got)
			}
		})
	}
}

// unflip puts back the first byte of a text that was flipped, wherever it lies now: its page may
// have been written again.
func unflip(t *testing.T, path string, text []byte) {
	t.Helper()
	now, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte{text[0] ^ 4}, text[1:]...)
	if !bytes.Contains(now, flipped) {
		t.Fatalf("%s does not hold what was changed in it", path)
	}
	for at := bytes.Index(now, flipped); at >= 0; at = bytes.Index(now, flipped) { // room that is not used any more may hold it too
		patch(t, path, int64(at), text[:1])
		now[at] = text[0]
	}
}

// A flipped bit in a stored body, wherever it lies: nothing of that run runs, the first fact that
// differs is named, and all other runs work. Once the body is as it was the run goes on.
func TestFlippedBit(t *testing.T) {
	notRaced(t)
	filler := base64.StdEncoding.EncodeToString(garbage(300_000))
	for name, c := range map[string]struct {
		size int                                          // of the text in the runbook
		find func(t *testing.T, w *world) (string, int64) // file and place
	}{
		"in the journal": {0, func(t *testing.T, w *world) (string, int64) {
			b, err := os.ReadFile(w.state("agent.db"))
			at := bytes.LastIndex(b, []byte("MARKEDWORD"))
			if err != nil || at < 0 {
				t.Fatalf("it is not there: %v", err)
			}
			return w.state("agent.db"), int64(at)
		}},
		"in a body beside it": {100_000, func(t *testing.T, w *world) (string, int64) {
			info, err := os.Stat(w.state("agent.db"))
			if err != nil {
				t.Fatal(err)
			}
			return w.state("agent.db"), info.Size() - 10*4096 + 99 // the last pages hold nothing else
		}},
		"in a body's file": {400_000, func(t *testing.T, w *world) (string, int64) {
			names, err := filepath.Glob(w.state("blobs/*/*"))
			if err != nil || len(names) != 1 {
				t.Fatalf("%v %v", names, err)
			}
			return names[0], 4711
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write("first.md", "- list_dir .\n")
			w.write("ask.md", "MARKEDWORD "+filler[:c.size]+"\n\n- confirm_action \"Go on?\"\n\n```sh\necho one >> effects\n```\n")
			if code, out := w.say("run", "--runbook", "-f", "ask.md"); code != 3 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			_, out := w.say("pending")
			id := out[:strings.IndexByte(out, ' ')]
			path, at := c.find(t, w)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			patch(t, path, at, []byte{b[at] ^ 4})
			code, out := w.say("answer", id, "yes")
			w.expect(code, 1, out, "the answer to "+id+" is kept", ", fact 1: ", "agent doctor --salvage")
			for range 2 {
				code, out = w.say("resume", "last")
				w.expect(code, 1, out, ", fact 1: ", "match", "agent doctor --salvage")
			}
			code, out = w.say("ls")
			w.expect(code, 0, out, "interrupted (corrupt)")
			code, out = w.say("show", "last")
			w.expect(code, 1, out, ", fact 1: ", "interrupted (corrupt)")
			code, out = w.say("doctor")
			w.expect(code, 1, out, ", fact 1: ")
			code, out = w.say("run", "--runbook", "-f", "first.md")
			w.expect(code, 0, out, "completed")
			if got := w.read("effects"); got != "" {
				t.Errorf("effects: %q\n%s", got, w.log.String())
			}
			unflip(t, path, b[at:at+10])
			code, out = w.say("resume", "--all")
			w.expect(code, 0, out, "completed")
			if got := w.read("effects"); got != "one\n" {
				t.Errorf("effects: %q\n%s", got, w.log.String())
			}
		})
	}
}
