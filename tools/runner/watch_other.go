//go:build !linux || portable

package runner

import "time"

// pollTime is the time between two looks.
const pollTime = 50 * time.Millisecond

// Events of a folder, which do not show here.
const (
	hintNames = iota
	hintEnd
	hintWrite
)

// watcher has whoever waits for something to happen in a folder look again and again.
type watcher struct {
	hints chan struct{}
	poll  time.Duration
}

func watch(string, uint32) *watcher { return &watcher{poll: pollTime} }

func (w *watcher) close() {}
