//go:build !linux

package shell

func dieAt(string) func(string) { return nil }
