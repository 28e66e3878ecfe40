//go:build !portable

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"agent/tools/sigaction"
)

// codeRefused is the exit status of a start that was refused.
const codeRefused = 125

// Main is the confining process: args are what follows the hidden command. It returns the exit
// code.
func Main(args []string) int { return mainOn(onFirstThread, args) }

// MainInInit is Main for an init function. Go runs these on the first thread and keeps them there,
// which saves to lock it: for that Go starts one more thread.
func MainInInit(args []string) int {
	return mainOn(func(f func() int) int { return f() }, args)
}

func mainOn(thread func(func() int) int, args []string) int {
	if len(args) != 1 || os.Getenv(inside) == "" {
		fmt.Fprintln(os.Stderr, "agent: this command is started by the host alone")
		return 2
	}
	fd, err := strconv.Atoi(args[0])
	if err != nil || fd < 3 {
		fmt.Fprintln(os.Stderr, "agent: this command is started by the host alone")
		return 2
	}
	return thread(func() int { return confine(fd) })
}

// onFirstThread runs f on the process's first thread, which is the one that the death signal was
// set for, and keeps it there.
func onFirstThread(f func() int) int {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		return f()
	}
	runtime.UnlockOSThread()
	code := make(chan int, 1)
	var seek func()
	seek = func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			// Holding this thread leads the next goroutine to another one.
			go seek()
			select {}
		}
		code <- f()
		select {}
	}
	go seek()
	return <-code
}

// keeper is the confining process at work.
type keeper struct {
	order
	report *os.File // nil: trouble goes to stderr
}

func confine(fd int) int {
	k := &keeper{}
	if err := k.read(fd); err != nil {
		fmt.Fprintf(os.Stderr, "agent: read the sandbox's order: %v\n", err)
		return codeRefused
	}
	if k.Report > 0 {
		k.report = os.NewFile(uintptr(k.Report), "report")
	}
	// What runs inside must reach neither this process's memory nor its files.
	err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	if err == nil && k.Profile.names() {
		err = k.layOut()
	}
	if err == nil {
		err = k.restrict()
	}
	if err != nil {
		return k.refuse(fmt.Errorf("set up the sandbox for access %s: %w", k.Profile.Access, err))
	}
	if k.Path == "" {
		return 0
	}
	if k.Gate > 0 && !k.mayStart() {
		return codeRefused // whoever started this gave it up
	}
	if !k.Profile.names() {
		return k.become()
	}
	return k.run()
}

func (k *keeper) read(fd int) error {
	f := os.NewFile(uintptr(fd), "order")
	if f == nil {
		return errors.New("there is none")
	}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
	if err == nil {
		err = json.Unmarshal(b, &k.order)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	// The command gets its own files by name, and nothing that reached this process by accident.
	return unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}

// mayStart waits until the command may start.
func (k *keeper) mayStart() bool {
	var b [1]byte
	for {
		n, err := unix.Read(k.Gate, b[:])
		if !errors.Is(err, unix.EINTR) {
			return n == 1
		}
	}
}

// say reports one line.
func (k *keeper) say(format string, args ...any) {
	if k.report != nil {
		fmt.Fprintf(k.report, format+"\n", args...) // whoever started this is gone if it cannot be said
	}
}

func (k *keeper) refuse(why error) int {
	if k.report == nil {
		fmt.Fprintf(os.Stderr, "agent: %v\n", why)
	}
	k.say("refused %s", strconv.Quote(why.Error()))
	return codeRefused
}

// become runs the command in this very process, where no namespace wants a first process.
func (k *keeper) become() int {
	k.say("direct")
	if k.Dir != "" {
		if err := os.Chdir(k.Dir); err != nil {
			return k.refuse(err)
		}
	}
	// The command's own files, the last thing that could go wrong being the exec itself.
	for i := range k.Files {
		if _, err := unix.FcntlInt(uintptr(3+i), unix.F_SETFD, 0); err != nil {
			return k.refuse(err)
		}
	}
	err := syscall.Exec(k.Path, ToStrings(k.Args), ToStrings(k.Env))
	return k.refuse(fmt.Errorf("start %s: %w", k.Path, err))
}

// run starts the command, waits for its end, and reaps whatever falls to the first process
// meanwhile.
func (k *keeper) run() int {
	// What is sent to the group is meant for the command. The kernel drops a signal to the first
	// process of a pid namespace for which that has no handler, but for SIGKILL and SIGSTOP from
	// outside (pid_namespaces(7)). So Go's handlers go where Go would end the process, also those
	// of faults, which anybody may send and which end it without a trace from here on; its others
	// do nothing.
	if err := sigaction.Default(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGABRT, unix.SIGTERM,
		unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS); err != nil {
		return k.refuse(err)
	}
	go k.endWithHost()
	files := []uintptr{0, 1, 2}
	for i := range k.Files {
		files = append(files, uintptr(3+i))
	}
	// Whoever started this must not take its end from here on for proof that nothing ran.
	k.say("starting")
	pid, err := syscall.ForkExec(k.Path, ToStrings(k.Args), &syscall.ProcAttr{
		Dir: k.Dir, Env: ToStrings(k.Env), Files: files, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return k.refuse(fmt.Errorf("start %s in %s: %w", k.Path, k.Dir, err))
	}
	k.letGo()
	k.say("started")
	status := bury(pid)
	if k.Profile.Access == Full {
		// What the command left behind is meant to stay, as it would anywhere; only a host that
		// wraps without a report ends it.
		if k.report != nil {
			_ = unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) // with no argument that could be wrong
		}
		k.say("ended %d", uint32(status))
		if k.report != nil {
			_ = k.report.Close() // what it reports was written
			bury(-1)
		}
	} else {
		k.say("ended %d", uint32(status))
	}
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// letGo closes what belongs to the command alone: a reader of its output waits until nobody holds
// it.
func (k *keeper) letGo() {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	for fd := range 3 + k.Files {
		if fd > 2 || err != nil || unix.Dup3(null, fd, 0) != nil {
			_ = unix.Close(fd) // the command has its own
		}
	}
}

// endWithHost ends this process, and so everything in its pid namespace, when the process that
// started it is gone. The death signal does that too, where one was asked for; it depends on a
// thread, and this does not.
func (k *keeper) endWithHost() {
	if k.report != nil && k.Profile.Access == Full {
		return // a host's runner sets the death signal, and lets go of what a full command leaves behind
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(k.Host), Events: unix.POLLIN}}, -1)
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			os.Exit(codeRefused)
		}
	}
}

// bury waits for children until pid has ended, or with -1 until there are none, and returns how pid
// ended.
func bury(pid int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		if err == nil && got == pid {
			return status
		}
		if errors.Is(err, syscall.ECHILD) {
			return status
		}
	}
}
