package commits

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/recovery/journal"
	"agent/recovery/workspace/origin"
)

// Bounds of following a file that moved.
const (
	maxMoves = 16 // from one path to another
	maxGone  = 64 // files that went in the look in which it came
)

// spot is a line of a file.
type spot struct {
	full    string // path in the file system
	content origin.Content
	line    int // counted from 1
}

// tracing finds the version that brought a line.
type tracing struct {
	contents
	records *records
	now     time.Time
}

// trace is the version that brought a line, by whatever path; nil where the line was there before
// all versions. where lists the places of the line, the last one first.
func (t tracing) trace(ctx context.Context, at spot) (v *version, where []spot, err error) {
	for moves := range maxMoves {
		where = append(where, at)
		list, n, err := t.brought(ctx, at, moves == 0)
		if err != nil || n < 1 {
			return nil, where, err
		}
		old, ok, err := t.moved(ctx, at, list, n)
		if err != nil || !ok {
			return &list[n], where, err
		}
		at = old
	}
	return nil, where, nil
}

// brought is which version of a path brought a line: an index, or origin.Unknown. disk says that
// the content is that on disk, which may be another than the last that a look saw.
func (t tracing) brought(ctx context.Context, at spot, disk bool) (list []version, n int, err error) {
	top := "/" + strings.Split(strings.TrimPrefix(filepath.ToSlash(at.full), "/"), "/")[0]
	name, err := filepath.Rel(top, at.full)
	if err != nil {
		return nil, 0, err
	}
	name = filepath.ToSlash(name)
	runs, err := t.records.changers(ctx, top, []string{name})
	if err != nil {
		return nil, 0, err
	}
	if list, err = t.records.versions(ctx, at.full, runs[name], time.Time{}); err != nil || len(list) == 0 {
		return nil, origin.Unknown, err
	}
	if last := t.of(ctx, list[len(list)-1].v); disk && last.ID != at.content.ID {
		list = append(list, version{v: &journal.FileVersion{Size: int64(len(at.content.Bytes)), Kept: at.content.ID}, at: t.now})
	}
	lines := t.replay(ctx, list).Lines(at.content)
	if len(lines) < at.line {
		return nil, origin.Unknown, nil
	}
	return list, lines[at.line-1], nil
}

// moved is where a line was before its file came to its path: a version that made a file holds it,
// and the look that saw the file come saw another go that has the line. Of several, one with the
// same content counts first, then one of the same name.
func (t tracing) moved(ctx context.Context, at spot, list []version, n int) (old spot, ok bool, err error) {
	made := list[n]
	if list[n-1].v != nil || made.v == nil || made.step.saw == "" {
		return old, false, nil
	}
	all, err := t.records.of(ctx, made.step.saw)
	if err != nil {
		return old, false, err
	}
	type file struct {
		full string
		v    *journal.FileVersion
	}
	var gone []file
	for full, steps := range all {
		for _, s := range steps {
			if s.look == made.step.look && s.change.After == nil && s.change.Before != nil && s.change.Before.Kind == journal.FileRegular {
				gone = append(gone, file{full, s.change.Before})
			}
		}
	}
	worth := func(f file) int {
		switch {
		case f.v.SameContent(made.v):
			return 0
		case path.Base(f.full) == path.Base(at.full):
			return 1
		}
		return 2
	}
	slices.SortFunc(gone, func(a, b file) int { return cmp.Or(worth(a)-worth(b), strings.Compare(a.full, b.full)) })
	is := t.of(ctx, made.v)
	line := origin.Counterpart(is, at.content, at.line)
	if line == 0 {
		return old, false, nil
	}
	for _, f := range gone[:min(len(gone), maxGone)] {
		was := t.of(ctx, f.v)
		if before := origin.Counterpart(was, is, line); before > 0 {
			return spot{f.full, was, before}, true, nil
		}
	}
	return old, false, nil
}
