package terminal

import (
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"agent/host/stream"
)

// Table is what a list command prints for people: aligned columns with a head. The last column is
// never cut, since that is where the next command stands.
type Table struct {
	Head []string
	Most []int // widest that a column may get, in cells of a terminal; 0 or absent: as wide as it needs
	Fit  int   // cells of the terminal; 0: no limit
	rows [][]string
	more map[int][]string // further lines of a row's last cell
	note map[int][]string // lines below a row
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// More adds a line to the last cell of the newest row.
func (t *Table) More(text string) { t.more = added(t.more, len(t.rows), text) }

// Note adds a line below the newest row, which is cut where the terminal ends.
func (t *Table) Note(text string) { t.note = added(t.note, len(t.rows), text) }

func added(m map[int][]string, row int, text string) map[int][]string {
	if m == nil {
		m = map[int][]string{}
	}
	m[row] = append(m[row], text)
	return m
}

// Write prints the table. Cells come from models and tools too: control sequences are taken out,
// and a cell is one line. Where the terminal is too narrow the last column gets lines of its own,
// and the columns before it are cut to the width.
func (t *Table) Write(w io.Writer) {
	lines := append([][]string{t.Head}, t.rows...)
	widths := make([]int, len(t.Head))
	for i, line := range lines {
		clean := make([]string, len(line))
		for col, cell := range line {
			clean[col] = t.cell(col, cell)
			widths[col] = max(widths[col], displaywidth.String(clean[col]))
		}
		lines[i] = clean
	}
	last := len(t.Head) - 1
	for _, lines := range t.more {
		for i := range lines {
			lines[i] = t.cell(last, lines[i])
			widths[last] = max(widths[last], displaywidth.String(lines[i]))
		}
	}
	below := t.Fit > 0 && spread(widths) > t.Fit
	if below {
		t.narrow(widths[:last])
		lines[0][last] = ""
	}
	set := belowRow
	if !below {
		set = strings.Repeat(" ", spread(widths[:last])+2)
	}
	var b strings.Builder
	for row, line := range lines {
		text := ""
		for col, cell := range line[:last] {
			cell = displaywidth.TruncateString(cell, widths[col], "…")
			text += cell + strings.Repeat(" ", widths[col]-displaywidth.String(cell)+2)
		}
		if below && line[last] != "" {
			text = strings.TrimRight(text, " ") + "\n" + belowRow
		}
		b.WriteString(strings.TrimRight(text+line[last], " ") + "\n")
		for _, more := range t.more[row] {
			b.WriteString(set + more + "\n")
		}
		for _, note := range t.note[row] {
			b.WriteString(belowRow + t.noteText(note) + "\n")
		}
	}
	_, _ = io.WriteString(w, b.String()) // a reader that went away stops the showing, nothing else
}

// belowRow is set before what stands below its row.
const belowRow = "    "

// mostNote is how wide a line below a row gets where the terminal does not say how wide it is.
const mostNote = 200

func (t *Table) noteText(text string) string {
	most := mostNote
	if t.Fit > 0 {
		most = max(leastColumn, t.Fit-len(belowRow))
	}
	return displaywidth.TruncateString(t.cell(len(t.Head)-1, text), most, "…")
}

// spread is how wide columns are with the space between them.
func spread(widths []int) int {
	n := 2 * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return n
}

// leastColumn is what is left of a column that is cut to fit.
const leastColumn = 8

// narrow takes from the widest of the columns that may be cut until all fit.
func (t *Table) narrow(widths []int) {
	for spread(widths) > t.Fit {
		widest := -1
		for col, w := range widths {
			if col < len(t.Most) && t.Most[col] > 0 && w > leastColumn && (widest < 0 || w > widths[widest]) {
				widest = col
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

func (t *Table) cell(col int, text string) string {
	text = strings.Join(strings.Fields(stream.Sanitize(text)), " ")
	if col < len(t.Most) && t.Most[col] > 0 && col < len(t.Head)-1 {
		text = displaywidth.TruncateString(text, t.Most[col], "…")
	}
	return text
}
