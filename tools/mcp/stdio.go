package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of what a server may send.
const (
	maxMessage = 16 << 20 // bytes of one message
	maxPace    = 2000     // messages a second; what comes faster waits where it comes from
)

// writePatience is how long a server may leave a message unread in its pipe.
const writePatience = 30 * time.Second

// stdio is a connection over the pipes of a process: JSON-RPC messages, each a line. Lines that are
// none, such as a log on stdout, are passed over.
type stdio struct {
	p      *process
	lines  chan []byte
	queue  []jsonrpc.Message // of a batch, for Read alone
	broken error             // why there are no more lines, once lines is closed
	write  sync.Mutex
	once   sync.Once
	closed chan struct{}
}

func newStdio(p *process) *stdio {
	c := &stdio{p: p, lines: make(chan []byte), closed: make(chan struct{})}
	go c.read()
	return c
}

// Connect makes a stdio its own transport.
func (c *stdio) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID is none: a pipe has one session.
func (c *stdio) SessionID() string { return "" }

func (c *stdio) read() {
	defer close(c.lines)
	in := bufio.NewReaderSize(c.p.out, 64<<10)
	var pace pace
	for {
		line, err := readLine(in, maxMessage)
		if message := bytes.TrimSpace(line); len(message) > 0 && (message[0] == '{' || message[0] == '[') {
			pace.wait(c.closed)
			select {
			case c.lines <- message:
			case <-c.closed:
				return
			}
		}
		if err != nil {
			c.broken = err
			return
		}
	}
}

// errTooLong says that a server sent more at once than is taken.
var errTooLong = fmt.Errorf("it sent a message of more than %d MiB", maxMessage>>20)

// readLine reads a line of at most so many bytes.
func readLine(in *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > most {
			return nil, errTooLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// Read returns the next message.
func (c *stdio) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.queue) > 0 {
			m := c.queue[0]
			c.queue = c.queue[1:]
			return m, nil
		}
		select {
		case line, ok := <-c.lines:
			if !ok {
				return nil, c.over()
			}
			c.queue = messages(line)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		}
	}
}

// over is why nothing more comes. Only the end of the output is the end that a peer expects.
func (c *stdio) over() error {
	if c.broken == nil || errors.Is(c.broken, io.EOF) {
		return io.EOF
	}
	return c.broken
}

// messages reads a line; what is no message is passed over.
func messages(line []byte) []jsonrpc.Message {
	batch := []json.RawMessage{line}
	if line[0] == '[' && json.Unmarshal(line, &batch) != nil {
		return nil
	}
	var out []jsonrpc.Message
	for _, one := range batch {
		if m, err := jsonrpc.DecodeMessage(one); err == nil {
			out = append(out, m)
		}
	}
	return out
}

// Write sends a message. A server that does not read is ended: half a message would spoil what
// follows.
func (c *stdio) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("write a message: %v", err)
	}
	c.write.Lock()
	defer c.write.Unlock()
	if err := c.p.in.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return fmt.Errorf("write to the server: %v", err)
	}
	stop := context.AfterFunc(ctx, func() {
		// A deadline that cannot be set leaves the one above.
		_ = c.p.in.SetWriteDeadline(time.Unix(1, 0))
	})
	defer stop()
	if _, err := c.p.in.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("write to the server: %v", err)
	}
	return nil
}

// Close ends the server.
func (c *stdio) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.p.end()
	return nil
}

// pace holds back whoever sends faster than maxPace.
type pace struct {
	since time.Time
	count int
}

func (p *pace) wait(stop <-chan struct{}) {
	now := time.Now()
	if now.Sub(p.since) >= time.Second {
		p.since, p.count = now, 0
	}
	if p.count++; p.count <= maxPace {
		return
	}
	t := time.NewTimer(time.Second - now.Sub(p.since))
	defer t.Stop()
	select {
	case <-t.C:
	case <-stop:
	}
}
