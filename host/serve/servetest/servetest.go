// Package servetest writes journals for tests of the server, as whoever drives a run does.
package servetest

import (
	"context"
	"errors"
	"os"
	"sync"

	"agent/db"
	"agent/db/mark"
	"agent/recovery/journal"
	"agent/tools/sandbox"
)

// Hidden carries out the command with which a host finds out what can be confined: it starts the
// binary that it runs in, which is that of the tests. ok is false where another command was given.
func Hidden(args []string) (code int, ok bool) {
	if len(args) < 2 || args[1] != sandbox.Command {
		return 0, false
	}
	return sandbox.Main(args[2:]), true
}

// Journals writes the journals of runs, each for one goroutine.
type Journals struct {
	store *db.Store

	mu    sync.Mutex
	heads map[string]db.Head
}

// New writes into a store.
func New(store *db.Store) *Journals { return &Journals{store: store, heads: map[string]db.Head{}} }

// Begin records a run of a thread of its own.
func (j *Journals) Begin(ctx context.Context, run, thread string, facts ...journal.Event) error {
	h, err := j.store.Create(ctx, db.ThreadRef{ID: thread, Folder: "/w", New: true}, facts)
	j.stands(run, h)
	return err
}

// Add records facts of a run that was begun.
func (j *Journals) Add(ctx context.Context, run string, facts ...journal.Event) error {
	h, err := j.store.Append(ctx, j.head(run), facts, db.AppendOptions{})
	if err == nil {
		j.stands(run, h)
	}
	return err
}

// Last is the number of a run's last fact.
func (j *Journals) Last(run string) int64 { return j.head(run).Seq }

func (j *Journals) head(run string) db.Head {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.heads[run]
}

func (j *Journals) stands(run string, h db.Head) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.heads[run] = h
}

// Older has the state folder look as if an older database had been put back: its mark names a fact
// that the store does not have. undo takes that back.
func (j *Journals) Older() (undo func() error, err error) {
	was, err := j.store.Mark()
	if err != nil {
		return nil, err
	}
	later := was
	later.Seq += 10
	write := func(m mark.Mark) error {
		f, err := os.OpenFile(mark.Path(j.store.Dir()), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(mark.Write(f, m), f.Close())
	}
	return func() error { return write(was) }, write(later)
}
