package stream

import (
	"errors"
	"fmt"

	"github.com/fsnotify/fsnotify"
)

// watchFolders starts notification for what is directly in dirs. It opens neither the folders nor
// what is in them.
func watchFolders(dirs []string) (*fsnotify.Watcher, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("start file notification: %w", err)
	}
	for _, dir := range dirs {
		if err := watcher.Add(dir); err != nil {
			return nil, errors.Join(fmt.Errorf("watch %s: %w", dir, err), watcher.Close())
		}
	}
	return watcher, nil
}
