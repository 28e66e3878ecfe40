//go:build !unix

package command

// enoughFiles knows of no limit here.
func enoughFiles() error { return nil }
