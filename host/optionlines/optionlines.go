// Package optionlines fits the lines of options in a help text to the terminal.
package optionlines

import (
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Without a terminal, lines of help end where its texts do.
const helpWidth = 80

// leastText is the narrowest column that the text of an option is put into beside the option.
const leastText = 30

// Writer passes help on and breaks the lines of its options between words, so that they fit the
// terminal. The rest of help is written for 80 columns.
type Writer struct {
	To    io.Writer
	width func() int
	rest  string // the beginning of a line whose end has not come
}

// New writes help to a terminal of a width in columns, which may change; 0 says that it is none.
func New(to io.Writer, width func() int) *Writer { return &Writer{To: to, width: width} }

func (o *Writer) Write(p []byte) (int, error) {
	text := o.rest + string(p)
	end := strings.LastIndexByte(text, '\n') + 1
	o.rest = text[end:]
	width := o.width()
	if width <= 0 {
		width = helpWidth
	}
	var out strings.Builder
	for line := range strings.Lines(text[:end]) {
		out.WriteString(optionLine(line, width))
	}
	if _, err := io.WriteString(o.To, out.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// optionLine breaks the line of an option, " --name VALUE text", where it is too wide. What follows
// stands below the text.
func optionLine(line string, width int) string {
	const indent = "   "
	option, text, found := strings.Cut(strings.TrimPrefix(line, indent), "  ")
	if !strings.HasPrefix(line, indent+"-") || !found || displaywidth.String(strings.TrimSuffix(line, "\n")) <= width {
		return line
	}
	text = strings.TrimLeft(text, " ")
	column := displaywidth.String(line) - displaywidth.String(text)
	out, at := line[:len(line)-len(text)], column
	if width-column < leastText {
		column = 2 * len(indent)
		out, at = indent+option+"\n"+strings.Repeat(" ", column), column
	}
	for i, word := range strings.Fields(text) {
		n := displaywidth.String(word)
		switch {
		case i == 0:
		case at+1+n > width:
			out, at = out+"\n"+strings.Repeat(" ", column), column
		default:
			out, at = out+" ", at+1
		}
		out, at = out+word, at+n
	}
	return out + "\n"
}
