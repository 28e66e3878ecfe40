//go:build !linux

package stream

import (
	"errors"

	"github.com/fsnotify/fsnotify"
)

// watchFolders refuses: to watch a folder, kqueue opens every file in it, the database's included.
func watchFolders([]string) (*fsnotify.Watcher, error) {
	return nil, errors.New("on this system it may open the watched files; it is used on Linux only")
}
