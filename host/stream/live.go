package stream

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"unicode/utf8"

	"agent/recovery/journal"
)

// liveLine is one line of a live file. Gen comes first and has a fixed width: it names what was
// written since the file was last emptied, and so tells a follower that its position belongs to
// something that is gone. A line holds text, reasoning, or output of a call; a binary that knows
// only text passes over the others.
type liveLine struct {
	Gen       string         `json:"gen"`
	Turn      int            `json:"turn"`
	Text      string         `json:"text,omitempty"`
	Reasoning string         `json:"reasoning,omitempty"`
	Call      *journal.Place `json:"call,omitempty"`
	At        int64          `json:"at,omitempty"`     // bytes of the call's output before this piece
	Output    string         `json:"output,omitempty"` // of the call
	Bytes     []byte         `json:"base64,omitempty"` // instead of Output, where it is not UTF-8
}

// maxLive is how large a live file becomes with output, bytes. Then it is emptied and goes on: who
// follows has seen what is gone, and who comes later sees that something is missing.
const maxLive = 1 << 20

const (
	genPrefix = `{"gen":"`
	genWidth  = 16
)

// Live is a run's live file as its owner writes it: the text of the answer that the model is giving
// now and the output of the calls that run now, for observers in other processes. What it is given
// holds no secrets any more. It promises nothing: no fsync, gone or torn after a crash. Its methods
// may be called by any goroutine.
type Live struct {
	path string

	mu   sync.Mutex
	file *os.File // nil once closed
	gen  string
	size int64
	torn bool // a line could be neither finished nor taken back
	turn int
	mind bool   // what came last of turn is reasoning
	held []byte // its last bytes, which begin a character whose rest has not come
}

// ClearLive drops what a former owner left of the live file of run in dir, which is made if need
// be: the answer that it was a part of is asked for again. Only the run's owner may call it.
func ClearLive(dir, run string) error {
	path, err := livePath(dir, run)
	if err != nil {
		return err
	}
	// Only this folder: a state folder that was removed meanwhile does not come back by this.
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the folder of live files: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("drop the old live file: %w", err)
	}
	return nil
}

// OpenLive starts the live file of run in dir, cleared of what was there. Only the run's owner may
// call it.
func OpenLive(dir, run string) (*Live, error) {
	path, err := livePath(dir, run)
	if err != nil {
		return nil, err
	}
	// A file of its own, so that a former owner that wakes up late can neither write to it nor
	// remove it.
	if err := ClearLive(dir, run); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make the live file: %w", err)
	}
	return &Live{path: path, file: file, gen: newGen()}, nil
}

// Text appends a piece of the given turn's answer. A character whose bytes come in several pieces
// is written when it is whole. After an error the file stays readable; the piece is lost to
// observers of other processes and to nobody else.
func (l *Live) Text(turn int, s string) error { return l.add(turn, s, false) }

// Reasoning appends a piece of what the model thinks on its way to the given turn's answer, as Text
// does.
func (l *Live) Reasoning(turn int, s string) error { return l.add(turn, s, true) }

// Output appends a piece of a running call's output, which has at bytes before it. Errors are as
// with Text.
func (l *Live) Output(call journal.Place, at int64, p []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return fmt.Errorf("write live output of call %s: %w", call, os.ErrClosed)
	}
	if l.size+int64(len(p)) > maxLive {
		if err := l.empty(); err != nil {
			return err
		}
	}
	of := liveLine{Turn: call.Turn, Call: &call, At: at}
	if utf8.Valid(p) {
		of.Output = string(p)
	} else {
		of.Bytes = p
	}
	return l.line(of)
}

func (l *Live) add(turn int, s string, mind bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return fmt.Errorf("write live text of turn %d: %w", turn, os.ErrClosed)
	}
	if turn != l.turn || mind != l.mind {
		if err := l.flush(); err != nil {
			return err
		}
		l.turn, l.mind = turn, mind
	}
	text := append(l.held, s...)
	whole := len(text) - unfinished(text)
	l.held = bytes.Clone(text[whole:])
	return l.write(text[:whole])
}

// Reset empties the file: the answer is committed, or is asked for anew.
func (l *Live) Reset() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return fmt.Errorf("empty the live file: %w", os.ErrClosed)
	}
	l.held = nil
	return l.empty()
}

func (l *Live) empty() error {
	if l.size == 0 && !l.torn {
		return nil
	}
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("empty the live file: %w", err)
	}
	l.gen, l.size, l.torn = newGen(), 0, false
	return nil
}

// Close ends the writing and removes the file if it is empty. An unfinished answer stays for
// observers to see until the run's next owner starts over. Closing again does nothing.
func (l *Live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.flush()
	if l.size == 0 {
		err = errors.Join(err, l.removeOwn())
	}
	if cerr := l.file.Close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("close the live file: %w", cerr))
	}
	l.file = nil
	return err
}

// removeOwn removes the file unless another owner's stands in its place.
func (l *Live) removeOwn() error {
	mine, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("look at the live file: %w", err)
	}
	there, err := os.Lstat(l.path)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && !os.SameFile(mine, there)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the live file: %w", err)
	}
	if err := os.Remove(l.path); err != nil {
		return fmt.Errorf("remove the empty live file: %w", err)
	}
	return nil
}

// flush writes what is held back as it is: the rest of that character will not come.
func (l *Live) flush() error {
	held := l.held
	l.held = nil
	return l.write(held)
}

// write appends one line, whole or not at all.
func (l *Live) write(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	of := liveLine{Turn: l.turn, Text: string(text)}
	if l.mind {
		of.Text, of.Reasoning = "", of.Text
	}
	return l.line(of)
}

// line appends one line of the present gen.
func (l *Live) line(of liveLine) error {
	if l.torn {
		return fmt.Errorf("write the live file in turn %d: a former piece could not be finished", of.Turn)
	}
	of.Gen = l.gen
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(of); err != nil {
		return fmt.Errorf("encode a line of the live file in turn %d: %w", of.Turn, err)
	}
	n, err := l.file.Write(line.Bytes())
	if err == nil {
		l.size += int64(n)
		return nil
	}
	if n > 0 {
		// Taken back, since a line after half a line would be lost as well.
		l.torn = l.file.Truncate(l.size) != nil
	}
	return fmt.Errorf("write the live file in turn %d: %w", of.Turn, err)
}

// unfinished is the number of bytes at the end of b that begin a character and may still be
// completed.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		tail := b[len(b)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// livePath is where the live file of run is. A run's id comes from outside, so it must be a plain
// name.
func livePath(dir, run string) (string, error) {
	if run == "" || run != filepath.Base(run) || !filepath.IsLocal(run) || run == "." {
		return "", fmt.Errorf("live file of %q: not a run's id", run)
	}
	return filepath.Join(dir, run), nil
}

// newGen returns 64 random bits, so that no two owners of a run share one.
func newGen() string {
	var b [genWidth / 2]byte
	// It never fails: the process ends if the system has no randomness.
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
