package sqlitefile

import (
	"io"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"agent/tools/durable"
)

const (
	ballastName = "ballast"
	// BallastSize is how much room is kept for records, bytes.
	BallastSize = 16 << 20
	ballastTemp = ".ballast-*" // name of one that is being written
	// BallastRoom is the free space without which no ballast is made, bytes.
	BallastRoom = 2 * BallastSize
)

// ballast is the file that is freed when the disk is full. It is made beside the first write.
type ballast struct {
	dir    string
	notice func(format string, args ...any)

	once    sync.Once
	mu      sync.Mutex // guards making against stopped
	stopped bool
	making  sync.WaitGroup
}

func (b *ballast) path() string { return filepath.Join(b.dir, ballastName) }

// start has the ballast made. Nobody waits for it but stop.
func (b *ballast) start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.stopped {
		b.making.Go(b.make)
	}
}

// stop has none made from now on.
func (b *ballast) stop() {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.making.Wait()
}

// make writes the file. It is filled with noise, so that no file system can store it in less.
func (b *ballast) make() {
	if info, err := os.Stat(b.path()); err == nil && info.Size() >= BallastSize {
		return
	}
	if free, err := freeBytes(b.dir); err == nil && free < BallastRoom {
		b.notice("the disk of %s has %d MiB left, too little for the ballast of %d MiB: a full disk would stop agent at once", b.dir, free>>20, BallastSize>>20)
		return
	}
	temp, err := durable.Temp(b.dir, ballastTemp, 0o600, io.LimitReader(mathrand.NewChaCha8([32]byte{}), BallastSize))
	if err == nil {
		err = durable.Rename(temp, b.path())
	}
	if err != nil {
		b.notice("the ballast %s could not be written (%v): a full disk would stop agent at once", b.path(), err)
	}
}

// dropHalf removes what was written of a ballast when its process ended. Each would keep the room
// of a whole one.
func (b *ballast) dropHalf() {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		b.notice("a ballast that was not finished could not be looked for: %v", err)
	}
	for _, e := range entries {
		if ok, err := filepath.Match(ballastTemp, e.Name()); err != nil || !ok {
			continue // the pattern is a constant that can be read
		}
		if err := os.Remove(filepath.Join(b.dir, e.Name())); err != nil {
			b.notice("a ballast that was not finished could not be removed: %v", err)
		}
	}
}

// KeepBallast sees to the ballast beside the first write.
func (f *File) KeepBallast() {
	if !f.o.NoBallast {
		f.ballast.once.Do(f.ballast.start)
	}
}

// WaitBallast returns when no ballast is being made.
func (f *File) WaitBallast() { f.ballast.making.Wait() }

// Ballast is the path of the file that is freed when the disk is full. It may not exist.
func (f *File) Ballast() string { return f.ballast.path() }

// GiveUpBallast frees the room that was kept for records, and says whether there was any.
func (f *File) GiveUpBallast() bool {
	f.full.Store(true)
	if f.o.ReadOnly {
		return false
	}
	err := os.Remove(f.ballast.path())
	if err != nil {
		return false // there is none, so nothing is gained; the caller reports the full disk
	}
	f.Notice("the disk of %s is full: the ballast was freed, so that what runs can be recorded; free some space before anything new is started", f.dir)
	return true
}
