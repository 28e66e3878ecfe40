//go:build linux

package main

import (
	"context"
	"path"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// node is a file or a folder that passes everything on and records what changes it.
type node struct {
	*fs.LoopbackNode
	trace *trace
}

// WrapChild makes a node of every file that is found or made.
func (n *node) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	return &node{LoopbackNode: ops.(*fs.LoopbackNode), trace: n.trace}
}

// rel is the path of a name in the folder, or of the node itself.
func (n *node) rel(name string) string { return path.Join(n.Path(n.Root()), name) }

// id needs the trace's lock.
func (n *node) id() uint64 {
	if n.IsRoot() {
		return rootID
	}
	return n.trace.idOf(n.StableAttr())
}

// Create makes a file.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (in *fs.Inode, fh fs.FileHandle, ff uint32, errno syscall.Errno) {
	op := operation{Op: opCreate, Path: n.rel(name), name: name}
	errno = n.trace.carry(&op, func() syscall.Errno {
		var e syscall.Errno
		// Exclusive: what is there already was looked up, and is opened instead.
		in, fh, ff, e = n.LoopbackNode.Create(ctx, name, flags|syscall.O_EXCL, mode, out)
		if e == 0 {
			op.dir, op.id, op.mode = n.id(), n.trace.fresh(in.StableAttr()), out.Mode
			fh = &file{LoopbackFile: fh.(*fs.LoopbackFile), node: in.Operations().(*node)}
		}
		return e
	}, nil)
	return in, fh, ff, errno
}

// made carries out what makes something else than a file that is opened.
func (n *node) made(op *operation, out *fuse.EntryOut, act func() (*fs.Inode, syscall.Errno)) (in *fs.Inode, errno syscall.Errno) {
	errno = n.trace.carry(op, func() syscall.Errno {
		var e syscall.Errno
		if in, e = act(); e == 0 {
			op.dir, op.mode = n.id(), out.Mode
			if op.Op == opLink {
				op.id = n.trace.idOf(in.StableAttr())
			} else {
				op.id = n.trace.fresh(in.StableAttr())
			}
		}
		return e
	}, nil)
	return in, errno
}

// Mkdir makes a folder.
func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	op := operation{Op: opMkdir, Path: n.rel(name), name: name}
	return n.made(&op, out, func() (*fs.Inode, syscall.Errno) { return n.LoopbackNode.Mkdir(ctx, name, mode, out) })
}

// Symlink makes a symbolic link.
func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	op := operation{Op: opSymlink, Path: n.rel(name), name: name, link: target}
	return n.made(&op, out, func() (*fs.Inode, syscall.Errno) { return n.LoopbackNode.Symlink(ctx, target, name, out) })
}

// Link gives a file a second name.
func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	from, ok := target.(*node)
	if !ok {
		return nil, syscall.EXDEV
	}
	op := operation{Op: opLink, Path: from.rel(""), To: n.rel(name), name: name}
	return n.made(&op, out, func() (*fs.Inode, syscall.Errno) { return n.LoopbackNode.Link(ctx, from.LoopbackNode, name, out) })
}

// Mknod makes files only: what else has a name is not part of what a power cut leaves.
func (n *node) Mknod(ctx context.Context, name string, mode, rdev uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if mode&syscall.S_IFMT != syscall.S_IFREG {
		return n.LoopbackNode.Mknod(ctx, name, mode, rdev, out)
	}
	op := operation{Op: opCreate, Path: n.rel(name), name: name}
	return n.made(&op, out, func() (*fs.Inode, syscall.Errno) { return n.LoopbackNode.Mknod(ctx, name, mode, rdev, out) })
}

// Tmpfile is refused as a file system does that has no files without a name: whoever wants one
// makes it with a name.
func (n *node) Tmpfile(context.Context, uint32, uint32, *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	return nil, nil, 0, syscall.EOPNOTSUPP
}

