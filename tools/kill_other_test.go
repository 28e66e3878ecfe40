//go:build !linux

package tools

// actAndDie is for a test that kills; it runs on Linux.
func actAndDie(string, string, string, string, string) int { return 2 }

func dieAt(string) func(string) { return nil }
