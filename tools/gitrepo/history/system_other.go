//go:build !unix

package history

import (
	"io/fs"
	"os"
	"path/filepath"

	"agent/tools/gitrepo/gitconfig"
)

// inodeOf is not known here: that a log was replaced shows by its size alone.
func inodeOf(fs.FileInfo) uint64 { return 0 }

// readSmallIn reads a small regular file of a folder.
func readSmallIn(in *os.File, name string) ([]byte, error) {
	return gitconfig.ReadFile(filepath.Join(in.Name(), name), maxRef)
}

// statLogIn is statLog in a folder.
func statLogIn(in *os.File, name string) (foundLog, error) {
	return statLog(filepath.Join(in.Name(), name))
}

// state is not known here: no time of a file is one that nobody can set.
type state struct {
	there, link bool
	changed     int64
}

const here = 0

func stateOf(int, string) (s state, ok bool) { return s, false }

func folderOf(string) (folder int, ok bool) { return 0, false }

func closeFolder(int) {}
