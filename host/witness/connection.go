package witness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"agent/host/witness/line"
)

// connection is to a witness. It is made when it is needed, and again after an error.
type connection struct {
	path string
	conn net.Conn
	in   *bufio.Reader

	answer time.Duration // how long is waited for one
}

// answerFor is how long a witness may take for an answer: it writes to a log that may be far away.
const answerFor = 10 * time.Second

// ask sends a request and waits for the answer. After an error nobody knows what became of it.
func (c *connection) ask(ctx context.Context, r line.Request) (reply line.Reply, err error) {
	r.V = line.Version
	if c.conn == nil {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", c.path)
		if err != nil {
			return reply, err
		}
		c.conn, c.in = conn, bufio.NewReader(conn)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) }) // a connection that is broken says so below
	defer stop()
	if err := c.conn.SetDeadline(time.Now().Add(c.answer)); err != nil {
		return reply, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return reply, err
	}
	if len(text) >= line.Longest {
		return line.Reply{Refused: fmt.Sprintf("what it would hear has %d bytes, and a line at most %d", len(text), line.Longest)}, nil
	}
	if _, err := c.conn.Write(append(text, '\n')); err != nil {
		return reply, err
	}
	text, err = bounded(c.in)
	if err == nil {
		err = json.Unmarshal(text, &reply)
	}
	if err == nil && reply.V != line.Version {
		return line.Reply{Refused: fmt.Sprintf("it speaks version %d, and this agent version %d", reply.V, line.Version)}, nil
	}
	return reply, err
}

// mostAnswer bounds an answer: it holds numbers and digests alone.
const mostAnswer = 16 << 20

// bounded reads a line.
func bounded(in *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := in.ReadSlice('\n')
		out = append(out, part...)
		switch {
		case len(out) > mostAnswer:
			return nil, errors.New("its answer does not end")
		case err == nil:
			return out, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("it hung up")
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func (c *connection) close() error {
	if c.conn == nil {
		return nil
	}
	conn := c.conn
	c.conn, c.in = nil, nil
	return conn.Close()
}

// words says what is wrong with a connection.
func words(path string, err error) string {
	return fmt.Sprintf("the witness at %s cannot be reached: %s", path, strings.ReplaceAll(err.Error(), "\n", "; "))
}
