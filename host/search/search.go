// Package search lists the runs that fit what a person says of them: words, a name, a status, a
// folder, a time.
package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/db/search"
	"agent/host/app"
	"agent/host/view"
	"agent/recovery"
)

// Filter says which runs are meant.
type Filter = search.Filter

// Unfinished stands for every status of a run that has not ended.
const Unfinished = "unfinished"

// ReadStatuses reads statuses with commas between them into a filter.
func ReadStatuses(f *Filter, text string) error {
	var known []string
	for _, s := range recovery.Statuses() {
		known = append(known, string(s))
	}
	for word := range strings.SplitSeq(text, ",") {
		switch word = strings.TrimSpace(word); {
		case word == Unfinished:
			f.Unended = true
		case slices.Contains(known, word):
			f.Statuses = append(f.Statuses, recovery.Status(word))
		default:
			return fmt.Errorf("there is no status %q; there are %s, and %s for all that have not ended", word, strings.Join(known, ", "), Unfinished)
		}
	}
	return nil
}

// CheckWords refuses what nothing can be searched for by.
func CheckWords(text string) error {
	_, err := search.Expression(text)
	return err
}

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
	list, err = s.Listed(ctx, rows)
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
	next := time.Now().Add(patience)
	return search.TakeIn(ctx, s.Store, func(done, all int) {
		if time.Now().After(next) {
			say("%d of %d older runs are in the index of words", done, all)
			next = time.Now().Add(patience)
		}
	})
}
