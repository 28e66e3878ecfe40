package files

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"agent/tools/excerpt"
)

// searcher collects the lines that match.
type searcher struct {
	re      *regexp.Regexp
	literal []byte // every match holds it; empty if nothing is known
	glob    string
	max     int

	buf     []byte // of the file at hand, used again
	out     strings.Builder
	matches int
	files   int // searched
	binary  int // not searched, as the next two
	large   int
	unread  int
	full    bool // more may match, but there is no room
}

// file searches an opened file and closes it. errEnough says that there is no room for more.
func (s *searcher) file(f *os.File, info fs.FileInfo, rel string) error {
	defer f.Close() // it was only read from; nothing can be lost
	if info.Size() > maxSearched {
		s.large++
		return nil
	}
	content, err := s.read(f, info.Size())
	if err != nil {
		return fmt.Errorf("read %s: %w", rel, reason(err))
	}
	if excerpt.LooksBinary(content) {
		s.binary++
		return nil
	}
	s.files++
	return s.scan(content, excerpt.Name(rel))
}

// read fills the buffer with the file, at most to its bound.
func (s *searcher) read(f io.Reader, size int64) ([]byte, error) {
	if int64(cap(s.buf)) <= size {
		s.buf = make([]byte, max(size+1, 64<<10)) // one more, so that the end is seen without growing
	}
	s.buf = s.buf[:cap(s.buf)]
	n := 0
	for {
		if n == len(s.buf) {
			return s.buf[:n], nil // it grew while it was read; what was there is enough
		}
		got, err := f.Read(s.buf[n:])
		n += got
		if err == io.EOF {
			return s.buf[:n], nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// scan goes from line to line, or with a literal from one line that holds it to the next.
func (s *searcher) scan(content []byte, name string) error {
	number, counted := 1, 0 // the line at offset counted
	for pos := 0; pos < len(content); {
		if len(s.literal) > 0 {
			i := bytes.Index(content[pos:], s.literal)
			if i < 0 {
				return nil
			}
			pos += bytes.LastIndexByte(content[pos:pos+i], '\n') + 1
		}
		end := len(content)
		if i := bytes.IndexByte(content[pos:], '\n'); i >= 0 {
			end = pos + i
		}
		line := bytes.TrimSuffix(content[pos:end], []byte("\r"))
		if at := s.re.FindIndex(line); at != nil {
			number += bytes.Count(content[counted:pos], []byte("\n"))
			counted = pos
			if err := s.keep(name, number, line, at); err != nil {
				return err
			}
		}
		pos = end + 1
	}
	return nil
}

// keep notes one line, cut to a window around the match if it is long.
func (s *searcher) keep(name string, number int, line []byte, at []int) error {
	if s.matches == s.max || s.out.Len() > excerpt.MaxContent-2*maxPath {
		s.full = true
		return errEnough
	}
	s.matches++
	before, after := "", ""
	if len(line) > lineRoom {
		start := 0
		if at[0] > lineBeforeMatch {
			start = len(line) - len(excerpt.Tail(line, len(line)-(at[0]-lineBeforeMatch)))
			before = "…"
		}
		if line = line[start:]; len(line) > lineRoom {
			line, after = excerpt.Head(line, lineRoom), "…"
		}
	}
	fmt.Fprintf(&s.out, "%s:%d: %s%s%s\n", name, number, before, excerpt.Valid(string(line)), after)
	return nil
}

// text is what was found, and what was not looked at.
func (s *searcher) text() string {
	if s.matches == 0 {
		fmt.Fprintf(&s.out, "[no match in %s]\n", excerpt.Plural(s.files, "file", "files"))
	}
	if s.full {
		fmt.Fprintf(&s.out, "[stopped after %s; narrow the pattern or the path]\n", excerpt.Plural(s.matches, "line", "lines"))
	}
	var not []string
	for _, n := range []struct {
		count int
		what  string
	}{{s.binary, "binary"}, {s.large, fmt.Sprintf("over %d MiB", maxSearched>>20)}, {s.unread, "unreadable"}} {
		if n.count > 0 {
			not = append(not, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	if len(not) > 0 {
		fmt.Fprintf(&s.out, "[not searched: %s]\n", strings.Join(not, ", "))
	}
	return s.out.String()
}
