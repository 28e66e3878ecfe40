package gitrepo

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxHooks bounds the files of one folder of hooks.
const maxHooks = 500

// person is what a person's own configuration of git says, as far as it can name something in a workspace.
type person struct {
	Home     string    `json:"home,omitempty"`
	Settings []Setting `json:"settings,omitempty"`
	Files    []string  `json:"files,omitempty"` // those of its files that lie in the workspace
	Outer    []Setting `json:"outer,omitempty"` // of a repository outside that the workspace is a worktree or a part of
}

// personOf reads the person's and the system's configuration: git-config, FILES.
func personOf(folder string) person {
	var who person
	who.Home, _ = os.UserHomeDir() // without one there are no files of it
	files := []string{"/etc/gitconfig"}
	if who.Home != "" {
		config := os.Getenv("XDG_CONFIG_HOME")
		if config == "" {
			config = filepath.Join(who.Home, ".config")
		}
		files = append(files, filepath.Join(config, "git", "config"), filepath.Join(who.Home, ".gitconfig"))
	}
	who.Settings = who.read(folder, files)
	if repo, top := outer(folder); repo != "" {
		who.Outer = who.read(folder, []string{filepath.Join(repo, "config"), filepath.Join(repo, "config.worktree")})
		for i := range who.Outer {
			who.Outer[i].Top = top
		}
	}
	return who
}

// read collects what in configurations outside may name something in the workspace, and notes those of the files that lie in it.
func (who *person) read(folder string, files []string) []Setting {
	w := &walk{s: Snapshot{Folder: folder}}
	var found []Setting
	for depth := 0; len(files) > 0 && depth < maxInclude; depth++ {
		var more []string
		for _, file := range files {
			content, _ := contentOf(file)                 // what is not there says nothing
			list, _ := parse(content, filepath.Dir(file)) // git refuses what cannot be read
			if p, ok := w.inside(file); ok {
				who.Files = append(who.Files, p)
			}
			for _, s := range list {
				switch c := s.class(); {
				case isInclude(s):
					more = append(more, who.resolve(s.Base, s.Value))
				case c == command || c == code || c == toggle || c == unknown:
					found = append(found, s)
				}
			}
		}
		files = more
	}
	return found
}

// outer finds the repository that a folder belongs to without holding it: one above it, or one that its .git file leads to. top is
// where its hooks and filters run. gitrepository-layout, gitfile and commondir.
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

func isInclude(s Setting) bool {
	return s.Name == "path" && (s.Section == "include" || s.Section == "includeif")
}

// resolve is the path that a value names, seen from a folder.
func (who person) resolve(base, value string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		return filepath.Join(who.Home, rest)
	}
	if filepath.IsAbs(value) {
		return filepath.Clean(value)
	}
	return filepath.Join(base, value)
}

// repository looks at what one repository obeys.
func (w *walk) repository(repo string) {
	top := repo
	if strings.EqualFold(path.Base(repo), ".git") {
		top = path.Dir(repo)
	}
	settings := w.s.Person.Settings
	for _, name := range []string{"config", "config.worktree"} {
		settings = append(settings[:len(settings):len(settings)], w.config(path.Join(repo, name), repo, 0)...)
	}
	w.add(path.Join(repo, "commondir"), Pointer, repo)
	w.hooks(path.Join(repo, "hooks"), repo)
	w.todoList(path.Join(repo, "rebase-merge", "git-rebase-todo"), repo)
	for _, dir := range []string{"remotes", "branches"} {
		w.addresses(path.Join(repo, dir), repo)
	}
	for _, s := range settings {
		if s.Section == "core" && s.Name == "worktree" {
			if p, ok := w.inside(w.s.Person.resolve(w.path(repo), s.Value)); ok {
				top = p
			}
		}
	}
	for _, s := range settings {
		w.named(s, top, repo)
	}
}

// config reads a configuration, and what it includes from the workspace.
func (w *walk) config(p, repo string, depth int) []Setting {
	if known, ok := w.at[p]; ok || depth > maxInclude {
		return known
	}
	w.at[p] = nil // it may include itself
	item, content, ok := w.read(p, Config, repo)
	if !ok {
		return nil
	}
	list, err := parse(content, filepath.Dir(w.path(p)))
	if err != nil || item.Digest == "unread" {
		item.Harm = append(item.Harm, harmful("settings that cannot be read", content))
	}
	if item.Link != "" {
		item.Harm = append(item.Harm, harmful("a link to settings", []byte(item.Link)))
		if to, ok := w.inside(w.path(p)); ok && to != p {
			w.config(to, repo, depth+1)
		}
	}
	for _, s := range list {
		if w.harms(s, p) {
			item.Harm = append(item.Harm, harmful(s.key(), []byte(s.Value)))
		}
		if isInclude(s) {
			if to, ok := w.inside(w.s.Person.resolve(s.Base, s.Value)); ok {
				list = append(list, w.config(to, repo, depth+1)...)
			}
		}
	}
	w.s.Items[p], w.at[p] = item, list
	return list
}

// harms says whether a setting can run something.
func (w *walk) harms(s Setting, p string) bool {
	switch s.class() {
	case harmless:
		return false
	case address:
		return strings.Contains(s.Value, "::")
	case toggle:
		return !isBoolean(s.Value)
	case folder:
		_, ok := w.inside(w.s.Person.resolve(filepath.Dir(w.path(p)), s.Value))
		return !ok
	}
	return true
}

func isBoolean(value string) bool {
	switch strings.ToLower(value) {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1":
		return true
	}
	return false
}

