//go:build !race

package fault

// Race is nothing: only tests are built with the race detector.
func Race() []string { return nil }
