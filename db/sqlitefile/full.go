package sqlitefile

import (
	"context"
	"fmt"
	"time"
)

// checkpoint copies the log into the database and cuts it down, when something was written since.
// That somebody reads at this moment only puts it off.
func (w *writer) checkpoint() {
	if !w.dirty || w.dead != nil || w.on == nil {
		return
	}
	busy, _, _, err := w.copyLog("TRUNCATE")
	if err != nil {
		w.f.Notice("the log of %s could not be brought into the database: %v", w.f.path, w.f.Explain(err))
		return // every fact is in the log, which stays
	}
	w.dirty = busy
}

// CopyLog copies into the database what of the log can be copied while others write, so that none
// of their commits has to. What cannot be copied now is copied another time.
func CopyLog(f *File) {
	_ = f.Between(func(*Statements) error {
		_, _, _, err := f.w.copyLog("PASSIVE")
		return err
	})
}

// copyLog returns what SQLite says about the copying: an error alone would not tell that some of it
// was left.
func (w *writer) copyLog(mode string) (busy bool, frames, copied int, err error) {
	err = w.on.conn.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &frames, &copied)
	return busy, frames, copied, err
}

// recoverWAL is for the first start after an unclean end, when the page cache may show what the
// disk does not hold: the log is copied into the database, with an fsync of both, and a commit is
// tried, before anything is shown or done. The log is begun anew and not cut down, which the close
// does: what it takes of the disk need not be taken again.
func (w *writer) recoverWAL() error {
	return w.queue.submit(&job{between: w.recoverNow})
}

func (w *writer) recoverNow() error {
	for wait := newRetries(min(w.f.o.BusyWait, 5*time.Second)); ; {
		busy, frames, copied, err := w.copyLog("RESTART")
		if err != nil {
			return fmt.Errorf("bring the log of %s into the database: %w", w.f.path, w.f.Explain(err))
		}
		if !busy || frames == copied {
			break // a reader may keep the log from being cut down, not from being copied
		}
		if !wait.next(context.Background()) {
			return fmt.Errorf("bring the log of %s into the database: %d of %d pages: %w", w.f.path, copied, frames, ErrBusy)
		}
	}
	if err := w.begin(); err != nil {
		if w.f.isDiskFull(err) {
			err = w.f.Explain(err)
		}
		return err
	}
	// Writing the number that is there writes the first page all the same: a commit like any other.
	err := w.exec(fmt.Sprintf("PRAGMA user_version = %d", w.f.Format.newestStamp()))
	if err == nil {
		err = w.exec("COMMIT")
	}
	if err != nil {
		return w.abort(fmt.Errorf("try a commit in %s: %w", w.f.path, w.f.Explain(err)))
	}
	w.dirty = true
	return nil
}

// afterFullDisk frees the ballast and writes the batch once more, through a new connection: what
// the failed one shows is not what the disk holds. What the first try has written after all is not
// written again.
func (w *writer) afterFullDisk(batch []*job, cause error) error {
	if !w.f.GiveUpBallast() {
		w.dead = &CommitError{Err: w.f.Explain(cause)}
		return w.dead
	}
	if err := w.disconnect(); err != nil {
		w.dead = &CommitError{Err: err}
		return w.dead
	}
	for _, j := range batch {
		j.err = nil
	}
	err := w.attempt(batch, true)
	if w.f.isDiskFull(err) {
		w.dead = &CommitError{Err: w.f.Explain(err)}
		return w.dead
	}
	return err
}
