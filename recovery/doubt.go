package recovery

import (
	"agent/recovery/journal"
	"fmt"
)

// changedSince says why a file that is not on the disk now may have been there and durable, given
// the disk as it was claimed and the boots of both. It is "" when nothing says so.
func changedSince(now, then journal.Disk, boot, thenBoot string) string {
	counts := now.Counts && then.Counts
	switch {
	case now.Noted != then.Noted:
		return "an error of the disk was seen since"
	case counts && now.Errors != then.Errors:
		return fmt.Sprintf("the file system counts %d errors, %d when the run was claimed", now.Errors, then.Errors)
	case counts && now.LastError != then.LastError:
		return "the file system had an error since"
	case now.ReadOnly && !then.ReadOnly:
		return "the file system turned read-only since"
	case now.Checked != 0 && then.Checked != 0 && now.Checked != then.Checked:
		return "the file system was checked or repaired since"
	case boot != "" && boot == thenBoot && now.Mount != 0 && then.Mount != 0 && now.Mount != then.Mount:
		return "the file system was unmounted since, and may have been repaired"
	}
	return ""
}

// Doubt says why what is missing on the disk proves nothing about the call: the disk failed since
// the claim under which the call was started, or may have. It is "" when nothing says so.
func (c *Call) Doubt(now journal.Disk, boot string) string {
	if c.disk == nil {
		return ""
	}
	return changedSince(now, *c.disk, boot, c.boot)
}
