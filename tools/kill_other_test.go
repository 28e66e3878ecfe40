//go:build !linux

package tools

import "agent/recovery/fault"

// actAndDie is for a test that kills; it runs on Linux.
func actAndDie(string, string, string, string, string) int { return 2 }

func dieAt(string) func(fault.Point) { return nil }
