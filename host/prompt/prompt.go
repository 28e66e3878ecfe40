// Package prompt writes the system prompt of a run: a text of our own, what the files of standing
// instructions say, those of the person and of the repository, and which skills there are. The run
// records the prompt, so that its requests stay the same to the byte whatever is edited later.
package prompt

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"

	"agent/recovery/journal"
)

// Name is the name and version of our own text. Every change of system.md makes a new one.
const Name = "agent-1"

//go:embed system.md
var system string

// Prompt is the system prompt of a run.
type Prompt struct {
	Text  string
	Name  string                // of our own text in it
	Files []journal.Instruction // quoted in it, in their order
	Notes []string              // for the person, safe to show: what is not quoted, or not whole, and why
}

// Read writes the system prompt for a run in folder, which is absolute. It holds nothing that
// changes from one call to the next, such as the date. Nothing that lies in state, the host's own
// folder, is ever quoted.
//
// Quoted are the files named AGENTS.md of the folder and of its parents up to the root of the
// repository, which is the nearest of them with a .git; without a repository only the folder's own.
// A folder without an AGENTS.md may have a CLAUDE.md instead. The outermost comes first, and before
// it the AGENTS.md beside own, the file of the person's configuration; "" is none. The skills of
// the folder are listed, not quoted.
func Read(folder, state, own string) (Prompt, error) {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return Prompt{}, fmt.Errorf("read the instructions for %s: %w", folder, err)
	}
	r, err := newReader(real, state)
	if err != nil {
		return Prompt{}, fmt.Errorf("read the instructions for %s: %w", folder, err)
	}
	defer r.root.Close() // it was only read from
	quotes, listed := r.quotes(own), skillsText(r.skills())
	p := Prompt{Name: Name, Notes: r.notes}
	var text strings.Builder
	text.WriteString(system)
	fmt.Fprintf(&text, "\n# Where you are\n\nFolder: %s\nSystem: %s\n", oneLine(real), runtime.GOOS)
	if real != r.top {
		fmt.Fprintf(&text, "Repository: %s\n", oneLine(r.top))
	}
	if len(quotes) > 0 {
		text.WriteString("\n# Standing instructions\n\nOf two that differ, the later one counts.\n")
	}
	for _, q := range quotes {
		text.WriteString(q.text())
		p.Files = append(p.Files, q.file)
	}
	text.WriteString(listed)
	p.Text = text.String()
	return p, nil
}

// quote is a file as the prompt shows it.
type quote struct {
	file journal.Instruction
	body string // what is shown of it
	cut  bool
}

// text sets the file off by a mark that is made from its content, and so does not occur in it.
func (q quote) text() string {
	mark := q.file.Digest[:12]
	var b strings.Builder
	fmt.Fprintf(&b, "\n[begin %s: %s]\n%s", mark, oneLine(q.file.Path), q.body)
	if !strings.HasSuffix(q.body, "\n") {
		b.WriteByte('\n')
	}
	if q.cut {
		fmt.Fprintf(&b, "[the rest is left out: %d of %d bytes are shown; the whole file is at the path above]\n", len(q.body), q.file.Bytes)
	}
	fmt.Fprintf(&b, "[end %s]\n", mark)
	return b.String()
}

// oneLine keeps a path from looking like more than one line of the prompt, or like something else
// than it is.
func oneLine(path string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(path, "\uFFFD"))
}
