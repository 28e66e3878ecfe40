//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// crowdCommand is what a process of this program is started with that observes.
const crowdCommand = "crowd"

// crowdSeen is what a crowd saw.
type crowdSeen struct {
	Open     int     // connections in the end
	Lines    int64   // that the readers read
	Closed   int     // connections of those that read nothing, by the server
	Shortest float64 // seconds after which that was
	Longest  float64
	Again    int // connections that were closed before their request was read: it came too late
}

// crowdOf is many observers of one stream. Every second one reads; the others read nothing, and
// come back when the server closes them.
type crowdOf struct {
	socket, request string

	mu      sync.Mutex
	seen    crowdSeen
	ended   bool
	problem error
	conns   map[net.Conn]bool
}

// crowdMain observes until its input ends.
func crowdMain(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("%s SOCKET TOKEN PATH COUNT", crowdCommand)
	}
	count, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	c := &crowdOf{
		socket: args[0], conns: map[net.Conn]bool{},
		request: fmt.Sprintf("GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", args[2], args[1]),
	}
	var all sync.WaitGroup
	for i := range count {
		work := c.read
		if i%2 == 1 {
			work = c.stall
		}
		all.Go(func() {
			for c.goesOn(work()) {
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until it ends
	c.mu.Lock()
	c.ended, c.seen.Open = true, len(c.conns)
	for conn := range c.conns {
		_ = conn.Close() // whoever uses it sees that
	}
	c.mu.Unlock()
	all.Wait()
	return errors.Join(c.problem, json.NewEncoder(os.Stdout).Encode(c.seen))
}

func (c *crowdOf) goesOn(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(err, errLate) {
		c.seen.Again++
		return !c.ended
	}
	if err != nil && !c.ended {
		c.problem = err
	}
	return !c.ended && err == nil
}

// connect asks for the stream.
func (c *crowdOf) connect() (*net.UnixConn, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: c.socket})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.conns[conn] = true
	c.mu.Unlock()
	if _, err := io.WriteString(conn, c.request); err != nil {
		c.leave(conn)
		return nil, errLate
	}
	return conn, nil
}

// errLate says that the server had no more patience: the crowd gets what others leave of the
// processor.
var errLate = errors.New("the request came too late")

func (c *crowdOf) leave(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, conn)
	_ = conn.Close() // nobody waits for its end
}

// read reads until the server or the crowd ends.
func (c *crowdOf) read() error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	defer c.leave(conn)
	lines := bufio.NewReaderSize(conn, 4<<10)
	for first := true; ; first = false {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull): // a part of a long one
		case err != nil && first:
			return errLate
		case err != nil:
			return nil // closed: it comes back
		case first && !strings.Contains(string(line), " 200 "):
			return fmt.Errorf("a stream is refused: %s", line)
		}
		c.mu.Lock()
		c.seen.Lines++
		c.mu.Unlock()
	}
}

// stall reads nothing, and waits until the server closes the connection.
func (c *crowdOf) stall() error {
	began := time.Now()
	conn, err := c.connect()
	if err != nil {
		return err
	}
	defer c.leave(conn)
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	for closed := false; !closed; {
		time.Sleep(200 * time.Millisecond)
		if err := raw.Control(func(fd uintptr) {
			fds := []unix.PollFd{{Fd: int32(fd)}}
			_, err := unix.Poll(fds, 0)
			closed = err == nil && fds[0].Revents&unix.POLLHUP != 0
		}); err != nil {
			return nil // the crowd has ended
		}
	}
	took := time.Since(began).Seconds()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil
	}
	if c.seen.Closed == 0 || took < c.seen.Shortest {
		c.seen.Shortest = took
	}
	c.seen.Longest = max(c.seen.Longest, took)
	c.seen.Closed++
	return nil
}
