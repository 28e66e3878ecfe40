package sqlitefile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// GoneError says that a file of the open database is no longer the one that its path names: it was
// removed, renamed or replaced, or the state folder was. What is written from then on is in no file
// that the next process would open.
type GoneError struct {
	Path string // of the file as it was opened
	What string // what is at the path now
	Now  string // where the open file is; empty where that is not known or it has no name any more
}

func (e *GoneError) Error() string {
	s := fmt.Sprintf("%s %s while it was open", e.Path, e.What)
	if e.Now != "" {
		s += "; the open file is now " + e.Now
	}
	return s
}

// pinned are the files of an open database: the main file, its log and the index of the log, which
// carries the locks of the log. Another process uses the same three only if their paths lead it to
// the same inodes.
type pinned struct {
	paths []string
	infos []fs.FileInfo
}

// pin notes which files the connections have open. main is the main file as it was before they were
// made: a file that took its place meanwhile is found. The other two exist from the first read on
// and until the last connection is closed.
func pin(path string, main fs.FileInfo) (pinned, error) {
	o := pinned{paths: []string{path, path + "-wal", path + "-shm"}, infos: []fs.FileInfo{main}}
	for _, path := range o.paths[1:] {
		info, err := os.Stat(path)
		if err != nil {
			return o, &GoneError{Path: path, What: whatIsThere(err)}
		}
		o.infos = append(o.infos, info)
	}
	return o, o.present()
}

// Present compares device and inode of the open files with what their paths name now. A store that
// was opened for reading only is not looked at. The error is a *GoneError; of a store that was
// closed, and let go of its log with that, it is ErrClosed.
func (f *File) Present() error {
	err := f.opened.present()
	if err != nil && f.closed.Load() {
		return ErrClosed
	}
	return err
}

// present also serves the commits of a store that is being closed: they are made before its files
// are let go.
func (o pinned) present() error {
	for i, path := range o.paths {
		same, err := names(path, o.infos[i])
		if same {
			continue
		}
		return &GoneError{Path: path, What: whatIsThere(err), Now: openName(o.infos[i])}
	}
	return nil
}

func whatIsThere(err error) string {
	switch {
	case err == nil:
		return "was replaced by another file"
	case os.IsNotExist(err):
		return "was removed or renamed"
	}
	return fmt.Sprintf("cannot be reached (%v)", err)
}

// openName is the name under which this process's open file is found now; empty where it has none
// or the system does not tell (proc_pid_fd(5)).
func openName(want fs.FileInfo) string {
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		link := filepath.Join(dir, e.Name())
		info, err := os.Stat(link)
		if err != nil || !os.SameFile(info, want) {
			continue // closed meanwhile, or another file
		}
		if name, err := os.Readlink(link); err == nil && !strings.HasSuffix(name, " (deleted)") {
			return name
		}
	}
	return ""
}
