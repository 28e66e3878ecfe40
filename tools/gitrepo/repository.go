package gitrepo

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agent/tools/gitrepo/gitconfig"
)

// maxHooks bounds the files of one folder of hooks at the first look. In a larger one only those
// that git runs are looked at, and not what they may call.
const maxHooks = 500

// hookNames are the names that git runs: githooks.
func hookNames() []string {
	return []string{
		"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg",
		"post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive",
		"post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite", "sendemail-validate",
		"fsmonitor-watchman", "p4-changelist", "p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit", "post-index-change",
	}
}

// leadsTo lists the own folders of the repositories, in the workspace, to which a .git there leads:
// one, and for a linked worktree the one that it shares settings with. It notes where their hooks
// and filters run.
func (w *walk) leadsTo(p string) []string {
	to := p
	if info, err := os.Stat(w.path(p)); err != nil {
		return nil
	} else if !info.IsDir() {
		content, _ := contentOf(w.path(p)) // what cannot be read leads nowhere
		value, _ := strings.CutPrefix(strings.TrimSpace(string(content)), "gitdir:")
		to = w.s.Person.resolve(filepath.Dir(p), strings.TrimSpace(value))
	}
	var list []string
	repo, ok := w.inside(w.path(to))
	for ; ok && !slices.Contains(list, repo); repo, ok = w.inside(w.path(to)) {
		list = append(list, repo)
		if top := path.Dir(p); !slices.Contains(w.tops[repo], top) {
			w.tops[repo] = append(w.tops[repo], top)
		}
		if common, whole := contentOf(w.path(path.Join(repo, "commondir"))); whole {
			to = w.s.Person.resolve(repo, strings.TrimSpace(string(common)))
		}
	}
	return list
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
		for _, other := range w.tops[repo] {
			w.named(s, other, repo)
		}
	}
}

// config reads a configuration, and what it includes from the workspace.
func (w *walk) config(p, repo string, depth int) []Setting {
	if known, ok := w.at[p]; ok || depth > gitconfig.MaxInclude {
		return known
	}
	w.at[p] = nil // it may include itself
	item, content, ok := w.read(p, Config, repo)
	if !ok {
		return nil
	}
	plain, err := gitconfig.Parse(content, filepath.Dir(w.path(p)))
	if err != nil || item.Digest == "unread" {
		item.Harm = append(item.Harm, harmful("settings that cannot be read", content))
	}
	if item.Link != "" {
		item.Harm = append(item.Harm, harmful("a link to settings", []byte(item.Link)))
		if to, ok := w.inside(w.path(p)); ok && to != p {
			w.config(to, repo, depth+1)
		}
	}
	var list []Setting
	for _, s := range plain {
		list = append(list, Setting{Setting: s})
	}
	for _, s := range list {
		if w.harms(s, p) {
			item.Harm = append(item.Harm, harmful(s.Key(), []byte(s.Value)))
		}
		if s.Includes() {
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
	case tool:
		return strings.Contains(s.Value, "/")
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

// named adds what a setting names in the workspace: a folder of hooks, or files that a command
// consists of.
func (w *walk) named(s Setting, top, repo string) {
	switch c := s.class(); {
	case s.Section == "core" && s.Name == "hookspath":
		if p, ok := w.inside(w.s.Person.resolve(w.path(top), s.Value)); ok {
			w.hooks(p, repo)
		}
		return
	case s.Includes(), c == harmless, c == address, c == folder, c == tool:
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
				item.Harm = []string{harmful("what "+s.Key()+" runs", []byte(item.Link), []byte(item.Digest))}
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
	many := w.skip[dir] || w.skip == nil && len(entries) > maxHooks
	if many {
		w.s.Unseen = append(w.s.Unseen, dir)
	}
	for _, e := range entries {
		name := e.name
		p := path.Join(dir, name)
		switch {
		case strings.HasSuffix(name, ".sample"), isAside(name):
		case many && !slices.Contains(hookNames(), name):
		case e.folder():
			w.hooks(p, repo)
		default:
			if item, ok := w.add(p, Hook, repo); ok {
				item.Harm = []string{harmful("the hook "+name, []byte(item.Link), []byte(item.Digest))}
				w.s.Items[p] = item
				if item.Link != "" {
					w.target(p, "the hook "+name)
				}
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

// pointers judges what says where a repository is, once all repositories are known: it is harmless
// only where it leads to the workspace's own, or to one in the workspace that runs nothing.
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
