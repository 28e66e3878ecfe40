package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"syscall"
	"time"

	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools/files"
)

// reading is a file as it was read once.
type reading struct {
	sha     string
	size    int64
	content []byte // nil where it is longer than was asked for
	info    fs.FileInfo
}

func (r reading) artifact(name string) journal.Artifact {
	return journal.Artifact{Path: name, SHA: r.sha, Size: r.size, Mode: uint32(r.info.Mode().Perm()), Stamp: stamp(r.info)}
}

// errChanging says that a file was written to each time that it was read.
var errChanging = errors.New("it is being written")

// readTries is how often a file is read that is written to meanwhile.
const readTries = 3

// read reads a file, and makes it durable first where asked. Its content is given where it has at
// most keep bytes. A file that somebody writes to while it is read is read again.
func (f *Folder) read(ctx context.Context, t *files.Target, keep int64, sync bool) (reading, error) {
	for try := 1; ; try++ {
		r, err := f.readOnce(ctx, t, keep, sync)
		if !errors.Is(err, errChanging) || try == readTries {
			return r, err
		}
		if t.Info, err = t.Dir.Lstat(t.Name); err != nil {
			return r, fmt.Errorf("read %s: %w", t.Rel, err)
		}
		if !t.Info.Mode().IsRegular() {
			return r, &RefusedError{t.Rel, "it is not a regular file"}
		}
	}
}

func (f *Folder) readOnce(ctx context.Context, t *files.Target, keep int64, sync bool) (r reading, err error) {
	file, before, err := t.Open()
	if err != nil && (errors.Is(err, fs.ErrNotExist) || !errors.As(err, new(syscall.Errno))) {
		return r, errChanging // another one is in its place by now
	}
	if err != nil {
		return r, err
	}
	defer file.Close() // it was only read from; nothing can be lost
	if sync {
		if err := syncFile(t, file); err != nil {
			return r, fmt.Errorf("make %s durable: %w", t.Rel, err)
		}
	}
	if f.buf == nil {
		f.buf = make([]byte, 128<<10)
	}
	hash, buf := sha256.New(), f.buf
	if before.Size() <= keep {
		r.content = make([]byte, 0, before.Size())
	}
	for in := io.LimitReader(file, before.Size()+1); err == nil; {
		var n int
		if n, err = in.Read(buf); n > 0 {
			hash.Write(buf[:n]) // a hash takes everything without an error
			r.size += int64(n)
			if r.content != nil {
				r.content = append(r.content, buf[:n]...)
			}
		}
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
	}
	if !errors.Is(err, io.EOF) {
		return r, fmt.Errorf("read %s: %w", t.Rel, err)
	}
	after, err := file.Stat()
	if err != nil {
		return r, fmt.Errorf("read %s: %w", t.Rel, err)
	}
	named, err := t.Dir.Lstat(t.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return r, errChanging
	}
	if err != nil {
		return r, fmt.Errorf("read %s: %w", t.Rel, err)
	}
	if r.size != after.Size() || !same(before, after) || !same(after, named) {
		return r, errChanging
	}
	r.sha, r.info = hex.EncodeToString(hash.Sum(nil)), after
	return r, nil
}

// syncFile makes what was written to an open file durable. Windows wants it open for writing.
func syncFile(t *files.Target, file *os.File) error {
	if runtime.GOOS != "windows" {
		return file.Sync()
	}
	w, err := t.Dir.OpenFile(t.Name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(w.Sync(), w.Close())
}

// settled is how long a folder must have been left alone for its times to say whether a name was
// added since: some file systems count in steps.
const settled = time.Second

// syncFolders makes the names on the way to a target durable. A folder in which nothing was named
// since it was synced last is passed over, and so is one that was synced with the same folder in
// it: another target further down costs no fsync of the folders above.
func (f *Folder) syncFolders(t *files.Target) error {
	all := f.w.Folders(t)
	rel, below, inode := path.Dir(t.Rel), "", uint64(0) // below is the folder on the way that lies in rel
	for i := len(all) - 1; i >= 0; i-- {
		info, err := all[i].Stat(".")
		if err != nil {
			return fmt.Errorf("make the folder of %s durable: %w", t.Rel, err)
		}
		now := stamp(info)
		named := fmt.Sprintf("%s %d", now, inode)
		if f.order[rel] != now && (below == "" || f.named[below] != named) {
			if err := files.SyncFolder(all[i]); err != nil {
				return fmt.Errorf("make the folder of %s durable: %w", t.Rel, err)
			}
			delete(f.order, rel)
			if age := fault.Now().Sub(info.ModTime()); age > settled {
				f.order[rel] = now
			}
			f.named[below] = named
		}
		rel, below, inode = path.Dir(rel), rel, files.IDOf(info).Inode
	}
	return nil
}
