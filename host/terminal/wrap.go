package terminal

import (
	"regexp"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// wrap breaks lines between words that are wider than width columns; what goes on is set in by hang
// columns more, and in a list of names below what is said of the name. A line that is set in by
// four, such as a command, stays whole, and so does a command of agent in a sentence: they are
// copied. 0 is any width.
func wrap(text string, width, hang int) string {
	if width <= 0 || displaywidth.String(text) <= width && !strings.Contains(text, "\n") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if displaywidth.String(line) <= width {
			continue
		}
		if name := listed.FindString(line); name != "" {
			lines[i] = wrapLine(line, width, len(name)-4)
		} else if !strings.HasPrefix(line, "    ") {
			lines[i] = wrapLine(line, width, hang)
		}
	}
	return strings.Join(lines, "\n")
}

// listed is the name of a list at the beginning of a line, with what is before and behind it.
var listed = regexp.MustCompile(`^ {4}[a-z-]+ {2,}`)

func wrapLine(line string, width, hang int) string {
	bare := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(bare)]
	var b strings.Builder
	b.WriteString(indent)
	used := len(indent)
	for i, piece := range pieces(bare) {
		wide := displaywidth.String(strings.TrimRight(piece, " "))
		if i > 0 && wide > 0 && used+wide > width {
			b.WriteString("\n" + indent + strings.Repeat(" ", hang))
			used = len(indent) + hang
		}
		b.WriteString(piece)
		used += displaywidth.String(piece)
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// pieces are what is not broken, each with the spaces behind it: a word, or a command of agent.
func pieces(text string) []string {
	var list []string
	command := false
	for _, word := range strings.SplitAfter(text, " ") {
		if command {
			list[len(list)-1] += word
		} else {
			list = append(list, word)
		}
		bare := strings.TrimRight(word, " ")
		if strings.TrimLeft(bare, "(") == "agent" {
			command = true
		}
		command = command && !strings.HasSuffix(bare, ",") && !strings.HasSuffix(bare, ";") && !strings.HasSuffix(bare, ")") && !strings.HasSuffix(bare, ":")
	}
	return list
}

// fitsOn is how many columns of a line are used of what a person reads on f; 0 where that is no
// terminal.
func fitsOn(w any) int {
	if f, ok := terminalFile(w); ok {
		return min(widest, terminalWidth(f))
	}
	return 0
}

// widest is how many columns a line of prose has at most: longer ones are hard to follow.
const widest = 100
