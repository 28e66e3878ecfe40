package diff

import (
	"context"
	"strings"

	"agent/host/view"
)

// Bounds are how much of a diff is given at once.
type Bounds struct {
	Files int  // paths
	File  int  // bytes of the diff of one path
	Bytes int  // of those of all
	Stat  bool // no text at all
}

// Bounded is View in a size that is known before: texts that are cut end with a whole line and are
// marked, and paths beyond the bound are counted.
func (d *Diff) Bounded(ctx context.Context, b Bounds) (view.Diff, error) {
	v := view.Diff{Version: 1, Run: d.Run, From: d.From, To: d.To, Files: []view.DiffFile{}}
	all := *d
	if n := len(d.paths); n > b.Files {
		all.paths, v.More = d.paths[:b.Files], n-b.Files
	}
	for f, err := range all.Files(ctx) {
		if err != nil {
			return v, err
		}
		if b.Stat {
			f.Diff = ""
		} else if most := min(b.File, b.Bytes); len(f.Diff) > most {
			f.Diff, f.Cut = f.Diff[:strings.LastIndexByte(f.Diff[:most], '\n')+1], true
		}
		b.Bytes -= len(f.Diff)
		v.Files = append(v.Files, f)
	}
	return v, nil
}
