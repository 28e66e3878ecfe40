//go:build !portable

package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// olderCalls are forms of the calls in refused that this architecture never had.
func olderCalls() []uint32 { return nil }
