//go:build linux

package main

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"golang.org/x/sys/unix"
)

// file is an open file.
type file struct {
	*fs.LoopbackFile
	node *node
}

// Write writes, and keeps the bytes.
func (f *file) Write(ctx context.Context, data []byte, off int64) (n uint32, errno syscall.Errno) {
	op := operation{Op: opWrite, Path: f.node.rel(""), Offset: off}
	write := func(part []byte) syscall.Errno {
		op.id = f.node.id()
		var e syscall.Errno
		n, e = f.LoopbackFile.Write(ctx, part, off)
		op.data = append([]byte(nil), part[:n]...) // the server uses its buffer again
		op.Size = int64(n)
		return e
	}
	errno = f.node.trace.carry(&op, func() syscall.Errno { return write(data) }, func(*operation) {
		_ = write(data[:len(data)/2]) // it is to fail, and does
	})
	return n, errno
}

// Allocate makes a file longer. What does not change its size is recorded nowhere: it is no
// content.
func (f *file) Allocate(ctx context.Context, off, size uint64, mode uint32) syscall.Errno {
	if mode&unix.FALLOC_FL_KEEP_SIZE != 0 && mode&^unix.FALLOC_FL_KEEP_SIZE == 0 {
		return f.LoopbackFile.Allocate(ctx, off, size, mode)
	}
	if mode != 0 {
		return syscall.EOPNOTSUPP
	}
	op := operation{Op: opExtend, Path: f.node.rel(""), Size: int64(off + size)}
	return f.node.trace.carry(&op, func() syscall.Errno {
		op.id = f.node.id()
		return f.LoopbackFile.Allocate(ctx, off, size, 0)
	}, nil)
}
