// Package find completes what a person typed to an id of the store, and says what is near where
// nothing fits.
package find

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/db"
	"agent/db/dbsqlc"
)

const (
	candidates = db.MaxNamed // the most that a message lists
	nearAmong  = 200         // the newest of a kind among which a mistyped id is looked for
)

// hit is something that an id may name.
type hit struct{ id, words string }

func (h hit) String() string { return h.id + "  " + h.words }

// ID completes what a person typed to a whole id: an id, the beginning of one with or without its
// type, or "last", the newest. A run is also found by its name: the newest that has it. kind is 'r'
// (run), 'p' (pending request), 'c' (call), 't' (thread) or 0 for any. *db.UnknownIDError lists
// what is near, *db.AmbiguousError what fits.
func ID(ctx context.Context, s *db.Store, kind byte, prefix string) (string, error) {
	text := strings.ToLower(strings.TrimSpace(prefix))
	var id string
	err := db.Read(ctx, s, "find "+prefix, func(q *dbsqlc.Queries) error {
		if text == "last" {
			hits, err := newest(ctx, q, cmp.Or(kind, 'r'), 1)
			if err == nil && len(hits) == 0 {
				err = &db.UnknownIDError{Kind: cmp.Or(kind, 'r'), Text: prefix}
			}
			if err == nil {
				id = hits[0].id
			}
			return err
		}
		hits, err := beginning(ctx, q, kind, text)
		if err == nil {
			hits, err = named(ctx, q, kind, s.Redact(strings.TrimSpace(prefix)), hits)
		}
		if err != nil {
			return err
		}
		for _, h := range hits {
			if h.id == text {
				hits = []hit{h}
				break
			}
		}
		switch len(hits) {
		case 0:
			if err := severalOf(ctx, q, kind, text); err != nil {
				return err
			}
			return unknown(ctx, q, kind, text)
		case 1:
			id = hits[0].id
			return nil
		}
		return &db.AmbiguousError{Text: prefix, Candidates: db.DescribeAll(hits, hit.String)}
	})
	return id, err
}

// kindsOf lists the types that an id may have.
func kindsOf(kind byte) []byte {
	if kind == 0 {
		return []byte("rpct")
	}
	return []byte{kind}
}

// beginning lists what begins with the text.
func beginning(ctx context.Context, q *dbsqlc.Queries, kind byte, text string) ([]hit, error) {
	var out []hit
	for _, k := range kindsOf(kind) {
		typed := string(k) + "-"
		rest, named := strings.CutPrefix(text, typed)
		if rest == "" || !named && len(text) > 1 && text[1] == '-' {
			continue // it names nothing, or another type
		}
		low := typed + rest
		hits, err := between(ctx, q, k, low, low+"\x7f")
		if err != nil {
			return nil, err
		}
		out = append(out, hits...)
	}
	return out, nil
}

// named adds the newest run that has a name to what an id may mean. What begins with the type of an
// id is none.
func named(ctx context.Context, q *dbsqlc.Queries, kind byte, name string, found []hit) ([]hit, error) {
	if !slices.Contains(kindsOf(kind), 'r') || name == "" || len(name) > 1 && name[1] == '-' {
		return found, nil
	}
	rows, err := q.NewestNamed(ctx, name)
	for _, h := range hits(rows, describeRun) {
		if !slices.ContainsFunc(found, func(f hit) bool { return f.id == h.id }) {
			found = append(found, h)
		}
	}
	return found, err
}

func between(ctx context.Context, q *dbsqlc.Queries, kind byte, low, high string) ([]hit, error) {
	switch kind {
	case 'r':
		rows, err := q.RunsBetween(ctx, low, high, candidates)
		return hits(rows, describeRun), err
	case 'p':
		rows, err := q.RequestsBetween(ctx, low, high, candidates)
		return hits(rows, describeRequest), err
	case 'c':
		rows, err := q.CallsBetween(ctx, low, high, candidates)
		return hits(rows, callHit), err
	}
	rows, err := q.ThreadsBetween(ctx, low, high, candidates)
	return hits(rows, describeThread), err
}

func newest(ctx context.Context, q *dbsqlc.Queries, kind byte, limit int64) ([]hit, error) {
	switch kind {
	case 'r':
		rows, err := q.NewestRuns(ctx, limit)
		return hits(rows, describeRun), err
	case 'p':
		rows, err := q.NewestRequests(ctx, limit)
		return hits(rows, describeRequest), err
	case 'c':
		rows, err := q.NewestCalls(ctx, limit)
		return hits(rows, callHit), err
	}
	rows, err := q.NewestThreads(ctx, limit)
	return hits(rows, describeThread), err
}

// unknown says what there is instead of what was typed: what that names of another kind, or what is
// near.
func unknown(ctx context.Context, q *dbsqlc.Queries, kind byte, text string) error {
	if err := pruned(ctx, q, kind, text); err != nil {
		return err
	}
	is, list, err := namesAnother(ctx, q, kind, text)
	if err == nil && list == nil {
		list, err = near(ctx, q, kind, text)
	}
	if err != nil {
		return err
	}
	return &db.UnknownIDError{Kind: kind, Is: is, Text: text, Near: list}
}

