//go:build !linux

package tools

// writeAndDie is for a test that kills; it runs on Linux.
func writeAndDie(string, string, string) int { return 2 }
