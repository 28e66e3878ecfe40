// Package commits reads which commits of git hold the work of which runs, from the rows that the
// store writes beside the facts commit.seen and files.changed.
package commits

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"agent/db"
	"agent/db/dbsqlc"
	"agent/recovery/journal"
)

// Link is one commit, and one run whose work it holds.
type Link struct {
	Repo       string // folder of the objects
	ID         string // the commit's, hex
	Checkpoint string // k-…
	Run        string
	Folder     string // the run's
	Seq        int64  // of the fact in the run's journal
	Turn       int
	Final      bool // its turn is settled
	Tree       string
	Patch      string
}

// Mark is what a linked commit may have in common with another. Fields that are empty fit nothing.
type Mark struct {
	ID, Checkpoint, Tree, Patch string
	Author                      []byte // db.AuthorKey
}

// Like lists the links that have anything of a mark, from the first that was recorded to the last.
func Like(ctx context.Context, s *db.Store, m Mark) (out []Link, err error) {
	if m.Author == nil {
		m.Author = []byte{}
	}
	err = db.Read(ctx, s, "look for linked commits", func(q *dbsqlc.Queries) error {
		rows, err := q.CommitsLike(ctx, dbsqlc.CommitsLikeParams(m))
		for _, r := range rows {
			out = append(out, link(dbsqlc.CommitsInRow(r)))
		}
		return err
	})
	return out, err
}

// WithIDs lists the links of commits, by the commits' ids, each from the first that was recorded to
// the last.
func WithIDs(ctx context.Context, s *db.Store, ids []string) (map[string][]Link, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("name the commits that are looked for: %w", err)
	}
	out := map[string][]Link{}
	err = db.Read(ctx, s, "look for linked commits", func(q *dbsqlc.Queries) error {
		rows, err := q.CommitsWithIDs(ctx, string(list))
		for _, r := range rows {
			out[r.ID] = append(out[r.ID], link(dbsqlc.CommitsInRow(r)))
		}
		return err
	})
	return out, err
}

// OfRun lists the links of one run, in the order of its journal.
func OfRun(ctx context.Context, s *db.Store, run string) (out []Link, err error) {
	h, err := s.Head(ctx, run)
	if err != nil {
		return nil, err
	}
	err = db.Read(ctx, s, "list the commits of run "+run, func(q *dbsqlc.Queries) error {
		rows, err := q.CommitsOfRun(ctx, h.No)
		for _, r := range rows {
			out = append(out, link(dbsqlc.CommitsInRow(r)))
		}
		return err
	})
	return out, err
}

// In lists the links of a repository, the last recorded first, at most so many.
func In(ctx context.Context, s *db.Store, repo string, most int) (out []Link, err error) {
	err = db.Read(ctx, s, "list the linked commits of "+repo, func(q *dbsqlc.Queries) error {
		rows, err := q.CommitsIn(ctx, repo, int64(most))
		for _, r := range rows {
			out = append(out, link(r))
		}
		return err
	})
	return out, err
}

func link(r dbsqlc.CommitsInRow) Link {
	return Link{
		Repo: r.Repo, ID: r.ID, Checkpoint: r.Checkpoint, Run: r.Run, Folder: r.Folder, Seq: r.Seq, Turn: int(r.Turn), Final: r.Final == 1,
		Tree: r.Tree, Patch: r.Patch,
	}
}

// Beginning lists linked commits whose id begins with some digits, ten at most.
func Beginning(ctx context.Context, s *db.Store, digits string) (ids []string, err error) {
	err = db.Read(ctx, s, "find commit "+digits, func(q *dbsqlc.Queries) error {
		rows, err := q.CommitsBeginning(ctx, digits)
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		return err
	})
	return ids, err
}

// Changer is a run whose looks saw a path change.
type Changer struct{ Run, Folder, Path string } // Path is seen from Folder

// Changers lists the runs that saw any of some paths change, of those whose folder is top or below
// it. The paths are seen from the runs' folders.
func Changers(ctx context.Context, s *db.Store, top string, paths []string) (out []Changer, err error) {
	list, err := coded(paths)
	if err != nil {
		return nil, err
	}
	err = db.Read(ctx, s, "find who changed files in "+top, func(q *dbsqlc.Queries) error {
		rows, err := q.RunsThatChanged(ctx, list, top)
		for _, r := range rows {
			out = append(out, Changer(r))
		}
		return err
	})
	return out, err
}

// Look is a fact files.changed of a run.
type Look struct {
	Run, Folder string
	journal.FilesChanged
}

// Looks lists what the newest runs found that saw any of some paths change, of those whose folder
// is top or below it: of at most so many runs, the oldest first. The paths are seen from the runs'
// folders.
func Looks(ctx context.Context, s *db.Store, top string, paths []string, most int) (out []Look, err error) {
	list, err := coded(paths)
	if err != nil {
		return nil, err
	}
	err = db.Read(ctx, s, "find what runs changed in "+top, func(q *dbsqlc.Queries) error {
		out = nil
		rows, err := q.LooksAt(ctx, list, top, int64(most))
		for i := range rows {
			if err != nil {
				break
			}
			r := &rows[i]
			var e journal.Event
			if e, err = db.Fact(ctx, s, q, r.Run, &r.Journal, r.Chained); err == nil {
				if b, ok := e.Body.(journal.FilesChanged); ok {
					out = append(out, Look{Run: r.Run, Folder: r.Folder, FilesChanged: b})
				}
			}
		}
		return err
	})
	return out, err
}

// coded is a list of paths for a query: in hex, since one that is not UTF-8 cannot stand in JSON.
func coded(paths []string) (string, error) {
	list := make([]string, len(paths))
	for i, name := range paths {
		list[i] = hex.EncodeToString([]byte(name))
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "", fmt.Errorf("name the paths that are looked for: %w", err)
	}
	return string(text), nil
}

// Changed says whether any run saw a file change in a folder, or below it.
func Changed(ctx context.Context, s *db.Store, top string) (changed bool, err error) {
	err = db.Read(ctx, s, "see whether runs changed files in "+top, func(q *dbsqlc.Queries) error {
		n, err := q.ChangedBelow(ctx, top)
		changed = n == 1
		return err
	})
	return changed, err
}

// Folders lists the folders of runs that are top or below it.
func Folders(ctx context.Context, s *db.Store, top string) (out []string, err error) {
	err = db.Read(ctx, s, "list the workspaces in "+top, func(q *dbsqlc.Queries) error {
		out, err = q.FoldersBelow(ctx, top)
		return err
	})
	return out, err
}

// Marks is how far the logs of a repository were read; "" where nobody has read them.
func Marks(ctx context.Context, s *db.Store, repo string) (marks string, err error) {
	err = db.Read(ctx, s, "see how far the logs of "+repo+" were read", func(q *dbsqlc.Queries) error {
		marks, err = q.GetMarks(ctx, repo)
		return err
	})
	return marks, err
}
