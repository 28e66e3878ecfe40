package db

import (
	"context"
	"crypto/sha256"
	"fmt"

	"agent/db/dbsqlc"
	"agent/recovery/journal"
)

// maxPathRows is how many paths one look may have changed for each to have a row.
const maxPathRows = 10_000

// filesChanged writes down which paths a look saw change: by the run's calls, and by others, since
// a line that somebody else took away and wrote anew is theirs.
func filesChanged(t *tx, h Head, b journal.FilesChanged) error {
	if len(b.Changes) > maxPathRows {
		return nil
	}
	for _, c := range b.Changes {
		if err := t.q.AddFileChange(context.Background(), c.Name(), h.No); err != nil {
			return err
		}
	}
	return nil
}

// commitSeen writes down which commit holds a run's work.
func commitSeen(t *tx, h Head, f *fact, b journal.CommitSeen) error {
	return t.q.AddCommit(context.Background(), dbsqlc.AddCommitParams{
		Repo: b.Repo, ID: b.Commit, RunNo: h.No, Checkpoint: b.Checkpoint, Seq: f.seq, Turn: f.row.Turn, Tree: b.Tree, Patch: b.Patch,
		Author: AuthorKey(b.Author, b.Authored.Unix(), b.Subject),
	})
}

// AuthorKey stands for what a rewrite leaves as it was: who wrote a commit, when in seconds since
// 1970, and the first line of its message. It is the beginning of a SHA-256.
func AuthorKey(author string, at int64, subject string) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", author, at, subject))
	return sum[:12]
}
