package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"agent/tools/gitrepo/gitconfig"
	"agent/tools/gitrepo/objects"
)

// Bounds of marks, so that they fit into a fact and cost little to take. What is beyond the first
// two is in digests; beyond the others the marks are Cut.
const (
	maxMarkedWorktrees = 16
	maxMarkedLogs      = 32
	maxMarkedName      = 200    // bytes of a name that is kept as it is
	maxWorktrees       = 1_000  // that are looked at
	maxEntries         = 20_000 // of the tree of logs, and of that of refs
	maxDepth           = 32     // of either
	maxHead            = 4096   // bytes
)

// Marks tell whether anything of a repository's story moved, and where its logs ended. They are
// small: at most 16 worktrees and the logs of 32 branches are kept one by one, those that are
// checked out first and then those that were written last. All others are in the digests: that one
// of them moved is known then, but not what was added to it.
type Marks struct {
	Worktrees      []WorktreeMark `json:"worktrees,omitempty"`
	OtherWorktrees string         `json:"other_worktrees,omitempty"` // digest over those that are not listed; "" where there are none
	Logs           []LogMark      `json:"logs,omitempty"`            // of branches
	AllLogs        string         `json:"all_logs,omitempty"`        // digest over the logs of all branches
	OtherLogs      string         `json:"other_logs,omitempty"`      // digest over those that are not listed; "" where there are none
	Refs           string         `json:"refs,omitempty"`            // digest over all refs and what they lead to
	Cut            string         `json:"cut,omitempty"`             // why not everything was looked at; "" where it was
}

// WorktreeMark is where one worktree stands.
type WorktreeMark struct {
	Name   string   `json:"name,omitempty"` // below .git/worktrees; "" is the main one
	Head   string   `json:"head,omitempty"` // the text of HEAD
	Commit string   `json:"commit,omitempty"`
	Log    *LogMark `json:"log,omitempty"` // of HEAD; nil where there is none
}

// LogMark is where a log ended.
type LogMark struct {
	Name  string `json:"name,omitempty"` // such as refs/heads/main; "" for HEAD
	Size  int64  `json:"size"`
	Inode uint64 `json:"inode,omitempty"` // 0 where the system has none
}

// Same says whether nothing moved between two marks. Marks that are cut are never the same: what
// they do not cover may have moved.
func Same(a, b Marks) bool {
	return a.Cut == "" && b.Cut == "" && a.AllLogs == b.AllLogs && a.Refs == b.Refs &&
		a.OtherWorktrees == b.OtherWorktrees && reflect.DeepEqual(a.Worktrees, b.Worktrees)
}

// Mark takes the marks of a repository. It reads files only, and starts no process.
func Mark(r objects.Repository) (Marks, error) { return mark(r, nil) }

func mark(r objects.Repository, l *looked) (Marks, error) {
	var m Marks
	refs, cut, err := readRefs(r, l)
	if err != nil {
		return m, fmt.Errorf("mark the refs of %s: %w", r.Common, err)
	}
	m.Refs, m.Cut = digestRefs(refs), cut
	trees, cut, err := worktrees(r, l)
	if err != nil {
		return m, fmt.Errorf("mark the worktrees of %s: %w", r.Common, err)
	}
	m.Cut = cmp.Or(m.Cut, cut)
	logs, cut, err := branchLogs(r, l)
	if err != nil {
		return m, fmt.Errorf("mark the logs of %s: %w", r.Common, err)
	}
	m.Cut = cmp.Or(m.Cut, cut)
	first := map[string]bool{}
	var others []foundLog
	for _, w := range trees {
		mark, ref := w.mark(r, refs, l)
		if len(m.Worktrees) < maxMarkedWorktrees && keepable(w.name) {
			m.Worktrees = append(m.Worktrees, mark)
			first[ref] = true
			continue
		}
		others = append(others, mark.asLog())
	}
	m.OtherWorktrees = digestLogs(others, nil)
	m.list(logs, first)
	return m, nil
}

// keepable says whether a name can stand in a fact as it is.
func keepable(name string) bool { return len(name) <= maxMarkedName && utf8.ValidString(name) }

