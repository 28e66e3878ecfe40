package fork

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"agent/host/view"
	"agent/recovery/journal"
	"agent/tools/gitrepo/history"
)

const (
	maxFile  = 8 << 20 // bytes of one file that is kept
	maxNamed = 5       // paths that an error names
)

// readable refuses a worktree of which a content cannot be given: nothing was made yet.
func (t *Tree) readable(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(t.write)) {
		if v := t.write[name]; v.Kind == journal.FileRegular {
			_, err := t.content(ctx, v)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				t.lost = append(t.lost, journal.LeftOut{Path: name, Reason: journal.LeftUnreadable, Size: v.Size})
			}
		}
	}
	if len(t.lost) == 0 {
		return nil
	}
	var names []string
	for _, l := range t.lost[:min(len(t.lost), maxNamed)] {
		names = append(names, fmt.Sprintf("%s (%s)", l.Path, l.Reason))
	}
	more := ""
	if n := len(t.lost) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return t.refused("what these were at the position is not kept: "+strings.Join(names, ", ")+more,
		view.Fix{Does: "other positions", Command: "agent checkpoints " + t.At.Run}, t.instead())
}

// content gives the content of a version: as it is kept, or from git's objects.
func (t *Tree) content(ctx context.Context, v *journal.FileVersion) ([]byte, error) {
	content, err := t.contents.Content(ctx, v)
	if err == nil || v.Git == "" {
		return content, err
	}
	if t.blobs == nil {
		dir, makeErr := os.MkdirTemp("", "agent-fork-")
		if makeErr != nil {
			return nil, fmt.Errorf("make a folder to read git's objects: %w", makeErr)
		}
		if t.blobs, makeErr = history.Open(t.repo, dir); makeErr != nil {
			return nil, makeErr
		}
		t.blobsDir = dir
	}
	return t.blobs.Blob(ctx, v.Git, maxFile)
}
