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
	mu sync.Mutex
	to io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

// check passes on what is JSON, and answers what is not: without that its sender would wait.
func (l *lines) check(in io.Reader, give *io.PipeWriter) error {
	defer give.Close()
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, whole, err := readLine(r)
		bad := ""
		switch {
		case !whole:
			bad = fmt.Sprintf("a line is longer than %d MiB", mostLine>>20)
		case len(bytes.TrimSpace(line)) > 0 && !json.Valid(line):
			bad = "a line is no JSON"
		}
		if bad != "" {
			if err := l.refuse(bad); err != nil {
				return err
			}
		} else if _, err := give.Write(line); err != nil {
			return nil //nolint:nilerr // nobody reads any more
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what the editor says: %w", err)
		}
	}
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
func (l *lines) refuse(why string) error {
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": protocol.NewParseError(map[string]any{"error": why})})
	if err == nil {
		_, err = l.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("answer the editor: %w", err)
	}
	return nil
}
