package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"modernc.org/sqlite"

	"agent/db/dbsqlc"
)

const (
	queueSize = 256         // callers that can wait without blocking each other; also the most that share a commit
	idleAfter = time.Second // without a write, after which the log is brought into the database
)

// tx is the transaction that a job writes in.
type tx struct {
	q *dbsqlc.Queries
	// again is set when the transaction is tried a second time after a full disk: what the first try has left counts.
	again bool
}

// job is one caller's part of a transaction, or something that is done between transactions.
type job struct {
	do      func(t *tx) error
	between func() error
	err     error
	done    chan struct{}
}

// writer owns the one connection of this process that writes. What waits while a commit is made durable shares the next
// one; nothing ever waits for company.
type writer struct {
	s     *Store
	queue chan *job
	gone  chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	started bool
	stopped bool

	// Only the goroutine uses what follows.
	pool  *sql.DB
	conn  *sql.Conn
	q     *dbsqlc.Queries
	stmts map[string]*sql.Stmt
	dead  error // once set, every job gets it
	dirty bool  // something was committed since the log was last brought in
}

func newWriter(s *Store) *writer {
	return &writer{s: s, queue: make(chan *job, queueSize), gone: make(chan struct{})}
}

// write runs do inside a transaction that others may share, and returns once it is durable. An error of do undoes do
// alone. ctx is looked at before do is queued and not after: a write that was stopped half way reports an error although
// it may be committed.
func (w *writer) write(ctx context.Context, do func(t *tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.hand(&job{do: do})
}

// hand gives a job to the goroutine and waits for its end.
func (w *writer) hand(j *job) error {
	j.done = make(chan struct{})
	if err := w.enqueue(j); err != nil {
		return err
	}
	<-j.done
	return j.err
}

func (w *writer) enqueue(j *job) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return ErrClosed
	}
	if !w.started {
		w.started = true
		go w.run()
	}
	w.queue <- j
	return nil
}

// close waits for what is queued and ends the goroutine.
func (w *writer) close() error {
	w.mu.Lock()
	started := w.started
	if !w.stopped {
		w.stopped = true
		close(w.queue)
	}
	w.mu.Unlock()
	if !started {
		return nil
	}
	<-w.gone
	return w.disconnect()
}

func (w *writer) run() {
	defer close(w.gone)
	idle := time.NewTimer(idleAfter)
	defer idle.Stop()
	for {
		select {
		case j, ok := <-w.queue:
			if !ok {
				w.bringIn()
				return
			}
			batch, alone := w.collect(j)
			w.commit(batch)
			w.apart(alone)
			idle.Reset(idleAfter)
		case <-idle.C:
			if w.bringIn(); w.dirty {
				idle.Reset(idleAfter) // somebody was reading
			}
		}
	}
}

// collect takes along whatever waits already, up to the first job that is done between transactions.
func (w *writer) collect(first *job) (batch []*job, alone *job) {
	for j, more := first, true; more; {
		if j.between != nil {
			return batch, j
		}
		batch = append(batch, j)
		if len(batch) == queueSize {
			return batch, nil
		}
		select {
		case j, more = <-w.queue:
		default:
			more = false
		}
	}
	return batch, nil
}

// apart does a job between transactions.
func (w *writer) apart(j *job) {
	if j == nil {
		return
	}
	j.err = w.dead
	if j.err == nil {
		j.err = w.connect()
	}
	if j.err == nil {
		j.err = j.between()
	}
	close(j.done)
}

// commit writes a batch and tells every caller how its part ended.
func (w *writer) commit(batch []*job) {
	if len(batch) == 0 {
		return
	}
	err := w.dead
	if err == nil {
		err = w.attempt(batch, false)
	}
	if isDiskFull(err) {
		err = w.afterFullDisk(batch, err)
	}
	for _, j := range batch {
		if err != nil {
			j.err = err
		}
		close(j.done)
	}
}

// attempt runs the batch in one transaction. An error it returns is everybody's; that of a single job is kept in the job.
func (w *writer) attempt(batch []*job, again bool) error {
	if err := w.connect(); err != nil {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	alive := 0
	for _, j := range batch {
		err := w.one(j, again, len(batch) > 1)
		if fatal(err) {
			return w.abort(err)
		}
		j.err = err
		if err == nil {
			alive++
		}
	}
	if alive == 0 {
		return w.undo()
	}
	w.s.o.Hit("db.before_commit")
	if err := w.exec("COMMIT"); err != nil {
		return w.abort(err)
	}
	w.dirty = true
	w.s.o.Hit("db.after_commit")
	return nil
}

// one runs a job so that its failure leaves the others' work alone.
func (w *writer) one(j *job, again, shared bool) error {
	if !shared {
		return j.do(&tx{q: w.q, again: again})
	}
	if err := w.exec("SAVEPOINT job"); err != nil {
		return err
	}
	err := j.do(&tx{q: w.q, again: again})
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
	return err
}

// fatal says that an error came from the database itself and not from what a job wanted: the transaction may be gone.
func fatal(err error) bool {
	c := code(err) & 0xff
	return c != 0 && c != codeConstraint
}

// abort ends the transaction after an error of the database. A full disk is looked at by the caller; after anything else
// the writer refuses all further work, since nobody knows what is on disk.
func (w *writer) abort(err error) error {
	if isDiskFull(err) {
		return err // the connection is closed, which undoes what is left of the transaction
	}
	w.dead = &CommitError{Err: w.s.explain(err)}
	return w.dead
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
	for wait := newBackoff(w.s.o.BusyWait); ; {
		err := w.exec("BEGIN IMMEDIATE")
		if err == nil {
			return nil
		}
		if !isBusy(err) {
			return w.refuse(err)
		}
		if !wait.next(context.Background()) {
			return fmt.Errorf("write to %s: %w", w.s.path, w.s.explain(err))
		}
	}
}

// refuse is for an error before anything was written: nothing is in doubt, so the writer goes on.
func (w *writer) refuse(err error) error {
	if isDiskFull(err) {
		return err
	}
	return fmt.Errorf("write to %s: %w", w.s.path, w.s.explain(err))
}

func (w *writer) connect() error {
	if w.conn != nil {
		return nil
	}
	c, err := sqlite.NewConnector(dsn(w.s.path, true))
	if err != nil {
		return fmt.Errorf("open %s for writing: %w", w.s.path, err)
	}
	pool := sql.OpenDB(c)
	pool.SetMaxOpenConns(1)
	conn, err := w.s.dial(context.Background(), pool)
	if err != nil {
		return w.refuse(errors.Join(err, pool.Close()))
	}
	if err := w.s.verify(context.Background(), conn); err != nil {
		return w.refuse(errors.Join(err, conn.Close(), pool.Close()))
	}
	w.pool, w.conn, w.stmts = pool, conn, map[string]*sql.Stmt{}
	w.q = dbsqlc.New(w)
	return nil
}

// disconnect closes statements, connection and pool. A statement left open would keep the log beside the database.
func (w *writer) disconnect() error {
	if w.conn == nil {
		return nil
	}
	var errs []error
	for _, st := range w.stmts {
		errs = append(errs, st.Close())
	}
	errs = append(errs, w.conn.Close(), w.pool.Close())
	w.conn, w.pool, w.stmts = nil, nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the writer of %s: %w", w.s.path, err)
	}
	return nil
}

// upgrade runs migrations in a transaction of their own.
func (w *writer) upgrade(files fs.FS) error {
	return w.write(context.Background(), func(*tx) error {
		return upgrade(context.Background(), w.conn, files)
	})
}
