package witness

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// longestPath is how long the path of a socket can be on every system that has them, bytes.
const longestPath = 103

// Listener is a socket whose path belongs to one process. It can be made again at its path.
type Listener struct {
	path string

	mu     sync.Mutex
	now    socket
	closed bool
}

type socket struct {
	*net.UnixListener
	lock *os.File
}

// Listen makes the socket at a path that only this user can reach. What a process that is gone
// left there is replaced.
func Listen(path string) (*Listener, error) {
	now, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return &Listener{path: path, now: now}, nil
}

// Renew makes the socket again if nothing is at its path any more, as where somebody deleted the
// folder. Connections stay.
func (l *Listener) Renew() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := os.Lstat(l.path); l.closed || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	next, err := listen(l.path)
	if err != nil {
		return fmt.Errorf("listen on %s again: %w", l.path, err)
	}
	old := l.now
	l.now = next
	old.SetUnlinkOnClose(false) // the path is that of the next one
	return old.close()
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		l.mu.Lock()
		now := l.now
		l.mu.Unlock()
		c, err := now.Accept()
		l.mu.Lock()
		renewed := l.now != now
		l.mu.Unlock()
		if err == nil || !renewed {
			return c, err
		}
	}
}

// Close removes the socket.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.now.close()
}

// Addr is where it listens.
func (l *Listener) Addr() net.Addr { return l.now.Addr() }

func (s socket) close() error { return errors.Join(s.UnixListener.Close(), s.lock.Close()) }

func listen(path string) (out socket, err error) {
	if !filepath.IsAbs(path) {
		return out, errors.New("the path of a socket begins with /")
	}
	if len(path) > longestPath {
		return out, fmt.Errorf("the path has %d bytes, and that of a socket can have %d; choose a shorter one", len(path), longestPath)
	}
	if err := closed(filepath.Dir(path)); err != nil {
		return out, err
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return out, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errors.New("another process listens there")
	}
	if err == nil {
		err = free(path)
	}
	var l *net.UnixListener
	if err == nil {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	}
	if err == nil {
		if err = os.Chmod(path, 0o600); err != nil {
			err = errors.Join(err, l.Close())
		}
	}
	if err != nil {
		return out, errors.Join(err, lock.Close())
	}
	return socket{l, lock}, nil
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
