//go:build !portable

package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data (linux/seccomp.h): the number, the architecture, then the
// arguments, 8 bytes each. Both architectures here store the low half of an argument first, and
// what is looked at is an int to the kernel.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16
)

// Answers of a filter.
const (
	answerAllow = unix.SECCOMP_RET_ALLOW
	answerDeny  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	answerNone  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// filter is a program for the kernel's classic packet filter.
type filter []unix.SockFilter

func (f *filter) load(offset uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (f *filter) answer(what uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what})
}

// when answers so if what was loaded equals value.
func (f *filter) when(value, what uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: 1})
	f.answer(what)
}

// only runs what body adds if what was loaded equals value. The body must end with an answer.
func (f *filter) only(value uint32, body func()) {
	at := len(*f)
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value})
	body()
	(*f)[at].Jf = uint8(len(*f) - at - 1)
}

func (f *filter) mask(bits uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: bits})
}

// program is the filter for p on an architecture with the given number (AUDIT_ARCH_...).
func (p Profile) program(arch uint32) filter {
	var f filter
	f.load(dataArch)
	f.only(arch, func() {
		f.load(dataNumber)
		// Numbers of the x32 ABI carry this bit, and would pass by the comparisons below.
		f = append(f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: 1 << 30, Jf: 1})
		f.answer(answerNone)
		for _, call := range missing() {
			f.when(call, answerNone)
		}
		for _, call := range p.refused() {
			f.when(call, answerDeny)
		}
		f.only(unix.SYS_SOCKET, func() { p.sockets(&f) })
		f.only(unix.SYS_SOCKETPAIR, func() {
			// A pair of datagram sockets can be sent from to any address, a pair of streams cannot.
			f.load(dataArgs + 8)
			f.mask(0xf)
			f.when(unix.SOCK_DGRAM, answerDeny)
			f.answer(answerAllow)
		})
		f.answer(answerAllow)
	})
	f.answer(answerNone)
	return f
}

// sockets answers socket(2). In a network namespace of its own a command may talk to itself;
// without one there is no network.
func (p Profile) sockets(f *filter) {
	f.load(dataArgs)
	if p.Support.Landlock >= abiSockets {
		f.when(unix.AF_UNIX, answerAllow) // Landlock decides which of them can be reached
	}
	if p.names() {
		f.when(unix.AF_INET, answerAllow)
		f.when(unix.AF_INET6, answerAllow)
		f.only(unix.AF_NETLINK, func() {
			f.load(dataArgs + 16)
			f.when(unix.NETLINK_ROUTE, answerAllow)
			f.answer(answerDeny)
		})
	}
	f.answer(answerDeny)
}

// missing are calls that look as if the kernel had none: programs then do without. io_uring does
// what no filter sees; keys are shared with everything that the person runs.
func missing() []uint32 {
	return []uint32{
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	}
}

// refused are calls that change what neither a read-only mount nor Landlock keeps.
func (p Profile) refused() []uint32 {
	if p.names() || p.Access != Read {
		return nil
	}
	return append([]uint32{
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
		unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
	}, olderCalls()...)
}

// seccomp installs the filter for this thread and all that it starts.
func (p Profile) seccomp() error {
	if auditArch == 0 {
		return fmt.Errorf("there is no filter for this processor")
	}
	f := p.program(auditArch)
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}
