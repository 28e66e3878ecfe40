// Package terminaltest is what tests of terminals share.
package terminaltest

import (
	"bytes"
	"sync"
)

// Tape is a writer whose text can be read while it is written.
type Tape struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the text.
func (t *Tape) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

// String is what was written so far.
func (t *Tape) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