// list takes in logs: some one by one, the rest as a digest.
func (m *Marks) list(logs []foundLog, first map[string]bool) {
	m.AllLogs = digestLogs(logs, nil)
	slices.SortStableFunc(logs, func(a, b foundLog) int {
		if first[a.Name] != first[b.Name] {
			if first[a.Name] {
				return -1
			}
			return 1
		}
		return b.written.Compare(a.written)
	})
	listed := map[string]bool{}
	for _, l := range logs {
		if len(m.Logs) < maxMarkedLogs && keepable(l.Name) {
			m.Logs = append(m.Logs, l.LogMark)
			listed[l.Name] = true
		}
	}
	slices.SortFunc(m.Logs, func(a, b LogMark) int { return strings.Compare(a.Name, b.Name) })
	m.OtherLogs = digestLogs(logs, listed)
}

// digestLogs is a digest over logs other than those listed; "" where there are none.
func digestLogs(logs []foundLog, listed map[string]bool) string {
	logs = slices.DeleteFunc(slices.Clone(logs), func(l foundLog) bool { return listed[l.Name] })
	if len(logs) == 0 {
		return ""
	}
	slices.SortFunc(logs, func(a, b foundLog) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, l := range logs {
		fmt.Fprintf(h, "%s\x00%d %d %s\n", l.Name, l.Size, l.Inode, l.more)
	}
	return short(h.Sum(nil))
}

// short is enough of a digest to tell one state from another.
func short(sum []byte) string { return hex.EncodeToString(sum[:16]) }

// worktree is one of a repository's.
type worktree struct{ name, git string }

// worktrees lists them, the one that the repository was found by first.
func worktrees(r objects.Repository, l *looked) (list []worktree, cut string, err error) {
	list = []worktree{{"", r.Common}}
	dir := filepath.Join(r.Common, "worktrees")
	l.at(dir)
	names, more, err := entries(dir, maxWorktrees)
	if absent(err) {
		return list, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	if more {
		cut = fmt.Sprintf("it has more than %d worktrees", maxWorktrees)
	}
	for _, d := range names {
		if d.IsDir() {
			list = append(list, worktree{d.Name(), filepath.Join(dir, d.Name())})
		}
	}
	own := slices.IndexFunc(list, func(w worktree) bool { return w.git == r.Git })
	if own > 0 {
		w := list[own]
		list = slices.Insert(slices.Delete(list, own, own+1), 0, w)
	}
	return list, cut, nil
}

// unreadable stands for a HEAD that is no file, or says what no HEAD says.
const unreadable = "unreadable"

// mark is where a worktree stands, and the ref that its HEAD leads to.
func (w worktree) mark(r objects.Repository, refs []ref, at *looked) (m WorktreeMark, to string) {
	at.at(filepath.Join(w.git, "HEAD"))
	at.at(filepath.Join(w.git, "logs", "HEAD"))
	m.Name, m.Head = w.name, unreadable
	text, err := gitconfig.ReadFile(filepath.Join(w.git, "HEAD"), maxHead)
	if target, linked := linkTarget(filepath.Join(w.git, "HEAD")); linked {
		text, err = []byte("ref: "+target), nil // git's old way
	}
	if head := strings.TrimSpace(string(text)); err == nil && keepable(head) {
		m.Head = head
		to = strings.TrimSpace(strings.TrimPrefix(head, "ref:"))
		if to == head {
			m.Commit, to = idOf(head, r), ""
		} else {
			m.Commit = follow(refs, to)
		}
	}
	if l, err := statLog(filepath.Join(w.git, "logs", "HEAD")); err == nil {
		m.Log = &l.LogMark
	} else if !absent(err) {
		m.Log = &LogMark{Size: -1} // something else is there
	}
	return m, to
}

// asLog is a worktree that is not listed, for the digest.
func (m WorktreeMark) asLog() foundLog {
	l := foundLog{LogMark: LogMark{Name: m.Name}, more: m.Head + " " + m.Commit}
	if m.Log != nil {
		l.Size, l.Inode = m.Log.Size, m.Log.Inode
	}
	return l
}

// absent says that a file is not there.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || isNotFolder(err) }