// named adds what a setting names in the workspace: a folder of hooks, or files that a command consists of.
func (w *walk) named(s Setting, top, repo string) {
	switch c := s.class(); {
	case s.Section == "core" && s.Name == "hookspath":
		if p, ok := w.inside(w.s.Person.resolve(w.path(top), s.Value)); ok {
			w.hooks(p, repo)
		}
		return
	case isInclude(s), c == harmless, c == address, c == folder:
		return
	case s.Section == "init" && s.Name == "templatedir":
		if p, ok := w.inside(w.s.Person.resolve(s.Base, s.Value)); ok {
			w.hooks(path.Join(p, "hooks"), "")
			w.config(path.Join(p, "config"), "", 0)
		}
		return
	}
	for _, word := range strings.FieldsFunc(s.Value, func(r rune) bool { return strings.ContainsRune(" \t\n!\"'`;|&()<>$={},", r) }) {
		for _, base := range []string{top, repo} {
			p, ok := w.inside(w.s.Person.resolve(w.path(base), word))
			if _, known := w.s.Items[p]; !ok || known {
				continue
			}
			if info, err := os.Stat(w.path(p)); err != nil || info.IsDir() {
				continue
			}
			if item, ok := w.add(p, Named, ""); ok {
				item.Harm = []string{harmful("what "+s.key()+" runs", []byte(item.Link), []byte(item.Digest))}
				w.s.Items[p] = item
			}
		}
	}
}

// hooks adds a folder of hooks. Samples are never run, and what was set aside is not either.
func (w *walk) hooks(dir, repo string) {
	for _, known := range w.s.Hooks {
		if known == dir {
			return
		}
	}
	w.s.Hooks = append(w.s.Hooks, dir)
	if info, err := os.Lstat(w.path(dir)); err == nil && !info.IsDir() {
		if item, ok := w.add(dir, Hook, repo); ok {
			item.Harm = []string{harmful("a link to hooks", []byte(item.Link))}
			w.s.Items[dir] = item
		}
		if to, ok := w.inside(w.path(dir)); ok && to != dir {
			w.hooks(to, repo)
		}
		return
	}
	entries, err := w.list(dir)
	if err != nil {
		return // it is not there: what is made there later is seen then
	}
	for i, e := range entries {
		name := e.name
		p := path.Join(dir, name)
		switch {
		case i >= maxHooks:
			w.s.Unseen = append(w.s.Unseen, dir)
			return
		case strings.HasSuffix(name, ".sample"), strings.Contains(name, asideMark):
		case e.folder():
			w.hooks(p, repo)
		default:
			if item, ok := w.add(p, Hook, repo); ok {
				item.Harm = []string{harmful("the hook "+name, []byte(item.Link), []byte(item.Digest))}
				w.s.Items[p] = item
			}
		}
	}
}

// todoList adds the steps of a rebase, where they run something.
func (w *walk) todoList(p, repo string) {
	item, content, ok := w.read(p, Todo, repo)
	if !ok {
		return
	}
	for line := range bytes.Lines(content) {
		word, rest, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if w := string(word); w == "exec" || w == "x" || strings.HasPrefix(w, "exec\t") || strings.HasPrefix(w, "x\t") {
			item.Harm = append(item.Harm, harmful("a command of a rebase", rest))
		}
	}
	w.s.Items[p] = item
}

// addresses adds files that each name a remote.
func (w *walk) addresses(dir, repo string) {
	entries, err := w.list(dir)
	if err != nil {
		return // most repositories have none
	}
	for _, e := range entries {
		p := path.Join(dir, e.name)
		if item, content, ok := w.read(p, Config, repo); ok && bytes.Contains(content, []byte("::")) {
			item.Harm = []string{harmful("an address that names a program", content)}
			w.s.Items[p] = item
		}
	}
}

// pointers judges what says where a repository is, once all repositories are known: it is harmless only where it leads to the
// workspace's own, or to one in the workspace that runs nothing.
func (w *walk) pointers() {
	for p, item := range w.s.Items {
		if item.Kind != Pointer {
			continue
		}
		base := filepath.Dir(w.path(p))
		value := strings.TrimSpace(string(item.Content))
		ok := true
		if path.Base(p) != "commondir" {
			value, ok = strings.CutPrefix(value, "gitdir:")
		}
		if item.Link != "" {
			value, ok = item.Link, true
		}
		to, in := w.inside(w.s.Person.resolve(base, strings.TrimSpace(value)))
		switch {
		case path.Base(p) == "commondir" && ok && in && item.Link == "" && path.Dir(path.Dir(item.Repo)) == to && path.Base(path.Dir(item.Repo)) == "worktrees":
		case path.Base(p) != "commondir" && ok && in && w.knows(to) && w.clean(to):
		default:
			item.Harm = []string{harmful("a repository elsewhere", []byte(item.Link), []byte(item.Digest))}
			w.s.Items[p] = item
		}
	}
}

// clean says whether a repository runs nothing, or is the workspace's own, which is guarded.
func (w *walk) clean(repo string) bool {
	if path.Base(path.Dir(repo)) == "worktrees" && w.knows(path.Dir(path.Dir(repo))) && !w.clean(path.Dir(path.Dir(repo))) {
		return false
	}
	for p, item := range w.s.Items {
		if item.Repo == repo && len(item.Harm) > 0 && repo != ".git" && item.Kind != Pointer {
			return false
		}
		if p == path.Join(repo, "commondir") && path.Base(path.Dir(repo)) != "worktrees" {
			return false
		}
	}
	return true
}
