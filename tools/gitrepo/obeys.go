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

// Obeys says whether a file with that path in a workspace would be obeyed: by its name, because it lies in a repository's own folder
// or would make one, or because a setting names it. Links are not followed; the path is the one that is written to.
func Obeys(folder, p string) bool {
	p = path.Clean(filepath.ToSlash(p))
	if Listed(p) {
		return true
	}
	parts := strings.Split(p, "/")
	for i, part := range parts {
		if strings.EqualFold(part, ".git") || repositoryWith(filepath.Join(folder, filepath.Join(parts[:i]...)), part) {
			return true
		}
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return true // nothing can be said about it
	}
	w := newWalk(real, personOf(real))
	w.settings()
	if info, err := os.Stat(filepath.Join(real, ".git", "HEAD")); err == nil && !info.IsDir() {
		w.repository(".git")
	}
	if _, ok := w.s.Items[p]; ok {
		return true
	}
	return slices.ContainsFunc(w.s.Hooks, func(dir string) bool { return within(p, dir) })
}

// repositoryWith says whether a folder is a repository's own, once it holds one more name.
func repositoryWith(dir, name string) bool {
	has := func(n string) bool {
		if n == name {
			return true
		}
		_, err := os.Lstat(filepath.Join(dir, n))
		return err == nil
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
