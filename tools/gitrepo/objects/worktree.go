package objects

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"agent/tools/gitrepo/gitconfig"
)

// maxChanged bounds what WorkTree reads of files, in bytes.
const maxChanged = 64 << 20

// WorkTree is the id of the tree that a commit of every tracked file as it is on disk has (git
// commit -a). It refuses what IndexTree refuses, and what only git can tell: a file that something
// converts, a submodule, another kind of thing than was tracked.
func (r Repository) WorkTree() (string, error) {
	r.Prefix = "" // the whole of it
	ix, err := r.wholeIndex()
	if err != nil {
		return "", fmt.Errorf("read the index of %s: %w", r.Git, err)
	}
	all, err := r.Index()
	if err != nil {
		return "", err
	}
	how := r.Conversions(all, nil)
	converts := func(path string) bool { return how(path) != Same }
	list, left := make([]record, 0, len(ix.list)), int64(maxChanged)
	for _, e := range ix.list {
		there, err := r.onDisk(&e, ix.written, converts, &left)
		if err != nil {
			return "", fmt.Errorf("read what a commit of %s takes: %s: %w", r.Top, e.name, err)
		}
		if there {
			list = append(list, e)
		}
	}
	id, err := r.treeID(list)
	if err != nil {
		return "", fmt.Errorf("read the index of %s: %w", r.Git, err)
	}
	return id, nil
}

// onDisk puts into an entry what is on disk, and says whether anything is.
func (r Repository) onDisk(e *record, written int64, converts func(string) bool, left *int64) (bool, error) {
	was := e.indexed(written)
	if was.Assume || was.Skip || was.Mode == ModeSubmodule || !isPath(e.name) {
		return false, errors.New("git does not compare it as it does others")
	}
	name := filepath.Join(r.Top, filepath.FromSlash(e.name))
	info, err := os.Lstat(name)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if was.Clean(statOf(info)) {
		return true, nil // git takes it for what it was
	}
	if *left -= info.Size(); *left < 0 {
		return false, errors.New("too much has changed to be read")
	}
	var content []byte
	mode := ModeFile
	switch kind := info.Mode().Type(); {
	case kind == 0 && was.Mode != ModeLink:
		if converts(e.name) {
			return false, errors.New("its bytes on disk may be others than git's")
		}
		if info.Mode()&0o100 != 0 {
			mode = ModeExecutable
		}
		content, err = gitconfig.ReadFile(name, info.Size())
	case kind == fs.ModeSymlink && was.Mode == ModeLink:
		var to string
		to, err = os.Readlink(name)
		content, mode = []byte(to), ModeLink
	default:
		return false, errors.New("it is another kind of thing than was tracked")
	}
	e.id, e.mode = BlobID(content, r.SHA256), mode
	return true, err
}
