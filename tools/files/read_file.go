package files

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/excerpt"
)

// readFile shows a file's text.
type readFile struct{ limits }

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

// Spec describes the tool.
func (readFile) Spec() tools.Spec {
	return tools.Spec{
		Name: "read_file",
		Description: "Read a text file of the workspace. Up to 64 KiB come back at once; a longer file says how to read on. " +
			"Binary files are named as such and not shown.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "minLength": 1, "description": "relative to the workspace, or absolute inside it"},
				"offset": {"type": "integer", "minimum": 1, "description": "first line to read, from 1"},
				"limit": {"type": "integer", "minimum": 1, "description": "how many lines to read"}
			},
			"required": ["path"],
			"additionalProperties": false
		}`),
	}
}

// Describe says that it only reads.
func (readFile) Describe(string, json.RawMessage) tools.Traits {
	return tools.Traits{Effect: journal.EffectRead}
}

// Call reads the file.
func (t readFile) Call(ctx context.Context, c tools.Call) (journal.Result, error) {
	a, err := tools.Decode[readArgs](c.Args)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	w, err := t.open(c, a.Path)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	defer w.Close()
	s, err := w.Find(a.Path)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	defer s.Close()
	if s.Info != nil && s.Info.IsDir() {
		return tools.Failed(journal.AppliedNo, fmt.Errorf("%s is a folder; list_dir lists it", a.Path))
	}
	f, info, err := s.Open()
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	defer f.Close() // it was only read from; nothing can be lost
	p := &pager{first: max(a.Offset, 1), limit: a.Limit, size: info.Size()}
	if err := p.read(ctx, f); err != nil {
		return tools.Failed(journal.AppliedNo, fmt.Errorf("read %s: %w", a.Path, reason(err)))
	}
	return tools.Done(journal.AppliedNo, p.text(a.Path)), nil
}

// pager takes the lines that were asked for out of a file, within the bound of what a model gets to
// see.
type pager struct {
	first, limit int
	size         int64
	out          bytes.Buffer
	line         int // the last line that was read
	shown        int // lines in out
	cut          int // number of a line that was cut, 0 if none
	more         bool
	binary       bool
}

func (p *pager) read(ctx context.Context, f io.Reader) error {
	r := bufio.NewReaderSize(f, excerpt.MaxContent)
	start, err := r.Peek(8000)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	if excerpt.LooksBinary(start) {
		p.binary = true
		return nil
	}
	begun := true // the next piece begins a line
	for {
		piece, err := r.ReadSlice('\n')
		whole := err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return err
		}
		end := errors.Is(err, io.EOF)
		if len(piece) > 0 {
			if begun {
				p.line++
			}
			if p.take(piece, begun) {
				return nil
			}
		}
		if end {
			return ctx.Err()
		}
		if begun = whole; ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// take keeps a piece of a line if it was asked for, and reports that enough is kept.
func (p *pager) take(piece []byte, begins bool) bool {
	switch {
	case p.line < p.first || p.cut == p.line:
		return false
	case begins && p.limit > 0 && p.shown == p.limit, begins && p.cut > 0:
		p.more = true
		return true
	case p.out.Len()+len(piece) <= excerpt.MaxContent:
		p.out.Write(piece)
	case begins && p.shown > 0:
		p.more = true
		return true
	default: // a single line beyond all bounds: its head is what can be shown
		p.out.Write(excerpt.Head(piece, excerpt.MaxContent-p.out.Len()))
		p.cut = p.line
	}
	if begins {
		p.shown++
	}
	return false
}

func (p *pager) text(path string) string {
	if p.binary {
		return fmt.Sprintf("[%s is binary, %d bytes; not shown]", path, p.size)
	}
	if p.shown == 0 {
		if p.line == 0 {
			return fmt.Sprintf("[%s is empty]", path)
		}
		return fmt.Sprintf("[%s has %s; none from line %d on]", path, excerpt.Plural(p.line, "line", "lines"), p.first)
	}
	raw := p.out.String()
	text := excerpt.Valid(raw)
	note := ""
	if p.cut > 0 {
		note += fmt.Sprintf("[line %d is longer than %d bytes; the rest of it is left out]\n", p.cut, excerpt.MaxContent)
	}
	if text != raw {
		note += "[bytes that are not UTF-8 are shown as \uFFFD]\n"
	}
	last := p.first + p.shown - 1
	if p.more {
		note += fmt.Sprintf("[lines %d to %d; the file has %d bytes; read on with offset %d]\n", p.first, last, p.size, last+1)
	} else if p.first > 1 {
		note += fmt.Sprintf("[lines %d to %d, the end of the file]\n", p.first, last)
	}
	if note != "" && text[len(text)-1] != '\n' {
		text += "\n"
	}
	return text + note
}
