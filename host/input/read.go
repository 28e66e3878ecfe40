package input

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// ErrQuiet reports that nothing came for a while and the end did not come either.
var ErrQuiet = errors.New("nothing comes, and the input stays open")

// Stream reads from where a read may wait for ever, such as a pipe, a FIFO or a terminal, so that a
// signal ends the wait. One goroutine uses it. The read that is under way when the caller goes on
// without it ends with the process.
type Stream struct {
	chunks chan chunk
}

type chunk struct {
	data []byte
	err  error
}

// Open begins to read from r.
func Open(r io.Reader) *Stream {
	s := &Stream{chunks: make(chan chunk, 1)}
	go s.read(r)
	return s
}

// OpenFile begins to read a file. Next returns the error where it cannot be opened: opening a FIFO
// waits for its writer.
func OpenFile(path string) *Stream {
	s := &Stream{chunks: make(chan chunk, 1)}
	go func() {
		f, err := os.Open(path)
		if err != nil {
			s.chunks <- chunk{err: err}
			return
		}
		defer f.Close() // it was only read from; nothing can be lost
		s.read(f)
	}()
	return s
}

// read passes on what comes, with its end or its error as the last.
func (s *Stream) read(r io.Reader) {
	for {
		b := make([]byte, 64<<10)
		n, err := r.Read(b)
		if n > 0 {
			s.chunks <- chunk{data: b[:n]}
		}
		if err != nil {
			s.chunks <- chunk{err: err}
			return
		}
	}
}

// Next is what comes next, io.EOF at the end. With a patience above 0, ErrQuiet says that nothing
// came for that long; the next call waits on.
func (s *Stream) Next(ctx context.Context, patience time.Duration) ([]byte, error) {
	var quiet <-chan time.Time
	if patience > 0 {
		t := time.NewTimer(patience)
		defer t.Stop()
		quiet = t.C
	}
	select {
	case c := <-s.chunks:
		return c.data, c.err
	case <-quiet:
		return nil, ErrQuiet
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Begins reports whether something comes within the patience, and takes at most its first byte:
// what nobody waits for any more is left to the other readers of a pipe, such as the loop of a
// shell. ErrQuiet says that nothing came and the input stays open.
func Begins(ctx context.Context, r io.Reader, patience time.Duration) (bool, error) {
	ready := make(chan error, 1)
	go func() { ready <- waitReady(r, patience) }()
	select {
	case err := <-ready:
		if err != nil {
			return false, err
		}
	case <-ctx.Done():
		return false, ctx.Err()
	}
	n, err := r.Read(make([]byte, 1))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n > 0, err
}

// All reads to the end. quiet is called once, where nothing came for the patience; 0 never calls
// it. More than MaxPrompt bytes are refused.
func (s *Stream) All(ctx context.Context, patience time.Duration, quiet func()) ([]byte, error) {
	var all bytes.Buffer
	for {
		data, err := s.Next(ctx, patience)
		switch {
		case errors.Is(err, io.EOF):
			return all.Bytes(), nil
		case errors.Is(err, ErrQuiet):
			quiet()
			patience = 0
		case err != nil:
			return nil, err
		}
		if all.Len()+len(data) > MaxPrompt {
			return nil, fmt.Errorf("it is larger than %d MiB; put the bulk into a file of the folder and name it", MaxPrompt>>20)
		}
		all.Write(data)
	}
}

// Carries reports whether something may be piped in by r: a pipe, a socket or a file. A terminal,
// /dev/null, and what is closed carry nothing.
func Carries(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return r != nil
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0)
}
