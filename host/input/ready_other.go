//go:build !unix

package input

import (
	"io"
	"os"
	"time"
)

// waitReady reports a file as quiet where nothing can wait for it without reading: what a runbook
// does not take is left unread.
func waitReady(r io.Reader, _ time.Duration) error {
	if _, ok := r.(*os.File); ok {
		return ErrQuiet
	}
	return nil
}
