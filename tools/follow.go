package tools

import (
	"context"
	"errors"
	"io/fs"

	"agent/recovery"
	"agent/tools/runner"
)

// FollowOutput emits what the command of a call prints, from its beginning and while it runs, until it has ended or ctx is
// done. It only watches, so any process may. calls is Options.Calls; p names the attempt. A call whose files are not there,
// since it is of another tool or its result is recorded, emits nothing. The buffer that emit gets is used again.
func FollowOutput(ctx context.Context, calls, run string, p recovery.Place, emit func([]byte)) error {
	id := runner.Identity{Run: run, Turn: p.Turn, Index: p.Index, Attempt: p.Attempt}
	_, err := runner.Follow(ctx, id.Folder(calls), 0, emit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
