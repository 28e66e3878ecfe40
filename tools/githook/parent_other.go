//go:build !linux

package githook

import "time"

// running is how long the git that runs the hook has been at it: not known.
func running() time.Duration { return 0 }

// unverified says whether git was asked to run no hook behind this one: not known.
func (message) unverified() bool { return false }
