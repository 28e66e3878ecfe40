// Package log keeps what the drivers of a fleet did where every host can read it, so that no two of
// them act on one run.
//
// There is one log a family of runs, named by the run at its top, with entries at the places 1, 2,
// 3 and so on. The one thing that a store of logs has to do is this: of any number of writers who
// create the entry of a place at the same time, exactly one succeeds, and its entry stays as it is.
// Clocks, leases and locks have no part in it. What entries hold, a store does not know: they are
// sealed (package agent/fleet/seal).
//
// Where an answer is lost, nobody knows whether an entry was stored: [Log.Create] gives an error
// that is not [ErrTaken], and whoever called it reads the place, or does the same again.
//
// A folder ("dir:/path"), PostgreSQL ("postgres://…") and a bucket ("s3://…") can hold logs. The
// package logtest says what else a store has to do to be one.
package log

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Log is a store of logs, in one namespace of it. Its methods may be called at the same time.
type Log interface {
	// Create stores an entry at a place. ErrTaken says that the place has an entry, be it the same
	// one; any other error says nothing about whether it was stored.
	Create(ctx context.Context, root string, place int64, entry []byte) error
	// Read gives the entry of a place; ErrNone if there is none.
	Read(ctx context.Context, root string, place int64) ([]byte, error)
	// Last is the highest place with an entry; 0 for none.
	Last(ctx context.Context, root string) (int64, error)
	// Roots names the runs that have a log, in the order of their names.
	Roots(ctx context.Context, each func(root string) error) error
	Close() error
}

var (
	// ErrTaken says that a place has an entry.
	ErrTaken = errors.New("the place is taken")
	// ErrNone says that a place has no entry.
	ErrNone = errors.New("there is no entry")
)

// Open opens the logs of a namespace, where a URL says: dir:/path, postgres://… or s3://….
func Open(ctx context.Context, url, namespace string) (Log, error) {
	if err := CheckNamespace(namespace); err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	scheme, rest, _ := strings.Cut(url, ":")
	switch scheme {
	case "dir":
		return openDir(rest, namespace)
	case "postgres", "postgresql":
		return openPostgres(ctx, url, namespace)
	case "s3":
		return openBucket(ctx, url, namespace)
	case "":
		return nil, errors.New("open the log: none is named; --log dir:/FOLDER keeps it in a folder that every host shares, --log postgres://HOST/DATABASE in PostgreSQL, --log s3://BUCKET/PREFIX in a bucket")
	}
	return nil, fmt.Errorf("open the log: %.20q is no kind of log; dir:/FOLDER, postgres://HOST/DATABASE and s3://BUCKET/PREFIX are", scheme)
}

const small = "0123456789abcdefghijklmnopqrstuvwxyz"

// CheckRoot refuses what is no id of a run.
func CheckRoot(root string) error {
	rest, ok := strings.CutPrefix(root, "r-")
	if !ok || !named(rest, small, small+"-", 64) {
		return fmt.Errorf("%.80q is no id of a run: one looks like r-7k2m9qx4", root)
	}
	return nil
}

// CheckNamespace refuses what a namespace cannot be called.
func CheckNamespace(namespace string) error {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if !named(namespace, letters, letters+"._-", 63) {
		return fmt.Errorf("%.80q cannot be a namespace: it has at most 63 letters and digits, and behind the first one also . _ and -", namespace)
	}
	return nil
}

// named says whether a name has one of some characters first, and others behind it.
func named(name, first, others string, longest int) bool {
	return name != "" && len(name) <= longest && strings.ContainsRune(first, rune(name[0])) && strings.Trim(name, others) == ""
}

// check refuses what is no place of a log.
func check(root string, place int64) error {
	if err := CheckRoot(root); err != nil {
		return err
	}
	if place < 1 {
		return fmt.Errorf("a log has no place %d: they begin with 1", place)
	}
	return nil
}
