package witness

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// longestPath is how long the path of a socket can be on every system that has them, bytes.
const longestPath = 103

// listener is a socket whose path belongs to one process.
type listener struct {
	net.Listener
	lock *os.File
}

// Listen makes the socket at a path that only this user can reach. What a process that is gone
// left there is replaced.
func Listen(path string) (net.Listener, error) {
	l, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return l, nil
}

func listen(path string) (net.Listener, error) {
	if !filepath.IsAbs(path) {
		return nil, errors.New("the path of a socket begins with /")
	}
	if len(path) > longestPath {
		return nil, fmt.Errorf("the path has %d bytes, and that of a socket can have %d; choose a shorter one", len(path), longestPath)
	}
	if err := closed(filepath.Dir(path)); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errors.New("another process listens there")
	}
	if err == nil {
		err = free(path)
	}
	var l net.Listener
	if err == nil {
		l, err = net.Listen("unix", path)
	}
	if err == nil {
		if err = os.Chmod(path, 0o600); err != nil {
			err = errors.Join(err, l.Close())
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &listener{l, lock}, nil
}

// closed makes a folder that only this user can enter, or refuses one that others can.
func closed(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", folder)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others can enter the folder %s (mode %04o); name a folder of your own, or chmod 700 %s", folder, info.Mode().Perm(), folder)
	}
	return nil
}

// free removes a socket to which nobody listens. Anything else stays.
func free(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("something that is no socket is there")
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		return errors.Join(errors.New("another process listens there"), c.Close())
	}
	return os.Remove(path)
}

// Close removes the socket.
func (l *listener) Close() error { return errors.Join(l.Listener.Close(), l.lock.Close()) }
