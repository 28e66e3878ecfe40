package gitrepo

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Listed says whether a path is obeyed by its name alone, wherever it is (opened).
func Listed(p string) bool {
	p = path.Clean(filepath.ToSlash(p))
	names := newCatalogue()
	return names.file(path.Dir(p), path.Base(p)) || slices.ContainsFunc(strings.Split(p, "/"), names.folder)
}

// Obeys says whether one of the files with these paths in a workspace would be obeyed, once all of
// them are there: by its name, because it lies in a repository's own folder or would make one, or
// because a setting names it. Links are not followed; a path is the one that is written to.
func Obeys(folder string, paths ...string) bool {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return true // nothing can be said about it
	}
	w := newWalk(real, personOf(real))
	w.settings()
	made := map[string][]string{} // by folder: the names that are written or made in it
	for _, p := range paths {
		p = path.Clean(filepath.ToSlash(p))
		if Listed(p) {
			return true
		}
		for ; p != "." && p != "/" && p != ".."; p = path.Dir(p) {
			dir, name := path.Dir(p), path.Base(p)
			if strings.EqualFold(name, ".git") {
				return true
			}
			made[dir] = append(made[dir], name)
		}
	}
	for dir, names := range made {
		if repositoryWith(filepath.Join(real, filepath.FromSlash(dir)), names) {
			return true
		}
		for _, repo := range w.leadsTo(path.Join(dir, ".git")) {
			w.repository(repo)
		}
	}
	return slices.ContainsFunc(paths, func(p string) bool {
		p = path.Clean(filepath.ToSlash(p))
		_, ok := w.s.Items[p]
		return ok || slices.ContainsFunc(w.s.Hooks, func(dir string) bool { return within(p, dir) })
	})
}

// repositoryWith says whether a folder is a repository's own, once it holds more names.
func repositoryWith(dir string, names []string) bool {
	has := func(n string) bool {
		_, err := os.Lstat(filepath.Join(dir, n))
		return err == nil || slices.Contains(names, n)
	}
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// Unclassified lists the keys that keys.txt says nothing about, as `git help --config` writes them.
func Unclassified(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		_, ok := classes()[pattern(key)]
		return ok
	})
}
