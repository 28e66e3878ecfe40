package db

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
	do      func(t *tx) error
	between func() error
	err     error
	turn    chan bool // true: the caller leads now; false: its job is done
}

// queue lets one goroutine at a time write. A caller that finds nobody writing leads: it does its own job, and takes along
// whatever waits already; while its commit is made durable the next ones queue up, and the first of them leads after it.
// So nothing waits for company, a lone caller pays for no other goroutine, and many share a commit.
type queue struct {
	w *writer

	mu      sync.Mutex
	free    sync.Cond // nobody leads
	waiting []*job
	led     bool
	stopped bool
	idle    *time.Timer
}

func newQueue(w *writer) *queue {
	q := &queue{w: w}
	q.free.L = &q.mu
	return q
}

// hand does a job, or has it done, and returns how it ended.
func (q *queue) hand(j *job) error {
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

// lead does the job at the head of the queue, which is the caller's own, with those behind it that can share its commit.
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
		q.w.apart(batch[0])
		return
	}
	q.w.commit(batch)
}

// take removes the head of the queue: one job that is done between transactions, or all others before the next such one.
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
		q.rest()
		q.free.Broadcast()
	}
	q.mu.Unlock()
	for _, j := range batch[1:] {
		j.turn <- false
	}
}

// rest has the log brought into the database when nobody writes for a while.
func (q *queue) rest() {
	switch {
	case q.stopped || !q.w.dirty:
	case q.idle == nil:
		q.idle = time.AfterFunc(idleAfter, q.tidy)
	default:
		q.idle.Reset(idleAfter)
	}
}

func (q *queue) tidy() {
	err := q.hand(&job{between: func() error {
		q.w.bringIn()
		return nil
	}})
	if err != nil && !errors.Is(err, ErrClosed) {
		q.w.s.notice("the log of %s could not be brought into the database: %v", q.w.s.path, err)
	}
}

// stop takes no more jobs and returns when the last one is done.
func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	if q.idle != nil {
		q.idle.Stop()
	}
	for q.led {
		q.free.Wait()
	}
}

// write runs do inside a transaction that others may share, and returns once it is durable. An error of do undoes do
// alone. ctx is looked at before do is queued and not after: a write that was stopped half way reports an error although
// it may be committed.
func (w *writer) write(ctx context.Context, do func(t *tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.queue.hand(&job{do: do})
}

// apart does a job between transactions.
func (w *writer) apart(j *job) {
	j.err = w.dead
	if j.err == nil {
		j.err = w.connect()
	}
	if j.err == nil {
		j.err = j.between()
	}
}

// upgrade runs migrations in a transaction of their own.
func (w *writer) upgrade(files fs.FS) error {
	return w.write(context.Background(), func(*tx) error {
		return upgrade(context.Background(), w.conn, files)
	})
}

// close waits for what is queued, brings the log in and lets go of the file.
func (w *writer) close() error {
	w.queue.stop()
	w.bringIn()
	return errors.Join(w.disconnect(), w.marks.close())
}
