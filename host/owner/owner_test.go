package owner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"agent/host/owner"
	"agent/tools/process"
)

func locks(t *testing.T) owner.Locks {
	t.Helper()
	return owner.Locks{Dir: filepath.Join(t.TempDir(), "locks"), Self: process.Self()}
}

// RUN-07: one process drives a run. Whoever comes second learns which; once the first lets go,
// anybody may.
// EN-51.
func TestOneOwner(t *testing.T) {
	l := locks(t)
	if who, held, err := l.Owner("r-1"); err != nil || held || who.PID != 0 {
		t.Errorf("before any: %v %v %v", who, held, err)
	}
	first, err := l.Take("r-1")
	if err != nil {
		t.Fatal(err)
	}
	var busy *owner.HeldError
	if _, err := l.Take("r-1"); !errors.As(err, &busy) || busy.Holder != l.Self {
		t.Errorf("a second owner: %v", err)
	}
	if who, held, err := l.Owner("r-1"); err != nil || !held || who != l.Self {
		t.Errorf("%v %v %v", who, held, err)
	}
	if err := l.Describe(first, "the disk\nis full"); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if who, failed := l.Last("r-1"); who != l.Self || failed != "the disk is full" {
		t.Errorf("the last owner was %v, which failed with %q", who, failed)
	}
	second, err := l.Take("r-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, failed := l.Last("r-1"); failed != "" {
		t.Errorf("the new owner failed with %q", failed)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

// Looking who drives a run takes nothing: lists in a tight loop never keep an owner out.
func TestLookingTakesNoLock(t *testing.T) {
	l := locks(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	var lookers sync.WaitGroup
	for range 2 {
		lookers.Go(func() {
			for ctx.Err() == nil {
				if _, err := l.Held("r-1"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 300 {
		f, err := l.Take("r-1")
		if err != nil {
			t.Error(err)
			break
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	stop()
	lookers.Wait()
}

// A lock file that somebody damaged names nobody, and is a lock all the same.
func TestDamagedLockFile(t *testing.T) {
	l := locks(t)
	f, err := l.Take("r-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.Path("r-1"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if who, held, err := l.Owner("r-1"); err != nil || !held || who.String() != "another process" {
		t.Errorf("%v %v %v", who, held, err)
	}
	if _, err := l.Take("r-1"); !errors.As(err, new(*owner.HeldError)) {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
