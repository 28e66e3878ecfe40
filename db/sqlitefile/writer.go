package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"

	"agent/recovery/fault"
)

// Tx is the transaction that a job writes in. Queries run on statements that are prepared once and
// kept.
type Tx struct {
	*Statements
	note any
	// Again is set when the transaction is tried a second time after a full disk: what the first
	// try has left counts.
	Again bool
}

// Note keeps what Options.Committed gets once the transaction is durable: the last note of a job in
// it that did not fail.
func (t *Tx) Note(note any) { t.note = note }

// writer is the one connection of this process that writes. One goroutine at a time uses it: the
// one that leads the queue.
type writer struct {
	f     *File
	queue *queue

	pool  *sql.DB
	on    *Statements // nil until it is connected
	dead  error       // once set, every job gets it
	note  any         // of the transaction that goes on; nil without one
	dirty bool        // something was committed since the log was last brought in
}

func newWriter(f *File) *writer {
	w := &writer{f: f}
	w.queue = newQueue(w)
	return w
}

// commit writes a batch and leaves with every job how it ended.
func (w *writer) commit(batch []*job) {
	err := w.dead
	if err == nil {
		err = w.attempt(batch, false)
	}
	if w.f.isDiskFull(err) {
		err = w.afterFullDisk(batch, err)
	}
	if err == nil {
		return
	}
	for _, j := range batch {
		j.err = err
	}
}

// attempt runs the batch in one transaction. An error it returns is everybody's; that of a single
// job is kept in the job. Jobs rarely fail, so the first try does without savepoints, and only a
// failure among several has the batch done again with one for each.
func (w *writer) attempt(batch []*job, again bool) error {
	err := w.transact(batch, again, false)
	if errors.Is(err, errOneFailed) {
		err = w.transact(batch, again, true)
	}
	return err
}

// errOneFailed says that a job failed and took the others' work with it.
var errOneFailed = errors.New("a part of the transaction failed")

func (w *writer) transact(batch []*job, again, savepoints bool) error {
	if err := w.connect(); err != nil {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	alive := 0
	w.note = nil
	for _, j := range batch {
		err := w.one(j, again, savepoints)
		if fatal(err) {
			return w.abort(err)
		}
		j.err = err
		if err == nil {
			alive++
			continue
		}
		if !savepoints {
			if undo := w.undo(); undo != nil || len(batch) == 1 {
				return undo
			}
			return errOneFailed
		}
	}
	if alive == 0 {
		return w.undo()
	}
	w.f.o.Hit(fault.BeforeCommit)
	if err := w.exec("COMMIT"); err != nil {
		return w.abort(err)
	}
	w.dirty = true
	w.f.o.Hit(fault.AfterCommit)
	if err := w.f.opened.present(); err != nil {
		// What was committed is not where the next process looks for it, and neither would anything
		// after it be.
		w.dead = err
	}
	if w.dead == nil && w.note != nil && w.f.o.Committed != nil {
		w.f.o.Committed(w.note)
	}
	return w.dead
}

// one runs a job, with a savepoint so that its failure leaves the others' work alone.
func (w *writer) one(j *job, again, savepoint bool) error {
	t := &Tx{Statements: w.on, Again: again}
	if !savepoint {
		err := j.do(t)
		w.noted(t, err)
		return err
	}
	if err := w.exec("SAVEPOINT job"); err != nil {
		return err
	}
	err := j.do(t)
	if fatal(err) {
		return err
	}
	if err != nil {
		if undo := w.exec("ROLLBACK TO job"); undo != nil {
			return undo
		}
	}
	if release := w.exec("RELEASE job"); release != nil {
		return release
	}
	w.noted(t, err)
	return err
}

// noted keeps the note of a job that did not fail.
func (w *writer) noted(t *Tx, err error) {
	if err == nil && t.note != nil {
		w.note = t.note
	}
}

// fatal says that an error came from the database itself and not from what a job wanted: the
// transaction may be gone.
func fatal(err error) bool {
	c := code(err) & 0xff
	return c != 0 && c != codeConstraint
}

// abort ends the transaction after an error of the database. A full disk is looked at by the
// caller; after anything else the writer refuses all further work, since nobody knows what is on
// disk.
func (w *writer) abort(err error) error {
	if w.f.isDiskFull(err) {
		return err // the connection is closed, which undoes what is left of the transaction
	}
	w.dead = &CommitError{Err: w.f.Explain(err)}
	return w.dead
}

// panicked is for a panic of this program in the middle of a transaction, which no disk has
// anything to do with: closing the connection undoes what was not committed, so those who write
// after it can. The batch itself may be committed or not.
func (w *writer) panicked(p any, batch []*job) {
	err := &CommitError{Err: fmt.Errorf("panic: %v", p)}
	for _, j := range batch {
		j.err = err
	}
	if closing := w.disconnect(); closing != nil {
		w.dead = &CommitError{Err: closing}
	}
}

// undo ends a transaction in which nobody wrote anything.
func (w *writer) undo() error {
	if err := w.exec("ROLLBACK"); err != nil {
		return w.abort(err)
	}
	return nil
}

// begin takes the write lock. Other processes' transactions are short, so it is waited for.
func (w *writer) begin() error {
	for wait := newRetries(w.f.o.BusyWait); ; {
		err := w.exec("BEGIN IMMEDIATE")
		if err == nil {
			return nil
		}
		if !isBusy(err) {
			return w.refuse(err)
		}
		if !wait.next(context.Background()) {
			return fmt.Errorf("write to %s: %w", w.f.path, w.f.Explain(err))
		}
	}
}

// refuse is for an error before anything was written: nothing is in doubt, so the writer goes on.
func (w *writer) refuse(err error) error {
	if w.f.isDiskFull(err) {
		return err
	}
	return fmt.Errorf("write to %s: %w", w.f.path, w.f.Explain(err))
}

func (w *writer) connect() error {
	if w.on != nil {
		return nil
	}
	c, err := sqlite.NewConnector(dsn(w.f.path, true))
	if err != nil {
		return fmt.Errorf("open %s for writing: %w", w.f.path, err)
	}
	pool := sql.OpenDB(c)
	pool.SetMaxOpenConns(1)
	conn, err := w.f.dial(context.Background(), pool)
	if err != nil {
		return w.refuse(errors.Join(err, pool.Close()))
	}
	if err := w.f.verify(context.Background(), conn); err != nil {
		return w.refuse(errors.Join(err, conn.Close(), pool.Close()))
	}
	w.pool, w.on = pool, &Statements{conn: conn, kept: map[string]*sql.Stmt{}}
	return nil
}

// disconnect closes statements, connection and pool.
func (w *writer) disconnect() error {
	if w.on == nil {
		return nil
	}
	err := errors.Join(w.on.close(), w.pool.Close())
	w.on, w.pool = nil, nil
	if err != nil {
		return fmt.Errorf("close the writer of %s: %w", w.f.path, err)
	}
	return nil
}

func (w *writer) exec(text string) error {
	_, err := w.on.ExecContext(context.Background(), text)
	return err
}
