//go:build !race

package testbin

// raced is whether this process was built with the race detector.
const raced = false
