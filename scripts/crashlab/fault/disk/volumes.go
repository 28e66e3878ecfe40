//go:build linux

package disk

import (
	"agent/scripts/crashlab/lab"
)

// needsMounts is for faults that are made by a mount.
func needsMounts(l *lab.Lab) error { return l.Mounts }
