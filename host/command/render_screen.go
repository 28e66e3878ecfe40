package command

import (
	"io"
	"os"
	"strings"
	"sync"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/term"
)

// screen is where activity is written: whole lines, and on a terminal below them one line of progress, which is erased
// before anything else is written. What it is given has been sanitized. A writer that fails stops the showing, not the run.
type screen struct {
	moves  bool // a terminal that can erase a line
	colour bool
	width  func() int

	mu       sync.Mutex
	w        io.Writer
	progress string // stands on the terminal now
	open     bool   // the last line has no end yet
	gone     bool
}

func newScreen(w io.Writer, getenv func(string) string) *screen {
	s := &screen{w: w, width: func() int { return 80 }}
	f, ok := terminalFile(w)
	if !ok || getenv("TERM") == "dumb" {
		return s
	}
	s.moves, s.colour = true, getenv("NO_COLOR") == ""
	s.width = func() int { return terminalWidth(f) }
	return s
}

// terminalWidth is the width of a terminal in cells; 80 where it does not say.
func terminalWidth(f *os.File) int {
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
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
func (s *screen) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.write(strings.TrimSuffix(text, "\n") + "\n")
}

// stream writes text as it comes. What is printed next begins a new line.
func (s *screen) stream(text string) {
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
func (s *screen) midLine() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// endLine ends the line that stream left open.
func (s *screen) endLine() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

// show sets the line of progress; empty takes it away. While a line is open there is no room for one.
func (s *screen) show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.moves || text == s.progress || s.open {
		return
	}
	s.erase()
	if text != "" {
		s.write(s.paint(dim, displaywidth.TruncateString(text, max(1, s.width()-1), "…")))
	}
	s.progress = text
}

// wipe takes the line of progress away with what a terminal echoed behind it, such as ^C.
func (s *screen) wipe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if s.moves {
		s.write("\r\x1b[K")
	}
}

// clear makes room for a new line.
func (s *screen) clear() {
	s.erase()
	if s.open {
		s.write("\n")
		s.open = false
	}
}

func (s *screen) erase() {
	if s.progress != "" {
		s.write("\r\x1b[K")
		s.progress = ""
	}
}

func (s *screen) write(text string) {
	if s.gone {
		return
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		s.gone = true
	}
}

// left says whether the reader has gone.
func (s *screen) left() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// style is how a piece of text looks where there is colour.
type style string

const (
	plain  style = ""
	dim    style = "2"
	bold   style = "1"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// paint colours text that has been sanitized, line by line.
func (s *screen) paint(st style, text string) string {
	if !s.colour || st == plain || text == "" {
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
