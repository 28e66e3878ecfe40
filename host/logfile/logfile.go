// Package logfile appends lines to a file that several processes write, and keeps its size within a
// bound.
//
// Every line goes to the end of the file in one write. Before a line, a File looks at its path: a
// file that another process moved away is let go of, and one that reached the limit is moved to
// PATH.1, in the place of an older one. Only who holds the lock of the file that lies at the path
// moves it, so two processes never move twice and lose a file.
package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"agent/tools/ofd"
)

// File is one process's end of the log. It is not safe for concurrent use.
type File struct {
	path  string
	limit int64
	f     *os.File
}

// Open opens the log at path, and makes it and its folder where they are not there. limit is the
// size in bytes from which the file is moved away. It is passed by one line of each process, and by
// what others write while the one that moves it is held up: nobody waits for the log.
func Open(path string, limit int64) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the log's folder: %w", err)
	}
	l := &File{path: path, limit: limit}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// Write appends one line.
func (l *File) Write(line []byte) (int, error) {
	if err := l.follow(); err != nil {
		return 0, err
	}
	return l.f.Write(line)
}

// Close lets go of the file.
func (l *File) Close() error {
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}

// follow makes sure that the open file is the one at the path and has room.
func (l *File) follow() error {
	if l.f != nil {
		mine, err := l.f.Stat()
		if err != nil {
			return fmt.Errorf("look at the log: %w", err)
		}
		there, err := os.Stat(l.path)
		if err == nil && os.SameFile(mine, there) && mine.Size() < l.limit {
			return nil
		}
		if err == nil && os.SameFile(mine, there) {
			if err := l.rotate(); err != nil {
				return err
			}
		}
		err = l.f.Close()
		l.f = nil
		if err != nil {
			return fmt.Errorf("close the log: %w", err)
		}
	}
	return l.open()
}

func (l *File) open() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	l.f = f
	return nil
}

// rotate moves the file at the path away, unless another process does so or did.
func (l *File) rotate() error {
	lock, err := ofd.Open(l.path)
	if err != nil {
		return err
	}
	err = l.move(lock)
	return errors.Join(err, lock.Close())
}

func (l *File) move(lock *ofd.File) error {
	if ok, err := lock.TryLock(); err != nil || !ok {
		return err
	}
	if same, err := lock.Same(); err != nil || !same {
		return err
	}
	if info, err := lock.File().Stat(); err != nil || info.Size() < l.limit {
		return err // it was moved away since, and this is the new one
	}
	if err := os.Rename(l.path, l.path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("move the old log away: %w", err)
	}
	return nil
}
