//go:build !linux

package gitrepo

import (
	"io/fs"
	"os"
)

// entry is one name in a folder.
type entry struct {
	name string
	kind fs.FileMode
}

// list reads the names of a folder.
func (w *walk) list(dir string) ([]entry, error) {
	found, err := os.ReadDir(w.path(dir))
	var list []entry
	for _, e := range found {
		list = append(list, entry{e.Name(), e.Type()})
	}
	return list, err
}

func (e entry) folder() bool { return e.kind.IsDir() }

func (e entry) link() bool { return e.kind&fs.ModeSymlink != 0 }

// hardLinked says whether a file has another name, which is not looked at here: no command runs.
func hardLinked(fs.FileInfo) bool { return false }
