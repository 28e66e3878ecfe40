//go:build unix

package testbin

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// errEdited is that a build may have read other sources than the digest has.
var errEdited = errors.New("the sources were edited while they were built: try again when they are at rest")

// stamp is what is seen of a file or a folder without reading it.
type stamp struct {
	size    int64
	changed time.Time
}

// stampOf looks at a path. It goes around package os, which would note for go's cache of test
// results each time that a test looks again.
func stampOf(path string) (stamp, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return stamp{}, fmt.Errorf("open %s: %w", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close() // nothing is written to it
	info, err := f.Stat()
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.Size(), info.ModTime()}, nil
}

// made is a folder of programs that this process uses, and the sources that they are of.
type made struct {
	folder *os.File
	digest string
	again  func() (string, map[string]stamp, error) // the digest as it is now

	mu     sync.Mutex
	stamps map[string]stamp // of files and folders of sources
}

// unchanged is an error where the sources are no longer those of the programs. They are read again
// only where a file or a folder looks different.
func (m *made) unchanged() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	same := true
	for path, before := range m.stamps {
		now, err := stampOf(path)
		same = same && err == nil && now == before
	}
	if same {
		return nil
	}

	digest, stamps, err := m.again()
	if err != nil {
		return fmt.Errorf("read the sources again, which were edited: %w", err)
	}
	if digest != m.digest {
		return errors.New("the sources were edited after the program was built: run the test again")
	}
	m.stamps = stamps
	return nil
}

// Unchanged is an error where the sources of a program that this process has are no longer what
// they were when it was built: what a test has found out holds for no state that is there.
func Unchanged() error {
	var all []error
	prepared.Range(func(_, once any) bool {
		if m, err := once.(func() (*made, error))(); err == nil { // who asked for it has the error
			all = append(all, m.unchanged())
		}
		return true
	})
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("testbin: %w", err)
	}
	return nil
}

// refuseEdits has a test fail at its end where the sources were edited.
func refuseEdits(t TB) {
	t.Cleanup(func() {
		if err := Unchanged(); err != nil {
			t.Error(err)
		}
	})
}
