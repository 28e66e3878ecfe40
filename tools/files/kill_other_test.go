//go:build !linux

package files

// actAndDie is for a test that kills; it runs on Linux.
func actAndDie(string, string, string, string, string) int { return 2 }
