package backup

import (
	"crypto/sha256"
	"errors"
	"io"
)

// summed hashes (SHA-256) what is copied through it, on another processor than that which copies.
type summed struct {
	free, full chan []byte
	sum        chan []byte
}

const (
	pieceSize = 1 << 20
	pieces    = 4 // that are under way at most
)

func newSummed() *summed {
	s := &summed{free: make(chan []byte, pieces), full: make(chan []byte, pieces), sum: make(chan []byte, 1)}
	for range pieces {
		s.free <- make([]byte, pieceSize)
	}
	go func() {
		sum := sha256.New()
		for b := range s.full {
			sum.Write(b) // a hash takes everything without an error
			s.free <- b[:cap(b)]
		}
		s.sum <- sum.Sum(nil)
	}()
	return s
}

// copy copies all that a reader has.
func (s *summed) copy(to io.Writer, from io.Reader) (n int64, err error) {
	for {
		b := <-s.free
		k, err := io.ReadFull(from, b)
		n += int64(k)
		if k > 0 {
			if _, err := to.Write(b[:k]); err != nil {
				s.free <- b
				return n, err
			}
		}
		s.full <- b[:k]
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return n, nil
		case err != nil:
			return n, err
		}
	}
}

// add takes in what was copied by somebody else.
func (s *summed) add(data []byte) {
	for len(data) > 0 {
		b := <-s.free
		n := copy(b, data)
		s.full <- b[:n]
		data = data[n:]
	}
}

// end gives the hash of all. It must be called, and nothing else after it.
func (s *summed) end() []byte {
	close(s.full)
	return <-s.sum
}
