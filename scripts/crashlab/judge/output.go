//go:build linux

package judge

import (
	"time"
)

// Output is what one command printed.
type Output struct {
	Args     []string
	Arm      string
	PID      int
	Text     string
	Code     int // -9 when it was killed
	Killed   bool
	KilledAt time.Time // before the lab killed it; zero where it did not
}