// pruned is *db.PrunedError where the text names one run that was removed.
func pruned(ctx context.Context, q *dbsqlc.Queries, kind byte, text string) error {
	rest := strings.TrimPrefix(text, "r-")
	if kind != 'r' && kind != 0 || len(rest) < 4 {
		return nil
	}
	rows, err := q.TombstonesBetween(ctx, "r-"+rest, "r-"+rest+"\x7f", 2)
	if err != nil || len(rows) != 1 {
		return err
	}
	return &db.PrunedError{Run: rows[0].Run, At: time.UnixMicro(rows[0].PrunedAt)}
}

// severalOf refuses a kind without a letter of an id, such as r-, which fits everything of that
// kind; nil where that is one at most.
func severalOf(ctx context.Context, q *dbsqlc.Queries, kind byte, text string) error {
	if len(text) != 2 || text[1] != '-' || !slices.Contains(kindsOf(kind), text[0]) {
		return nil
	}
	hits, err := newest(ctx, q, text[0], candidates)
	if err != nil || len(hits) < 2 {
		return err
	}
	return &db.AmbiguousError{Text: text, Candidates: db.DescribeAll(hits, hit.String)}
}

// near lists the ids that differ least from what was typed, and otherwise the newest ones; of
// requests all that are open, where there are any.
func near(ctx context.Context, q *dbsqlc.Queries, kind byte, text string) ([]string, error) {
	if kind == 0 {
		kind = 'r'
		if len(text) > 1 && text[1] == '-' && strings.IndexByte("rpct", text[0]) >= 0 {
			kind = text[0]
		}
	}
	if kind == 'p' {
		if open, err := nearRequests(ctx, q); err != nil || len(open) > 0 {
			return open, err
		}
	}
	all, err := newest(ctx, q, kind, nearAmong)
	if err != nil {
		return nil, err
	}
	bare := strings.TrimPrefix(text, string(kind)+"-")
	distance := func(h hit) int {
		id := h.id[2:]
		return edits(bare, id[:min(len(id), max(len(bare), 1))])
	}
	if slices.ContainsFunc(all, func(h hit) bool { return distance(h) <= 2 }) {
		slices.SortStableFunc(all, func(a, b hit) int { return distance(a) - distance(b) })
	}
	return db.DescribeAll(all[:min(3, len(all))], hit.String), nil
}

func nearRequests(ctx context.Context, q *dbsqlc.Queries) ([]string, error) {
	rows, err := q.NewestRequests(ctx, nearAmong)
	rows = slices.DeleteFunc(rows, func(r dbsqlc.Request) bool { return r.Status != db.RequestOpen })
	return db.DescribeAll(hits(rows[:min(candidates, len(rows))], describeRequest), hit.String), err
}

// namesAnother finds what the text names of another kind than was asked for, and lists what may be
// meant by it: of a thread its runs, of a run its thread. is is 0 where it names nothing.
func namesAnother(ctx context.Context, q *dbsqlc.Queries, kind byte, text string) (is byte, list []string, err error) {
	if kind == 0 || len(text) < 3 || text[1] != '-' || text[0] == kind || strings.IndexByte("rpct", text[0]) < 0 {
		return 0, nil, nil
	}
	found, err := beginning(ctx, q, text[0], text)
	if err != nil || len(found) != 1 {
		return 0, nil, err
	}
	is, list = text[0], []string{found[0].String()}
	switch {
	case is == 't' && kind == 'r':
		runs, err := q.RunsOfThread(ctx, found[0].id)
		if err != nil || len(runs) == 0 {
			return is, list, err
		}
		list = db.DescribeAll(hits(runs[max(0, len(runs)-candidates):], describeRun), hit.String)
	case is == 'r' && kind == 't':
		runs, err := q.RunsBetween(ctx, found[0].id, found[0].id+"\x7f", 1)
		if err != nil || len(runs) == 0 {
			return is, list, err
		}
		list = []string{runs[0].Thread + "  of run " + runs[0].ID}
	}
	return is, list, nil
}

// edits is how many letters have to be changed, added or left out to come from a to b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := before
			if a[i-1] != b[j-1] {
				cost = 1 + min(before, row[j], row[j-1])
			}
			before, row[j] = row[j], cost
		}
	}
	return row[len(b)]
}

func hits[T any](rows []T, f func(T) hit) []hit {
	out := make([]hit, 0, len(rows))
	for _, r := range rows {
		out = append(out, f(r))
	}
	return out
}

func describeRun(r dbsqlc.Run) hit {
	return hit{r.ID, fmt.Sprintf("%s, %q", r.Status, db.FirstWords(r.Words, 40))}
}

func describeRequest(r dbsqlc.Request) hit {
	return hit{r.ID, fmt.Sprintf("%s, %s of run %s", r.Status, r.Kind, r.Run)}
}

func describeThread(t dbsqlc.Thread) hit { return hit{t.ID, "in " + t.Folder} }

func callHit(c dbsqlc.CallRow) hit { return hit{c.ID, db.DescribeCall(c)} }
