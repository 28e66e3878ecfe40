// Package search lists the runs that fit what a person says of them: words, a name, a status, a
// folder, a time.
package search

import (
	"context"
	"time"

	"agent/db/search"
	"agent/host/app"
	"agent/host/view"
	"agent/recovery/fault"
)

// Filter says which runs are meant.
type Filter = search.Filter

// patience is how long nothing is said while runs are taken into the index.
const patience = time.Second

// List lists the runs that a filter lets pass, the newest first, and counts those that are older
// than its limit lets through. Runs that ended before there was an index of words are taken into it
// first; say gets what a person should know of that.
func List(ctx context.Context, s *app.Folder, f Filter, say func(format string, args ...any)) (list []view.Run, older int, err error) {
	f.Folder = s.Only
	if f.Words != "" {
		if err := complete(ctx, s, say); err != nil {
			return nil, 0, err
		}
	}
	rows, all, err := search.Runs(ctx, s.Store, f)
	if err != nil {
		return nil, 0, err
	}
	list, err = app.Listed(ctx, s, rows)
	return list, all - len(rows), err
}

// complete takes what is missing into the index of words.
func complete(ctx context.Context, s *app.Folder, say func(string, ...any)) error {
	missing, err := search.Missing(ctx, s.Store)
	if err != nil || missing == 0 {
		return err
	}
	if !s.CanWrite() || s.Store.DiskFull() || s.Store.Behind() != nil {
		say("%s ended before the index of words was made, and nothing is written here now: they are not searched", view.Count(missing, "run"))
		return nil
	}
	next := fault.Now().Add(patience)
	return search.TakeIn(ctx, s.Store, func(done, all int) {
		if fault.Now().After(next) {
			say("%d of %d older runs are in the index of words", done, all)
			next = fault.Now().Add(patience)
		}
	})
}
