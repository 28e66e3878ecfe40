package gitrepo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Kind is what a path is to those who obey it.
type Kind string

// The kinds.
const (
	Config  Kind = "config"  // settings of git
	Hook    Kind = "hook"    // a program in a folder of hooks
	Pointer Kind = "pointer" // it says where a repository is: .git as a file or link, commondir
	Todo    Kind = "todo"    // the steps of a rebase that is under way
	Named   Kind = "named"   // a file that a setting of git names
	Opened  Kind = "opened"  // obeyed by whoever enters or opens the folder, or commits in it
)

// Item is one path that is obeyed.
type Item struct {
	Kind    Kind     `json:"kind"`
	Repo    string   `json:"repo,omitempty"`    // the repository's own folder, in the workspace
	Link    string   `json:"link,omitempty"`    // of a symbolic link: where it leads
	Mode    uint32   `json:"mode,omitempty"`    // permission bits
	Shared  bool     `json:"shared,omitempty"`  // it has other names, by which it can be changed
	Digest  string   `json:"digest,omitempty"`  // SHA-256 of the content, in hex
	Content []byte   `json:"content,omitempty"` // of a file that is small enough to be put back
	Harm    []string `json:"harm,omitempty"`    // what of it is run or obeyed; empty: nothing
}

// Snapshot is what is obeyed in a workspace at one moment. It can be stored as JSON; contents are
// as they are on disk.
type Snapshot struct {
	Folder string          `json:"folder"` // the workspace, absolute, without links
	Items  map[string]Item `json:"items"`  // by path in the workspace, with slashes
	Repos  []string        `json:"repos"`  // the repositories' own folders, such as .git
	Hooks  []string        `json:"hooks"`  // folders of hooks, there or not
	Unseen []string        `json:"unseen"` // folders that were too many to be looked into
	Person person          `json:"person"` // what the person's own configuration says
	Kept   []string        `json:"kept"`   // what the system keeps from changing until the next look: who changes it is not judged
}

// Change is something that is obeyed now and was not before.
type Change struct {
	Path string // what is to be put back or set aside, in the workspace
	Why  string // what it would do, in a few words
	Was  *Item  // what was there; nil if nothing was
}

// Fixed lists what is there and can be kept from changing beforehand, as paths in the workspace:
// settings and hooks of the workspace's own repository and, unless own, what else is obeyed at its
// top or named by its settings. What lies deeper is left out, since a folder that holds something
// fixed could be neither moved nor removed.
func (s Snapshot) Fixed(own bool) []string {
	var list []string
	add := func(p string) {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	for _, dir := range s.Hooks {
		if within(dir, ".git") || !own {
			add(dir)
		}
	}
	for p, item := range s.Items {
		top, _, _ := strings.Cut(p, "/")
		switch {
		case item.Kind == Todo:
		case top == ".git" || top == ".agent" || top == ".mcp.json":
			add(p)
		case own:
		case item.Kind == Named, item.Kind == Config && item.Repo == ".git", item.Kind == Opened && strings.Count(p, "/") <= 1:
			add(p)
		}
	}
	for _, dir := range newCatalogue().folders {
		if _, ok := s.Items[dir]; ok && (dir == ".agent" || !own) {
			add(dir)
		}
	}
	slices.Sort(list)
	list = slices.DeleteFunc(list, func(p string) bool {
		_, err := os.Lstat(filepath.Join(s.Folder, filepath.FromSlash(p)))
		return err != nil // a folder of hooks may be made later
	})
	return slices.DeleteFunc(list, func(p string) bool {
		return slices.ContainsFunc(list, func(above string) bool { return above != p && within(p, above) })
	})
}

// within says whether a path is a folder or lies below it.
func within(p, dir string) bool { return p == dir || dir == "." || strings.HasPrefix(p, dir+"/") }

// Changed lists what is obeyed after and was not before, sorted by path. What was only removed or
// moved is no change.
func Changed(before, after Snapshot) []Change {
	var list []Change
	fresh := map[string][]string{} // of a repository that is new: what it would run
	for _, p := range slices.Sorted(maps.Keys(after.Items)) {
		now := after.Items[p]
		was, known := before.Items[p]
		harm := slices.DeleteFunc(slices.Clone(now.Harm), func(h string) bool { return slices.Contains(was.Harm, h) })
		switch {
		case len(harm) == 0, before.keeps(p), known && was.Digest == now.Digest && was.Link == now.Link:
		case !known && now.Kind == Opened && before.has(now):
		case now.Repo != "" && !slices.Contains(before.Repos, now.Repo):
			if !moved(before, after, now.Repo) {
				fresh[now.Repo] = append(fresh[now.Repo], harm...)
			}
		case known:
			list = append(list, Change{p, plain(harm[0]), &was})
		default:
			list = append(list, Change{p, plain(harm[0]), nil})
		}
	}
	for _, repo := range slices.Sorted(maps.Keys(fresh)) {
		list = append(list, Change{path.Join(repo, "HEAD"), "a new repository with " + plain(fresh[repo][0]), nil})
	}
	return list
}

// keeps says whether the system kept a path from changing. What has another name can be changed by
// that.
func (s Snapshot) keeps(p string) bool {
	if s.Items[p].Shared {
		return false
	}
	return slices.ContainsFunc(s.Kept, func(kept string) bool { return within(p, kept) })
}

// harmful is an entry of Harm: what it is, and a digest that tells one content from another without
// showing it.
func harmful(what string, content ...[]byte) string {
	return what + " " + digest(bytes.Join(content, []byte{0}))[:16]
}

func plain(harm string) string { return harm[:strings.LastIndexByte(harm, ' ')] }

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// has says whether the very same was obeyed somewhere, under the same name: harm names it.
func (s Snapshot) has(now Item) bool {
	for _, was := range s.Items {
		if was.Kind == now.Kind && slices.Equal(was.Harm, now.Harm) {
			return true
		}
	}
	return false
}

// moved says whether a new repository is one that was elsewhere before and is not there any more,
// and runs nothing more than that.
func moved(before, after Snapshot, repo string) bool {
	for _, old := range before.Repos {
		if slices.Contains(after.Repos, old) || (path.Base(old) == ".git") != (path.Base(repo) == ".git") {
			continue
		}
		same := true
		for p, item := range after.Items {
			if item.Repo != repo || len(item.Harm) == 0 {
				continue
			}
			was := before.Items[old+strings.TrimPrefix(p, repo)]
			same = same && slices.Equal(was.Harm, item.Harm)
		}
		if same {
			return true
		}
	}
	return false
}

// Missed says what was not looked into; "" if everything was.
func (s Snapshot) Missed() string {
	const most = 5
	if len(s.Unseen) == 0 {
		return ""
	}
	text := strings.Join(s.Unseen[:min(most, len(s.Unseen))], ", ")
	if n := len(s.Unseen) - most; n > 0 {
		text += fmt.Sprintf(" and %d more folders", n)
	}
	return fmt.Sprintf("the workspace has more than %d files and folders, or some that cannot be read: not looked at for what git or an editor would run: %s", maxEntries, text)
}
