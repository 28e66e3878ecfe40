package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	protocol "github.com/coder/acp-go-sdk"
)

// mostLine is how long a line may be that an editor sends; bytes. A prompt with pictures is one.
const mostLine = 9 << 20

// lines writes whole lines, of more than one writer.
type lines struct {
	mu    sync.Mutex
	to    io.Writer
	order *order
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

// check passes on messages, and answers what is none: without that its sender would wait.
func (l *lines) check(in io.Reader, give *io.PipeWriter) error {
	defer give.Close()
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, whole, err := readLine(r)
		var bad *protocol.RequestError
		var method string
		switch {
		case !whole:
			bad = protocol.NewParseError(map[string]any{"error": fmt.Sprintf("a line is longer than %d MiB", mostLine>>20)})
		case len(bytes.TrimSpace(line)) > 0:
			method, bad = methodOf(line)
		}
		if bad != nil {
			if err := l.refuse(bad); err != nil {
				return err
			}
		} else {
			l.order.await(method)
			if _, err := give.Write(line); err != nil {
				return nil //nolint:nilerr // nobody reads any more
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what the editor says: %w", err)
		}
	}
}

// methodOf is the method of a message; "" for an answer. The error is for what is no message.
func methodOf(line []byte) (string, *protocol.RequestError) {
	if !json.Valid(line) {
		return "", protocol.NewParseError(map[string]any{"error": "a line is no JSON"})
	}
	var m struct {
		ID     any     `json:"id"`
		Method *string `json:"method"`
	}
	err := json.Unmarshal(line, &m)
	switch m.ID.(type) {
	case nil, string, float64:
	default:
		err = errors.New("an id is a text or a number")
	}
	if err != nil {
		return "", protocol.NewInvalidRequest(map[string]any{"error": err.Error()})
	}
	if m.Method == nil {
		return "", nil
	}
	return *m.Method, nil
}

// readLine reads a line with its end; whole says that it is not too long.
func readLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	whole = true
	for {
		piece, err := r.ReadSlice('\n')
		if len(line)+len(piece) > mostLine {
			line, whole = nil, false
		}
		if whole {
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, whole, err
		}
	}
}

// refuse answers what has no id that could be read.
func (l *lines) refuse(bad *protocol.RequestError) error {
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": bad})
	if err == nil {
		_, err = l.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("answer the editor: %w", err)
	}
	return nil
}
