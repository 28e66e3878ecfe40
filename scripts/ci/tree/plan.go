// Package tree brings a folder up to date with the files of a checkout by their contents: what is
// equal is not touched, so that it keeps its time, and go's caches, which look at times, hold from
// run to run.
package tree

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Entry is what a folder has at one name: the bits of its mode, and the digest of a file's bytes or
// the target of a symbolic link.
type Entry struct {
	Mode fs.FileMode
	Data string
}

// Action is one step of an update.
type Action struct {
	Do    Kind
	Name  string // slash-separated, below the folder
	Entry Entry  // what the name is to be; nothing to be removed
}

// Kind is what an action does.
type Kind string

// The kinds of actions. Each makes the name what it is wanted to be.
const (
	Remove Kind = "remove"
	Mkdir  Kind = "mkdir"
	Write  Kind = "write" // bytes and mode of a file, over the old ones
	Link   Kind = "link"
	Chmod  Kind = "chmod"
)

// folderMode is the mode of each folder: every user may look into it.
const folderMode = fs.ModeDir | 0o755

// Plan returns what makes of the present entries the wanted ones, in an order that can be carried
// out: what is in the way goes first, the deepest names before their folders. Folders of wanted
// names are wanted too.
func Plan(wanted, present map[string]Entry) []Action {
	all := withFolders(wanted)
	var removals, rest []Action

	for name, old := range present {
		if entry, ok := all[name]; !ok || entry.Mode.Type() != old.Mode.Type() || entry.Mode.Type() == fs.ModeSymlink && entry != old {
			removals = append(removals, Action{Do: Remove, Name: name})
		}
	}
	for name, entry := range all {
		old, ok := present[name]
		if ok && old == entry {
			continue
		}
		rest = append(rest, Action{change(entry, old, ok), name, entry})
	}

	slices.SortFunc(removals, func(a, b Action) int { return strings.Compare(b.Name, a.Name) })
	slices.SortFunc(rest, func(a, b Action) int { return strings.Compare(a.Name, b.Name) })
	return append(removals, rest...)
}

// change is what makes of the old entry, if there is one, the wanted one.
func change(entry, old Entry, exists bool) Kind {
	switch {
	case entry.Mode.Type() == fs.ModeSymlink:
		return Link
	case exists && entry.Mode.Type() == old.Mode.Type() && entry.Data == old.Data:
		return Chmod
	case entry.Mode.IsDir():
		return Mkdir
	}
	return Write
}

func withFolders(wanted map[string]Entry) map[string]Entry {
	all := map[string]Entry{}
	for name, entry := range wanted {
		all[name] = entry
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			all[folder] = Entry{Mode: folderMode}
		}
	}
	return all
}
