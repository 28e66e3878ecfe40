package scan

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"agent/recovery/journal"
	"agent/tools/dirent"
)

// folder is an open one. It is used by system calls alone, which takes half as long as package os.
type folder struct{ fd int }

func openTop(path string) (folder, error) { return folder{unix.AT_FDCWD}.open(path, false) }

// open opens a folder and never a link to one. If its names are known it is not opened to be read.
func (d folder) open(name string, known bool) (folder, error) {
	flags := unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if known {
		flags |= unix.O_PATH
	}
	for {
		fd, err := unix.Openat(d.fd, name, flags, 0)
		if err != unix.EINTR {
			return folder{fd}, err
		}
	}
}

func (d folder) close() { _ = unix.Close(d.fd) } // it was only read from; nothing can be lost

// each goes through the names, which are good until yield returns.
func (d folder) each(w *walk, yield func(name []byte)) error {
	if w.buffer == nil {
		w.buffer = make([]byte, dirent.Buffer)
	}
	return dirent.Each(d.fd, w.buffer, func(name []byte, _ byte) { yield(name) })
}

func (d folder) stat(name string) (Entry, identity, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Entry{}, identity{}, err
	}
	e, id := entryOfStat(&st)
	return e, id, nil
}

// self is the folder itself.
func (d folder) self() (Entry, identity, error) {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return Entry{}, identity{}, err
	}
	e, id := entryOfStat(&st)
	return e, id, nil
}

func entryOfStat(st *unix.Stat_t) (Entry, identity) {
	//nolint:unconvert // The fields are narrower on some architectures.
	e := Entry{
		Mode: st.Mode & 0o7777, Size: st.Size, Inode: st.Ino, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), Links: uint64(st.Nlink),
	}
	e.Kind = kindOf(st.Mode)
	if e.Kind == journal.FileLink {
		e.Mode = 0
	}
	return e, identity{uint64(st.Dev), st.Ino} //nolint:unconvert // as above
}

// trusted is the file system whose folders show in their times that their names changed.
type trusted struct {
	dev   uint64
	ok    bool
	heard bool // and all that changes there is heard of (watch)
}

// keepsTimes says whether the folder is on a file system that is known to keep the times of
// folders itself: others, such as those of another machine, show what they like.
func (d folder) keepsTimes(id identity) trusted {
	const zfs, bcachefs = 0x2fc12fc1, 0xca451a4e
	var fs unix.Statfs_t
	if err := unix.Fstatfs(d.fd, &fs); err != nil {
		return trusted{}
	}
	switch uint32(fs.Type) { //nolint:gosec // its type differs by system; the numbers have 32 bits
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC, zfs, bcachefs:
		return trusted{id.dev, true, true}
	case unix.OVERLAYFS_SUPER_MAGIC: // a file that is copied up is another one for who listens
		return trusted{id.dev, true, false}
	}
	return trusted{}
}

func (t trusted) keeps(id identity) bool { return t.ok && t.dev == id.dev }

func kindOf(mode uint32) journal.FileKind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return journal.FileRegular
	case unix.S_IFDIR:
		return journal.FileFolder
	case unix.S_IFLNK:
		return journal.FileLink
	}
	return journal.FileSpecial
}

// small reads a regular file; "" if there is none, or if it is larger.
func (d folder) small(name string, most int64) string {
	fd, err := unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close() // it was only read from; nothing can be lost
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return ""
	}
	return string(text)
}

// identity tells a folder from every other one of the machine.
type identity struct{ dev, inode uint64 }

// excluded is a folder that is left out: by what it is, however it is reached.
type excluded struct{ id identity }

func excludedAt(_, dir string) (excluded, bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return excluded{}, false // nothing is there
	}
	_, id, err := folder{unix.AT_FDCWD}.stat(real)
	return excluded{id}, err == nil
}

func (x excluded) is(_ string, id identity) bool { return x.id == id }

// isGone says that what was listed is there no more, or is something else by now.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// entryOf is what package os reports of a path.
func entryOf(info fs.FileInfo) Entry {
	e := plainEntry(info)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		//nolint:unconvert // Nlink is narrower on some architectures.
		e.Inode, e.Ctime, e.Links = st.Ino, st.Ctim.Nano(), uint64(st.Nlink)
	}
	return e
}

// ownerOf says whose a file is.
func ownerOf(info fs.FileInfo) (uid, gid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}
