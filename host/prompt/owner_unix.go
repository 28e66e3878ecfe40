//go:build unix

package prompt

import (
	"io/fs"
	"os"
	"syscall"
)

// trusted says whose files may instruct a run in folder: its owner's, this person's and root's. In
// a parent that others can write to, such as /tmp, somebody else may have made a repository.
func trusted(folder fs.FileInfo) func(fs.FileInfo) bool {
	ours := map[uint32]bool{0: true, uint32(os.Getuid()): true}
	if s, ok := folder.Sys().(*syscall.Stat_t); ok {
		ours[s.Uid] = true
	}
	return func(file fs.FileInfo) bool {
		s, ok := file.Sys().(*syscall.Stat_t)
		return ok && ours[s.Uid]
	}
}
