package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"agent/host/stream"
	"agent/host/view"
)

// Terminal is where a front door reads and writes.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Thinking bool // what a model thinks is shown

	printed bool
}

// Printed says whether a JSON object was written to Out.
func (t *Terminal) Printed() bool { return t.printed }

// Width is the width of the terminal behind Out, in cells; 0 where it is none.
func (t *Terminal) Width() int {
	if f, ok := terminalFile(t.Out); ok {
		return terminalWidth(f)
	}
	return 0
}

// Interactive says whether Err is a terminal: a person can read what is asked.
func (t *Terminal) Interactive() bool {
	_, ok := terminalFile(t.Err)
	return ok
}

// SameTerminal says whether stdout and stderr are one terminal: what is on it need not be written
// twice.
func (t *Terminal) SameTerminal() bool {
	out, ok := terminalFile(t.Out)
	if !ok {
		return false
	}
	err, ok := terminalFile(t.Err)
	if !ok {
		return false
	}
	outInfo, e1 := out.Stat()
	errInfo, e2 := err.Stat()
	return e1 == nil && e2 == nil && os.SameFile(outInfo, errInfo)
}

// PrintAnswer writes a model's answer on stdout: sanitized on a terminal, and as it is into a file
// or a pipe.
func (t *Terminal) PrintAnswer(text string) {
	if _, ok := terminalFile(t.Out); ok {
		text = stream.Sanitize(text)
	}
	_, _ = fmt.Fprintln(t.Out, text) // what cannot be written is reported at the end: Undelivered
}

// Say writes one sanitized text. A reader that went away stops showing, not running.
func (t *Terminal) Say(w io.Writer, format string, args ...any) {
	text := stream.Sanitize(fmt.Sprintf(format, args...))
	if w == t.Err {
		text = wrap(text, fitsOn(w), 2)
	}
	_, _ = fmt.Fprintln(w, text)
}

// PrintJSON writes one object on stdout.
func (t *Terminal) PrintJSON(v any) {
	t.printed = true
	enc := json.NewEncoder(t.Out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // what cannot be written is reported at the end: Undelivered
}

// PassOn writes on stdout what another process wrote there for this one, such as its object.
func (t *Terminal) PassOn(text string) {
	t.printed = t.printed || text != ""
	_, _ = io.WriteString(t.Out, text) // what cannot be written is reported at the end: Undelivered
}

// Inherited is Out as a process that is started has it: the terminal itself, where it is one.
func (t *Terminal) Inherited() io.Writer {
	if f, ok := terminalFile(t.Out); ok {
		return f
	}
	return t.Out
}

// Tilde shortens a path below the person's home folder.
func (t *Terminal) Tilde(path string) string { return view.Tilde(t.Getenv("HOME"), path) }

// CopyText writes size bytes of a tool's text to stdout without its control sequences. A reader
// that went away ends it.
func (t *Terminal) CopyText(r io.ReaderAt, size int64) error {
	w := &lastByte{Writer: t.Out}
	clean := stream.NewSanitizer(w)
	buf := make([]byte, 64<<10)
	for at := int64(0); at < size; {
		n, err := r.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if n == 0 {
			return fmt.Errorf("read the output from byte %d of %d: %v", at, size, err)
		}
		if _, err := clean.Write(buf[:n]); err != nil {
			return nil // nobody reads any more
		}
		at += int64(n)
	}
	_ = clean.End() // as above
	if w.last != '\n' && w.last != 0 {
		t.Say(t.Out, "")
	}
	return nil
}

// lastByte remembers how a text ended.
type lastByte struct {
	io.Writer
	last byte
}

func (w *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		w.last = p[len(p)-1]
	}
	return w.Writer.Write(p)
}

// watched remembers why something could not be written. A reader that went away did not get it
// either.
type watched struct {
	io.Writer
	err error
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}

// Watch remembers from here on why something could not be written to Out.
func (t *Terminal) Watch() { t.Out = &watched{Writer: t.Out} }

// Undelivered is why something could not be written to Out since Watch; nil when all was.
func (t *Terminal) Undelivered() error {
	if w, ok := t.Out.(*watched); ok {
		return w.err
	}
	return nil
}

// Printer prints to w what the person asked for.
func (t *Terminal) Printer(w io.Writer) *Printer {
	p := NewPrinter(NewScreen(w, t.Getenv))
	p.Thinking, p.Home = t.Thinking, t.Getenv("HOME")
	return p
}