// Unlink removes a name.
func (n *node) Unlink(ctx context.Context, name string) syscall.Errno {
	op := operation{Op: opUnlink, Path: n.rel(name), name: name}
	return n.trace.carry(&op, func() syscall.Errno {
		op.dir = n.id()
		return n.LoopbackNode.Unlink(ctx, name)
	}, nil)
}

// Rmdir removes a folder.
func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	op := operation{Op: opRmdir, Path: n.rel(name), name: name}
	return n.trace.carry(&op, func() syscall.Errno {
		op.dir = n.id()
		return n.LoopbackNode.Rmdir(ctx, name)
	}, nil)
}

// Rename moves a name.
func (n *node) Rename(ctx context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	parent, ok := to.(*node)
	if !ok {
		return syscall.EXDEV
	}
	if flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
		return syscall.EINVAL
	}
	op := operation{Op: opRename, Path: n.rel(name), To: parent.rel(newName), name: name, toName: newName, swap: flags&unix.RENAME_EXCHANGE != 0}
	return n.trace.carry(&op, func() syscall.Errno {
		op.dir, op.toDir = n.id(), parent.id()
		return n.LoopbackNode.Rename(ctx, name, parent.LoopbackNode, newName, flags)
	}, nil)
}

// Open opens a file. Without more it changes nothing.
func (n *node) Open(ctx context.Context, flags uint32) (fh fs.FileHandle, ff uint32, errno syscall.Errno) {
	open := func() syscall.Errno {
		var e syscall.Errno
		if fh, ff, e = n.LoopbackNode.Open(ctx, flags); e == 0 {
			fh = &file{LoopbackFile: fh.(*fs.LoopbackFile), node: n}
		}
		return e
	}
	if flags&syscall.O_ACCMODE == syscall.O_RDONLY {
		return fh, ff, open()
	}
	op := operation{Op: opOpen, Path: n.rel("")}
	if flags&syscall.O_TRUNC != 0 {
		op.Op = opTruncate
	}
	errno = n.trace.carry(&op, func() syscall.Errno {
		op.id = n.id()
		return open()
	}, nil)
	return fh, ff, errno
}

// Setattr changes the size or the mode; owners and times are passed on and not recorded.
func (n *node) Setattr(ctx context.Context, fh fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	set := func() syscall.Errno { return n.LoopbackNode.Setattr(ctx, fh, in, out) }
	op := operation{Path: n.rel("")}
	if size, ok := in.GetSize(); ok {
		op.Op, op.Size = opTruncate, int64(size)
	} else if mode, ok := in.GetMode(); ok {
		op.Op, op.mode = opChmod, mode
	} else {
		return set()
	}
	return n.trace.carry(&op, func() syscall.Errno {
		op.id = n.id()
		return set()
	}, nil)
}

// CopyFileRange is refused: the kernel reads and writes instead, which is recorded.
func (n *node) CopyFileRange(context.Context, fs.FileHandle, uint64, *fs.Inode, fs.FileHandle, uint64, uint64, uint64) (uint32, syscall.Errno) {
	return 0, syscall.EOPNOTSUPP
}

// Fsync is asked for a file. No power is ever cut here, so it need not wait for a real disk.
func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	op := operation{Op: opFsync, Path: n.rel("")}
	if n.IsDir() {
		op.Op = opFsyncdir
	}
	return n.trace.carry(&op, func() syscall.Errno {
		op.id = n.id()
		return 0
	}, nil)
}

// OpendirHandle opens a folder. The kernel asks its handle, and no node, for fsync.
func (n *node) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	fh, ff, errno := n.LoopbackNode.OpendirHandle(ctx, flags)
	if errno != 0 {
		return nil, 0, errno
	}
	return &folder{entries: fh.(entries), node: n}, ff, 0
}

// entries is what a handle of a folder can do.
type entries interface {
	fs.FileReaddirenter
	fs.FileReleasedirer
	fs.FileSeekdirer
}

type folder struct {
	entries
	node *node
}

// Fsyncdir makes names durable.
func (d *folder) Fsyncdir(ctx context.Context, flags uint32) syscall.Errno {
	return d.node.Fsync(ctx, nil, flags)
}
