package backup

import (
	"crypto/sha256"
	"errors"
	"io"
	"runtime"
	"sync"
)

// pieceSize is how much is hashed at once.
const pieceSize = 1 << 20

// summed hashes what is copied through it, beside the copy and on all processors: the SHA-256 of
// the SHA-256s of all pieces of pieceSize bytes, in their order; the last may be shorter.
type summed struct {
	free    chan []byte
	full    chan piece
	now     []byte // what the next piece has so far
	count   int    // of pieces that are full
	workers sync.WaitGroup
	mutex   sync.Mutex
	sums    [][sha256.Size]byte
}

type piece struct {
	no   int
	data []byte
}

func newSummed() *summed {
	workers := runtime.GOMAXPROCS(0)
	s := &summed{free: make(chan []byte, workers+2), full: make(chan piece, workers+2)}
	for range cap(s.free) {
		s.free <- make([]byte, 0, pieceSize)
	}
	s.now = <-s.free
	for range workers {
		s.workers.Go(s.hash)
	}
	return s
}

func (s *summed) hash() {
	for p := range s.full {
		sum := sha256.Sum256(p.data)
		s.mutex.Lock()
		for len(s.sums) <= p.no {
			s.sums = append(s.sums, [sha256.Size]byte{})
		}
		s.sums[p.no] = sum
		s.mutex.Unlock()
		s.free <- p.data[:0]
	}
}

// copy copies all that a reader has.
func (s *summed) copy(to io.Writer, from io.Reader) (n int64, err error) {
	for {
		k, readErr := from.Read(s.now[len(s.now):cap(s.now)])
		n += int64(k)
		fresh := s.now[len(s.now) : len(s.now)+k]
		if _, err := to.Write(fresh); err != nil {
			return n, err
		}
		s.has(k)
		switch {
		case errors.Is(readErr, io.EOF):
			return n, nil
		case readErr != nil:
			return n, readErr
		}
	}
}

// has counts bytes that the next piece has more, and gives it away when it is full.
func (s *summed) has(k int) {
	s.now = s.now[:len(s.now)+k]
	if len(s.now) == cap(s.now) {
		s.give()
		s.now = <-s.free
	}
}

func (s *summed) give() {
	s.full <- piece{s.count, s.now}
	s.count++
}

// end gives the hash of all. It must be called, and nothing else after it.
func (s *summed) end() []byte {
	if len(s.now) > 0 {
		s.give()
	}
	close(s.full)
	s.workers.Wait()
	all := sha256.New()
	for _, sum := range s.sums {
		all.Write(sum[:]) // a hash takes everything without an error
	}
	return all.Sum(nil)
}
