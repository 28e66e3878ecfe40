// Package patch reads unified diffs, with git's headers or without, and applies them to contents in
// memory. It reads what it is given as git does (git-diff(1), "Generating patch text with -p") and
// forgives what cannot be misread: wrong counts and line numbers where the content is there once,
// missing a/ and b/, lines that end otherwise than the file's. It never guesses at content: every
// context line and every deleted line must stand in the file.
package patch

import (
	"errors"
	"fmt"
	"strings"
)

// Bounds of a patch.
const (
	maxBytes = 16 << 20
	maxFiles = 1000
)

// Patch is a list of changes, one a file.
type Patch struct {
	Files []File
}

// File is the change of one file.
type File struct {
	Line    int    // of its header in the patch, from 1
	Old     string // name before; "" when the file is made
	New     string // name after; "" when the file is deleted
	Literal string // the name with the a/ or b/ that was taken off and may be a folder; "" without doubt
	OldMode uint32 // as git writes it, such as 0100755; 0 when it is not said
	NewMode uint32
	Hunks   []Hunk
}

// Hunk is one block of changed lines.
type Hunk struct {
	Line  int    // of its header in the patch, from 1
	Start int    // first old line, from 1; -1 when it is not said, or in doubt
	Lines []Line // never empty
	doubt string // a line that may belong to the hunk and was read as the next file's header; "" when there is none
}

// Line is one line of a hunk.
type Line struct {
	Op   byte   // ' ', '-' or '+'
	Text string // with its line end; without one where the file ends in it
}

// Create says whether the file is made.
func (f File) Create() bool { return f.Old == "" }

// Delete says whether the file is deleted.
func (f File) Delete() bool { return f.New == "" }

// Rename says whether the file gets another name.
func (f File) Rename() bool { return f.Old != "" && f.New != "" && f.Old != f.New }

// Name is what to call the file in a sentence.
func (f File) Name() string {
	if f.New != "" {
		return f.New
	}
	return f.Old
}

// Words names the files in one line.
func (p Patch) Words() string {
	var names []string
	for _, f := range p.Files {
		names = append(names, f.Name())
	}
	return strings.Join(names, ", ")
}

// Paths lists every name that the patch may mean.
func (p Patch) Paths() []string {
	var all []string
	for _, f := range p.Files {
		for _, name := range []string{f.Old, f.New, f.Literal} {
			if name != "" {
				all = append(all, name)
			}
		}
	}
	return all
}

// reader goes through the lines of a patch.
type reader struct {
	lines []string // without line ends
	n     int      // index of the next one
	files []File
}

// Parse reads a patch. The error names the line and is worded for who wrote the patch.
func Parse(text string) (Patch, error) {
	if len(text) > maxBytes {
		return Patch{}, fmt.Errorf("the patch has %d bytes, at most %d can be used", len(text), maxBytes)
	}
	if strings.IndexByte(text, 0) >= 0 {
		return Patch{}, errors.New("the patch holds a NUL byte: only text can be patched")
	}
	r := &reader{lines: unfence(split(text))}
	for r.n < len(r.lines) {
		if err := r.next(); err != nil {
			return Patch{}, err
		}
		if len(r.files) > maxFiles {
			return Patch{}, fmt.Errorf("the patch is about more than %d files", maxFiles)
		}
	}
	if len(r.files) == 0 {
		return Patch{}, errors.New("there is no file in the patch: each begins with a line --- a/PATH and a line +++ b/PATH, and its hunks with @@")
	}
	return Patch{r.files}, nil
}

// split makes lines. Where each of them ends in CR LF, and so the headers too, that is how the
// patch came and says nothing about the file.
func split(text string) []string {
	if n := strings.Count(text, "\n"); n > 0 && strings.Count(text, "\r\n") == n {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// unfence takes a Markdown fence off that stands around the whole patch. The lines keep their
// numbers.
func unfence(lines []string) []string {
	first, last := 0, len(lines)-1
	for first < last && strings.TrimSpace(lines[first]) == "" {
		first++
	}
	for last > first && strings.TrimSpace(lines[last]) == "" {
		last--
	}
	if first < last && strings.HasPrefix(lines[first], "```") && strings.TrimSpace(lines[last]) == "```" {
		lines[first] = ""
		return lines[:last]
	}
	return lines
}

func (r *reader) at(i int) string {
	if i < len(r.lines) {
		return r.lines[i]
	}
	return ""
}

// next takes one file, or a line that belongs to none.
func (r *reader) next() error {
	line := r.lines[r.n]
	switch {
	case strings.HasPrefix(line, "diff --git "):
		return r.gitFile()
	case r.headerAt(r.n):
		return r.plainFile()
	case strings.HasPrefix(line, "@@"):
		return r.wrong(r.n, "a hunk without a file: the lines --- a/PATH and +++ b/PATH must stand above it")
	case strings.HasPrefix(line, "diff --cc "), strings.HasPrefix(line, "diff --combined "):
		return r.wrong(r.n, "the diff of a merge cannot be applied")
	case strings.HasPrefix(line, "*** "):
		return r.wrong(r.n, "%s: this is no unified diff. Each file begins with a line --- a/PATH and a line +++ b/PATH, and its hunks with @@", shown(line))
	case strings.HasPrefix(line, "Only in "), strings.HasPrefix(line, "Binary files "):
		return r.wrong(r.n, "%s: nothing says what the file holds", shown(line))
	case strings.TrimSpace(line) == "", strings.HasPrefix(line, "Index: "), strings.HasPrefix(line, "====="), strings.HasPrefix(line, "diff "):
	case r.signature(r.n):
		r.n = len(r.lines)
		return nil
	case len(r.files) > 0 || strings.HasPrefix(line, "+"):
		return r.wrong(r.n, "%s belongs to no file of the patch", shown(line))
	}
	r.n++
	return nil
}

// headerAt says whether the two lines that name a file stand there.
func (r *reader) headerAt(i int) bool {
	return strings.HasPrefix(r.at(i), "--- ") && strings.HasPrefix(r.at(i+1), "+++ ")
}

// signature says whether what is left is what git format-patch puts at the end of a mail.
func (r *reader) signature(i int) bool {
	if strings.TrimRight(r.at(i), " ") != "--" || i+1 >= len(r.lines) {
		return false
	}
	for _, line := range r.lines[i+2:] {
		if strings.TrimSpace(line) != "" {
			return false
		}
	}
	version := r.at(i + 1)
	return version != "" && strings.IndexByte(" +-\\@", version[0]) < 0
}

func (r *reader) wrong(i int, format string, a ...any) error {
	return fmt.Errorf("line %d of the patch: %s", i+1, fmt.Sprintf(format, a...))
}

// shown quotes a line, cut where it is long.
func shown(line string) string {
	const room = 160
	line = strings.TrimSuffix(line, "\n")
	if len(line) > room {
		return fmt.Sprintf("%q…", line[:room])
	}
	return fmt.Sprintf("%q", line)
}
