//go:build !portable

package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// olderCalls are forms of the calls in refused that younger architectures never had.
func olderCalls() []uint32 {
	return []uint32{
		unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
	}
}
