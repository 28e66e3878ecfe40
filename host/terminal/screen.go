package terminal

import (
	"io"
	"os"
	"strings"
	"sync"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/term"
)

// Screen is where activity is written: whole lines, and on a terminal below them one line of
// progress, which is erased before anything else is written. What it is given has been sanitized. A
// writer that fails stops the showing, not the run.
type Screen struct {
	moves  bool // a terminal that can erase a line
	colour bool

	notifies bool // it may show a notification

	width func() int

	mu       sync.Mutex
	w        io.Writer
	progress string // stands on the terminal now
	open     bool   // the last line has no end yet
	closed   bool
}

// NewScreen writes to w, which may be a terminal.
func NewScreen(w io.Writer, getenv func(string) string) *Screen {
	s := &Screen{w: w, width: func() int { return 80 }}
	f, ok := terminalFile(w)
	if !ok || getenv("TERM") == "dumb" {
		return s
	}
	s = NewLiveScreen(w, func() int { return terminalWidth(f) })
	s.colour, s.notifies = getenv("NO_COLOR") == "", showsNotices(getenv)
	return s
}

// NewLiveScreen is a screen on a terminal that can erase a line, without colour.
func NewLiveScreen(w io.Writer, width func() int) *Screen {
	return &Screen{w: w, moves: true, width: width}
}

// terminalWidth is the width of a terminal in cells; 80 where it does not say.
func terminalWidth(f *os.File) int {
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

// fits is how many columns a line may have that is not to be wrapped.
func (s *Screen) fits() int {
	if !s.moves {
		return widest
	}
	return min(widest, s.width())
}

// terminalFile is the terminal behind a writer, if there is one.
func terminalFile(w any) (*os.File, bool) {
	if out, ok := w.(*watched); ok {
		w = out.Writer
	}
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// print writes text as lines of its own.
func (s *Screen) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.write(strings.TrimSuffix(text, "\n") + "\n")
}

// stream writes text as it comes. What is printed next begins a new line.
func (s *Screen) stream(text string) {
	if text == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.write(text)
	s.open = !strings.HasSuffix(text, "\n")
}

// midLine says whether stream left a line open.
func (s *Screen) midLine() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// endLine ends the line that stream left open.
func (s *Screen) endLine() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

// Show sets the line of progress; empty takes it away. While a line is open there is no room for
// one.
func (s *Screen) Show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.moves || text == s.progress || s.open {
		return
	}
	s.erase()
	if text != "" {
		s.write(s.paint(Dim, displaywidth.TruncateString(text, max(1, s.width()-1), "…")))
	}
	s.progress = text
}

// wipe takes the line of progress away with what a terminal echoed behind it, such as ^C.
func (s *Screen) wipe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if s.moves {
		s.write("\r\x1b[K")
	}
}

// clear makes room for a new line.
func (s *Screen) clear() {
	s.erase()
	if s.open {
		s.write("\n")
		s.open = false
	}
}

func (s *Screen) erase() {
	if s.progress != "" {
		s.write("\r\x1b[K")
		s.progress = ""
	}
}

func (s *Screen) write(text string) {
	if s.closed {
		return
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		s.closed = true
	}
}

// Closed says whether the reader has gone.
func (s *Screen) Closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Style is how a piece of text looks where there is colour.
type Style string

const (
	Plain  Style = ""
	Dim    Style = "2"
	Bold   Style = "1"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Cyan   Style = "36"
)

// paint colours text that has been sanitized, line by line.
func (s *Screen) paint(st Style, text string) string {
	if !s.colour || st == Plain || text == "" {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = "\x1b[" + string(st) + "m" + l + "\x1b[0m"
		}
	}
	return strings.Join(lines, "\n")
}
