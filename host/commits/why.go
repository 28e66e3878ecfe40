package commits

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agent/host/drive"
	"agent/host/view"
	"agent/host/workspace"
	"agent/recovery/workspace/origin"
	"agent/tools/gitrepo/objects"
)

// LineError says that a file has no such line.
type LineError struct{ File, Why string }

func (e *LineError) Error() string {
	return fmt.Sprintf("find where a line of %s is from: %s", e.File, e.Why)
}

// Why says where a line of a file is from, counted from 1: *LineError. What the runs' looks saw of
// the file is replayed version by version up to what is on disk now; a line that was there before
// them is looked for in git's history.
func Why(ctx context.Context, p *drive.Process, file string, line int) (view.Why, error) {
	w := view.Why{Version: 1, File: file, Line: line}
	full, err := filepath.Abs(file)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return w, &LineError{file, plainly(err)}
	}
	content, err := os.ReadFile(full)
	if err != nil {
		return w, &LineError{file, plainly(err)}
	}
	lines := bytes.Split(bytes.TrimSuffix(content, []byte("\n")), []byte("\n"))
	if line < 1 || line > len(lines) {
		return w, &LineError{file, fmt.Sprintf("it has %s", view.Count(len(lines), "line"))}
	}
	w.Text = p.Store.Redact(strings.ToValidUTF8(string(lines[line-1]), "\uFFFD"))
	a := answering{p: p, why: &w, full: full, line: line}
	repo, found, err := objects.Find(filepath.Dir(full))
	if err == nil && found {
		if _, err := CatchUp(ctx, p, repo.Top); err != nil {
			p.Warn("", "what became of the repository since is not known: %v", err)
		}
		if a.book, err = openBook(ctx, p, repo); err != nil {
			return w, err
		}
	}
	err = a.answer(ctx, content)
	if a.book != nil {
		err = errors.Join(err, a.book.close())
	}
	return w, err
}

// plainly leaves out of an error what its sentence says already.
func plainly(err error) string {
	if at := new(os.PathError); errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// answering is a question about a line.
type answering struct {
	p    *drive.Process
	why  *view.Why
	full string
	line int
	book *book // nil: the file is in no repository
}

func (a answering) answer(ctx context.Context, content []byte) error {
	c, records, err := a.readers()
	if err != nil {
		return err
	}
	defer c.Close() // they are only read
	is := spot{full: a.full, content: c.named(content), line: a.line}
	c.known[is.content.ID] = content
	t := tracing{contents: c, records: records, now: a.p.Now()}
	v, where, err := t.trace(ctx, is)
	if err != nil {
		return err
	}
	if v != nil {
		a.version(ctx, *v)
	}
	for _, at := range where {
		if err := a.committed(ctx, at); err != nil || a.why.Commit != nil {
			return err
		}
	}
	return nil
}

func (a answering) readers() (contents, *records, error) {
	if a.book != nil {
		return a.book.contents, a.book.records, nil
	}
	kept, err := workspace.NewContents(a.p, filepath.Dir(a.full))
	return contents{Contents: kept, known: map[string][]byte{}}, newRecords(a.p), err
}

// version takes the version that brought the line.
func (a answering) version(ctx context.Context, v version) {
	at := v.at
	a.why.Seen = &at
	if v.by.run == "" {
		a.why.From = view.FromPerson
		return
	}
	a.why.From, a.why.Run = view.FromRun, v.by.run
	if row, err := a.p.Store.Run(ctx, v.by.run); err == nil { // the id says enough
		a.why.Prompt = row.Prompt
	}
	if v.by.place.Turn == 0 {
		return
	}
	a.why.Turn, a.why.Place = v.by.place.Turn, fmt.Sprintf("%d.%d", v.by.place.Turn, v.by.place.Index)
	calls, err := a.p.Store.Calls(ctx, v.by.run)
	for _, c := range calls {
		if err == nil && c.Turn == v.by.place.Turn && c.Index == v.by.place.Index {
			a.why.Call, a.why.Tool = c.ID, c.Tool
		}
	}
}

// committed looks which commit brought a line of HEAD, and whose work that commit holds.
func (a answering) committed(ctx context.Context, at spot) error {
	if a.book == nil {
		return nil
	}
	r := newReader(a.book)
	head, err := r.Resolve(ctx, "HEAD")
	if err != nil {
		return nil // nothing was committed yet
	}
	name, err := filepath.Rel(a.book.repo.Top, at.full)
	if err != nil {
		return err
	}
	name = filepath.ToSlash(name)
	was, ok := a.atHead(ctx, head, name)
	if !ok {
		return nil
	}
	line := origin.Counterpart(was, at.content, at.line)
	if line == 0 {
		return nil
	}
	blamed, err := a.book.rd.Blame(ctx, head, name, line)
	if err != nil {
		return nil // as of a shallow clone: the record says what it can
	}
	v, err := r.Commit(ctx, blamed.Commit)
	if err != nil {
		return err
	}
	a.why.Commit = &v
	if a.why.From == "" && len(v.Links) > 0 {
		a.linked(ctx, v, blamed.Path)
	}
	return nil
}

// linked takes the run whose work the commit holds at the path.
func (a answering) linked(ctx context.Context, v view.Commit, path string) {
	for _, l := range v.Links {
		for _, p := range l.Paths {
			if p == path && a.why.From == "" {
				a.why.From, a.why.Run, a.why.Turn, a.why.Prompt, a.why.Place = view.FromRun, l.Run, l.Turn, l.Prompt, l.Place
				at := v.Authored
				a.why.Seen = &at
			}
		}
	}
}

// atHead is the file as the commit at HEAD has it.
func (a answering) atHead(ctx context.Context, head, name string) (origin.Content, bool) {
	content, err := a.book.rd.File(ctx, head, name, origin.MaxBytes)
	if err != nil {
		return origin.Content{}, false // it is not in it, or too large
	}
	return a.book.contents.named(content), true
}
