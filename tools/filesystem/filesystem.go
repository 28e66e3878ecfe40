// Package filesystem reads what the file system under a folder says of its own health. It changes
// nothing, needs no right beyond reading, and leaves out what it cannot read.
//
// An ext4 counts its errors in its superblock, where they survive a restart; a full check by
// e2fsck(8) resets the count. The kernel shows it below /sys/fs/ext4
// (Documentation/ABI/testing/sysfs-fs-ext4). The folder there is made anew whenever the file system
// is mounted, so its inode names that mount. When the file system was last checked stands only in
// the superblock, which an ordinary user cannot read. Other file systems offer nothing here that is
// comparable: of them only the flag read-only is known.
package filesystem

import (
	"agent/recovery/journal"
)

// Roots are the folders of the system that are read; the zero value means its own.
type Roots struct {
	Sys   string // "/sys"
	Block string // "/dev/block"
}

// Read looks at the file system of a folder. A folder that cannot be looked at gives the zero
// value.
func Read(folder string, at Roots) journal.Disk {
	if at.Sys == "" {
		at.Sys = "/sys"
	}
	if at.Block == "" {
		at.Block = "/dev/block"
	}
	return read(folder, at)
}
