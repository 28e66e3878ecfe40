package diff

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"agent/host/view"
	"agent/recovery/journal"
)

// side is what was at a path before or after.
type side struct {
	v       *journal.FileVersion
	content []byte             // as it may be shown
	lost    journal.LeftReason // why there is no content
	secrets bool
	whole   []byte // as it is
}

// source gives contents and keeps secrets out of what is shown.
type source struct {
	content func(ctx context.Context, v *journal.FileVersion) ([]byte, error)
	redact  func(string) string
}

// side reads what was at a path.
func (s source) side(ctx context.Context, v *journal.FileVersion) (side, error) {
	one := side{v: v}
	switch {
	case v == nil || v.Kind == journal.FileFolder:
		return one, nil
	case v.Kind == journal.FileLink:
		one.whole = []byte(v.Link)
	case v.Lost != "":
		one.lost = v.Lost
		return one, nil
	case v.Kind != journal.FileRegular:
		one.lost = journal.LeftSpecial
		return one, nil
	default:
		content, err := s.content(ctx, v)
		if ctx.Err() != nil {
			return one, ctx.Err()
		}
		if err != nil {
			one.lost = journal.LeftUnreadable
			return one, nil
		}
		one.whole = content
	}
	text := s.redact(string(one.whole))
	one.content, one.secrets = []byte(text), text != string(one.whole)
	return one, nil
}

// file shows what became of a path. ok is false where nothing did in the end.
func (s source) file(ctx context.Context, name string, before, after *journal.FileVersion) (f view.DiffFile, ok bool, err error) {
	f = view.DiffFile{Path: s.redact(strings.ToValidUTF8(name, "\uFFFD")), Kind: view.DiffChanged, Calls: []view.DiffCall{}, Notes: []string{}}
	if f.Path != name && f.Path == strings.ToValidUTF8(name, "\uFFFD") {
		f.Raw = []byte(name)
	}
	a, err := s.side(ctx, before)
	if err != nil {
		return f, false, err
	}
	b, err := s.side(ctx, after)
	if err != nil {
		return f, false, err
	}
	if same(a, b) {
		return f, false, nil
	}
	if before == nil {
		f.Kind = view.DiffAdded
	} else if after == nil {
		f.Kind = view.DiffRemoved
	}
	f.Before, f.After = a.view(), b.view()
	text := s.redact(name)
	f.Diff = gitText(&f, text, a, b)
	f.Notes = append(f.Notes, notes(f, a, b)...)
	return f, true, nil
}

// same says whether two sides are known to be the same, with their modes.
func same(a, b side) bool {
	if a.v == nil || b.v == nil {
		return a.v == b.v
	}
	if a.v.Same(b.v) {
		return true
	}
	return a.v.Kind == b.v.Kind && a.v.Mode == b.v.Mode && a.v.Kind == journal.FileRegular &&
		a.lost == "" && b.lost == "" && bytes.Equal(a.whole, b.whole)
}

func (s side) view() *view.DiffVersion {
	if s.v == nil {
		return nil
	}
	v := &view.DiffVersion{Kind: s.v.Kind, Size: s.v.Size, Lost: s.lost}
	if s.v.Kind != journal.FileLink {
		v.Mode = fmt.Sprintf("%04o", s.v.Mode)
	}
	return v
}

// gitText is the diff of a path in git's format. Where a file becomes a link, or the other way
// round, the one is deleted and the other made.
func gitText(f *view.DiffFile, name string, a, b side) string {
	before, after := gitMode(a.v), gitMode(b.v)
	if before != "" && after != "" && (before == "120000") != (after == "120000") {
		return gitText(f, name, a, side{}) + gitText(f, name, side{}, b)
	}
	if before == "" && after == "" {
		return ""
	}
	if a.lost != "" || b.lost != "" {
		if a.v.SameContent(b.v) {
			return header(name, before, after, false)
		}
		f.Binary = f.Binary || a.lost == "" && binary(a.content) || b.lost == "" && binary(b.content)
		return header(name, before, after, false) + noText(name, before, after)
	}
	f.Secrets = f.Secrets || a.secrets || b.secrets
	if bytes.Equal(a.content, b.content) {
		text := header(name, before, after, false)
		if !bytes.Equal(a.whole, b.whole) {
			text += noText(name, before, after)
		} else if before == after {
			return "" // a mode that git does not know
		}
		return text
	}
	if binary(a.content) || binary(b.content) {
		f.Binary = true
		return header(name, before, after, false) + noText(name, before, after)
	}
	text, added, removed := hunks(a.content, b.content)
	f.Added, f.Removed = f.Added+added, f.Removed+removed
	return header(name, before, after, true) + text
}

// notes say what the diff cannot.
func notes(f view.DiffFile, a, b side) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if a.lost != "" && a.v.Kind != journal.FileSpecial {
		add("what was there before is not kept (%s)%s", a.lost, size(a.v))
	}
	if b.lost != "" && b.v.Kind != journal.FileSpecial {
		add("what was made of it is not kept (%s)%s", b.lost, size(b.v))
	}
	for _, one := range []struct {
		side
		verb string
	}{{a, "was"}, {b, "is"}} {
		switch {
		case one.v != nil && one.v.Kind == journal.FileFolder:
			add("it %s a folder", one.verb)
		case one.v != nil && one.v.Kind == journal.FileSpecial:
			add("it %s a special file, which is not kept (special)", one.verb)
		}
	}
	if a.v != nil && b.v != nil && a.v.Mode != b.v.Mode && a.v.Kind == b.v.Kind && gitMode(a.v) == gitMode(b.v) {
		add("its mode was %04o and is %04o", a.v.Mode, b.v.Mode)
	}
	if f.Binary {
		add("no text: %s before, %s after", bytesOf(a), bytesOf(b))
	}
	if f.Secrets {
		add("placeholders stand for its secrets: this cannot be applied where they are")
	}
	return list
}

func size(v *journal.FileVersion) string { return ", " + view.Bytes(v.Size) }

func bytesOf(s side) string {
	if s.v == nil {
		return "nothing"
	}
	return view.Bytes(s.v.Size)
}
