package talk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Keys as a terminal in raw mode sends them.
const keyCtrlC = 3

// editor reads messages at a terminal, with line editing and what was typed before at hand.
type editor struct {
	f       *os.File
	t       *term.Terminal
	history *history
	last    byte // that was read
	cleared bool // Ctrl-C was the last that was pressed
}

// Read notes the last key: the terminal reports Ctrl-C as it does the end of the input.
func (e *editor) Read(b []byte) (int, error) {
	n, err := e.f.Read(b)
	if n > 0 {
		e.last = b[n-1]
	}
	return n, err
}

func (e *editor) Write(b []byte) (int, error) { return e.f.Write(b) }

// message reads one message: a line, or several where one ends with a backslash or several were
// pasted. begun is what was typed of it before, shown once more. Ctrl-C drops what was typed. It
// returns io.EOF for Ctrl-D in an empty line, and for Ctrl-C once more.
func (e *editor) message(prompt, begun string) (string, error) {
	fd := int(e.f.Fd())
	was, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer func() { _ = term.Restore(fd, was) }() // a terminal that went away has no mode
	e.start(fd, prompt)
	defer func() { e.t.SetBracketedPasteMode(false) }()
	var lines []string
	if begun != "" {
		lines = []string{strings.TrimSuffix(begun, "\n")}
		if _, err := fmt.Fprintf(e.t, "%s%s\n", prompt, strings.ReplaceAll(lines[0], "\n", "\n… ")); err != nil {
			return "", err
		}
		e.t.SetPrompt("… ")
	}
	for {
		line, err := e.t.ReadLine()
		switch {
		case errors.Is(err, io.EOF) && e.last == keyCtrlC && !e.cleared:
			e.cleared, e.t, lines = true, nil, nil // with what stood in its line
			e.start(fd, prompt)
			// The mode stays: Ctrl-C is a key here, and a signal outside.
			_, err = e.t.Write([]byte("(Ctrl-C again, Ctrl-D or /quit leaves)\n"))
			if err != nil {
				return "", err
			}
			continue
		case err != nil && !errors.Is(err, term.ErrPasteIndicator):
			return "", err
		}
		e.cleared = false
		pasted := err != nil
		more := !pasted && strings.HasSuffix(line, `\`)
		lines = append(lines, strings.TrimSuffix(line, `\`))
		if !pasted && !more {
			return strings.TrimSpace(strings.Join(lines, "\n")), nil
		}
		e.t.SetPrompt("… ")
	}
}

// start prepares the terminal for a message.
func (e *editor) start(fd int, prompt string) {
	if e.t == nil {
		e.t = term.NewTerminal(e, "")
		e.t.History = e.history
	}
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		_ = e.t.SetSize(width, height) // it only fails to redraw
	}
	e.t.SetBracketedPasteMode(true)
	e.t.SetPrompt(prompt)
}

// history is what was typed before, the newest last.
type history struct{ lines []string }

func (h *history) Add(line string) {
	if line != "" && (len(h.lines) == 0 || h.lines[len(h.lines)-1] != line) {
		h.lines = append(h.lines, line)
	}
}

func (h *history) Len() int { return len(h.lines) }

// At counts from the newest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
