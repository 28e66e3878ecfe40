package gitrepo

import (
	"os"
	"path/filepath"
	"strings"

	"agent/tools/gitrepo/gitconfig"
)

// person is what a person's own configuration of git says, as far as it can name something in a
// workspace.
type person struct {
	Home     string    `json:"home,omitempty"`
	Settings []Setting `json:"settings,omitempty"`
	Files    []string  `json:"files,omitempty"` // those of its files that lie in the workspace
	Links    []string  `json:"links,omitempty"` // files of the workspace that hooks of a repository outside lead to
	Outer    []Setting `json:"outer,omitempty"` // of a repository outside that the workspace is a worktree or a part of
}

// personOf reads the person's and the system's configuration: git-config, FILES.
func personOf(folder string) person {
	var who person
	who.Home, _ = os.UserHomeDir() // without one there are no files of it
	files := gitconfig.PersonFiles(who.Home)
	who.Settings = who.read(folder, files)
	if repo, top := outer(folder); repo != "" {
		who.Outer = who.read(folder, []string{filepath.Join(repo, "config"), filepath.Join(repo, "config.worktree")})
		for i := range who.Outer {
			who.Outer[i].Top = top
		}
		who.Links = linked(folder, filepath.Join(repo, "hooks"))
	}
	return who
}

// linked lists where the links in a folder of hooks outside lead to in the workspace.
func linked(folder, hooks string) []string {
	w := &walk{s: Snapshot{Folder: folder}}
	var list []string
	entries, _ := os.ReadDir(hooks) // without it there are no hooks
	for _, e := range entries {
		to, err := os.Readlink(filepath.Join(hooks, e.Name()))
		if err != nil {
			continue // it is no link
		}
		if p, ok := w.inside(person{}.resolve(hooks, to)); ok { // it need not be there yet
			list = append(list, p)
		}
	}
	return list
}

// read collects what in configurations outside may name something in the workspace, and notes those
// of the files that lie in it.
func (who *person) read(folder string, files []string) []Setting {
	w := &walk{s: Snapshot{Folder: folder}}
	var found []Setting
	gitconfig.Each(files, who.Home, func(file string, list []gitconfig.Setting, _ error) {
		if p, ok := w.inside(file); ok {
			who.Files = append(who.Files, p)
		}
		for _, s := range list { // git refuses what cannot be read
			s := Setting{Setting: s}
			if c := s.class(); !s.Includes() && (c == command || c == code || c == toggle || c == unknown) {
				found = append(found, s)
			}
		}
	})
	return found
}

// outer finds the repository that a folder belongs to without holding it: one above it, or one that
// its .git file leads to. top is where its hooks and filters run. gitrepository-layout, gitfile and
// commondir.
func outer(folder string) (repo, top string) {
	for top = folder; ; top = filepath.Dir(top) {
		repo = filepath.Join(top, ".git")
		info, err := os.Stat(repo)
		switch {
		case err == nil && info.IsDir():
			if top == folder {
				return "", "" // its own
			}
			return repo, top
		case err == nil:
			content, _ := contentOf(repo) // what cannot be read leads nowhere
			to, ok := strings.CutPrefix(strings.TrimSpace(string(content)), "gitdir:")
			if !ok {
				return "", ""
			}
			repo = person{}.resolve(top, strings.TrimSpace(to))
			if common, whole := contentOf(filepath.Join(repo, "commondir")); whole {
				repo = person{}.resolve(repo, strings.TrimSpace(string(common)))
			}
			return repo, top
		case top == filepath.Dir(top):
			return "", ""
		}
	}
}

// resolve is the path that a value names, seen from a folder.
func (who person) resolve(base, value string) string { return gitconfig.Resolve(who.Home, base, value) }
