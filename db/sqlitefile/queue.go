package sqlitefile

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"
)

const (
	batchSize = 256         // the most callers that share a commit
	idleAfter = time.Second // without a write, after which the log is brought into the database
)

// job is one caller's part of a transaction, or something that is done between transactions.
type job struct {
	do      func(t *Tx) error
	between func() error
	err     error
	turn    chan bool // true: the caller leads now; false: its job is done
}

// queue lets one goroutine at a time write. A caller that finds nobody writing leads: it does its
// own job, and takes along whatever waits already; while its commit is made durable the next ones
// queue up, and the first of them leads after it. So nothing waits for company, a lone caller pays
// for no other goroutine, and many share a commit.
type queue struct {
	w *writer

	mu      sync.Mutex
	free    sync.Cond // nobody leads
	waiting []*job
	led     bool
	stopped bool
	timer   *time.Timer
}

func newQueue(w *writer) *queue {
	q := &queue{w: w}
	q.free.L = &q.mu
	return q
}

// submit does a job, or has it done, and returns how it ended.
func (q *queue) submit(j *job) error {
	q.mu.Lock()
	if q.stopped {
		q.mu.Unlock()
		return ErrClosed
	}
	q.waiting = append(q.waiting, j)
	leads := !q.led
	if leads {
		q.led = true
	} else {
		j.turn = make(chan bool, 1)
	}
	q.mu.Unlock()
	if !leads {
		leads = <-j.turn
	}
	if leads {
		q.lead()
	}
	return j.err
}

// lead does the job at the head of the queue, which is the caller's own, with those behind it that
// can share its commit.
func (q *queue) lead() {
	batch := q.take()
	defer q.pass(batch)
	defer func() {
		if p := recover(); p != nil { // the caller's goroutine goes on panicking
			q.w.panicked(p, batch)
			panic(p)
		}
	}()
	if batch[0].between != nil {
		q.w.exclusive(batch[0])
		return
	}
	q.w.commit(batch)
}

// take removes the head of the queue: one job that is done between transactions, or all others
// before the next such one.
func (q *queue) take() []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 1
	for q.waiting[0].between == nil && n < min(len(q.waiting), batchSize) && q.waiting[n].between == nil {
		n++
	}
	batch := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	return batch
}

// pass lets the next one lead and tells the others of a batch that they are done.
func (q *queue) pass(batch []*job) {
	q.mu.Lock()
	if len(q.waiting) > 0 {
		q.waiting[0].turn <- true
	} else {
		q.waiting, q.led = nil, false
		q.idle()
		q.free.Broadcast()
	}
	q.mu.Unlock()
	for _, j := range batch[1:] {
		j.turn <- false
	}
}

// idle has the log brought into the database when nobody writes for a while.
func (q *queue) idle() {
	switch {
	case q.stopped || !q.w.dirty:
	case q.timer == nil:
		q.timer = time.AfterFunc(idleAfter, q.onIdle)
	default:
		q.timer.Reset(idleAfter)
	}
}

func (q *queue) onIdle() {
	err := q.submit(&job{between: func() error {
		q.w.checkpoint()
		return nil
	}})
	if err != nil && !errors.Is(err, ErrClosed) {
		q.w.f.Notice("the log of %s could not be brought into the database: %v", q.w.f.path, err)
	}
}

// stop takes no more jobs and returns when the last one is done.
func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	if q.timer != nil {
		q.timer.Stop()
	}
	for q.led {
		q.free.Wait()
	}
}

func (w *writer) write(ctx context.Context, do func(t *Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.queue.submit(&job{do: do})
}

// exclusive does a job between transactions.
func (w *writer) exclusive(j *job) {
	j.err = w.dead
	if j.err == nil {
		j.err = w.connect()
	}
	if j.err == nil {
		j.err = j.between()
	}
}

// Write runs do inside a transaction that others may share, and returns once it is durable. An
// error of do undoes do alone. ctx is looked at before do is queued and not after: a write that was
// stopped half way reports an error although it may be committed. ErrReadOnly says that the file
// was opened for reading.
func (f *File) Write(ctx context.Context, do func(t *Tx) error) error {
	if f.w == nil {
		return ErrReadOnly
	}
	return f.w.write(ctx, do)
}

// WriteUnchecked is Write, alone in its transaction, for who has seen to it that no row is left
// that refers to what is deleted: SQLite would walk through whole tables to find that out.
func WriteUnchecked(ctx context.Context, f *File, do func(t *Tx) error) error {
	if f.w == nil {
		return ErrReadOnly
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f.w.queue.submit(&job{between: func() error {
		if err := f.w.exec("PRAGMA foreign_keys = OFF"); err != nil {
			return f.w.refuse(err)
		}
		one := &job{do: do}
		f.w.commit([]*job{one})
		if f.w.on == nil {
			return one.err // the connection was closed, and the next one checks
		}
		if err := f.w.exec("PRAGMA foreign_keys = ON"); err != nil {
			return errors.Join(one.err, f.w.refuse(err), f.w.disconnect())
		}
		return one.err
	}})
}

// Between does something between transactions: nobody writes meanwhile.
func (f *File) Between(do func(on *Statements) error) error {
	if f.w == nil {
		return ErrReadOnly
	}
	return f.w.queue.submit(&job{between: func() error { return do(f.w.on) }})
}

// Waiting is how many callers wait for their turn to write.
func (f *File) Waiting() int {
	q := f.w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// upgrade runs migrations in a transaction of their own.
func (w *writer) upgrade(files fs.FS) error {
	return w.write(context.Background(), func(*Tx) error {
		return Upgrade(context.Background(), w.on.conn, files)
	})
}

// close waits for what is queued, brings the log in and lets go of the file.
func (w *writer) close() error {
	w.queue.stop()
	w.checkpoint()
	return w.disconnect()
}
