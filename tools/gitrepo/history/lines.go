package history

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/tools/gitrepo/objects"
)

// Line is what git logged of one move of a ref: git-reflog, git-update-ref. A move that stands in
// the logs of HEAD and of its branch is one line, that of HEAD.
type Line struct {
	Log       string // HEAD, or a branch such as refs/heads/main
	Branch    string // of a line of HEAD: the branch whose log has it too, "" for none
	Worktree  string // of a line of HEAD: below .git/worktrees, "" is the main one
	Old, New  string // ids; all zeros where there was or is none
	Verb      string // what did it, such as "commit", "commit (amend)", "rebase (pick)", "reset"
	Message   string // what follows the verb
	Committer string // name and address
	Time      time.Time
}

// Broken is a log that does not tell what happened between two marks.
type Broken struct {
	Log      string // HEAD, a branch, or "refs" for all that the logs do not tell
	Worktree string
	Why      string
}

// News is what the logs tell of the time between two marks.
type News struct {
	Lines  []Line // in the order of time; those of one log in its order
	Broken []Broken
}

// Lines reads what was added to the logs between two marks. Where a log does not tell, since it was
// expired, replaced or removed, or since git does not log (core.logAllRefUpdates), that is Broken,
// and the caller has to walk from the tips instead. Tags and the branches of others are not looked
// at: what was fetched is found by a walk alone.
func Lines(r objects.Repository, before, after Marks) (News, error) {
	if r.Reftable() {
		return News{Broken: []Broken{{Log: "refs", Why: "refs are kept in reftables, whose logs are not read"}}}, nil
	}
	n := reading{before: before, after: after}
	for _, cut := range []string{before.Cut, after.Cut} {
		if cut != "" {
			n.broken("refs", "", cut)
		}
	}
	if err := n.worktrees(r); err != nil {
		return News{}, fmt.Errorf("read the logs of the worktrees of %s: %w", r.Common, err)
	}
	if err := n.branches(r); err != nil {
		return News{}, fmt.Errorf("read the logs of the branches of %s: %w", r.Common, err)
	}
	n.moved()
	return News{n.merged(), n.wrong}, nil
}

// reading is the logs between two marks while they are read.
type reading struct {
	before, after Marks
	heads         [][]logLine // of one log each
	others        [][]logLine
	wrong         []Broken
}

type logLine struct {
	Line
	raw string
}

func (n *reading) broken(log, worktree, why string) {
	n.wrong = append(n.wrong, Broken{log, worktree, why})
}

// worktrees reads the logs of HEAD of the worktrees that are listed in the marks.
func (n *reading) worktrees(r objects.Repository) error {
	trees, _, err := worktrees(r, nil)
	if err != nil {
		return err
	}
	at := map[string]string{}
	for _, w := range trees {
		at[w.name] = w.git
	}
	was := map[string]WorktreeMark{}
	for _, w := range n.before.Worktrees {
		was[w.Name] = w
	}
	for _, w := range n.after.Worktrees {
		before, known := was[w.Name]
		delete(was, w.Name)
		if w.Log == nil && before.Log == nil || !known && n.before.OtherWorktrees != "" {
			continue // whether it was there is judged by the digest of the others
		}
		git, ok := at[w.Name]
		if !ok {
			git = r.Git // nothing is there; its log is missing
			if w.Name != "" {
				git = filepath.Join(r.Common, "worktrees", w.Name)
			}
		}
		lines, why := added(filepath.Join(git, "logs", "HEAD"), before.Log, w.Log)
		if why != "" {
			n.broken("HEAD", w.Name, why)
		}
		for i := range lines {
			lines[i].Log, lines[i].Worktree = "HEAD", w.Name
		}
		n.heads = append(n.heads, lines)
	}
	for _, w := range n.before.Worktrees {
		if _, gone := was[w.Name]; gone && w.Log != nil {
			n.broken("HEAD", w.Name, "its worktree is gone, and its log with it")
		}
	}
	return nil
}

// branches reads the logs of branches.
func (n *reading) branches(r objects.Repository) error {
	live, _, err := branchLogs(r, nil)
	if err != nil {
		return err
	}
	was, byInode := map[string]LogMark{}, map[uint64]LogMark{}
	listed := map[string]bool{}
	for _, l := range n.before.Logs {
		was[l.Name], listed[l.Name] = l, true
		if l.Inode != 0 {
			byInode[l.Inode] = l
		}
	}
	is := map[string]LogMark{}
	for _, l := range n.after.Logs {
		is[l.Name] = l
	}
	alive, renamed := map[string]bool{}, map[string]bool{}
	for _, l := range live {
		alive[l.Name] = true
	}
	for _, l := range live {
		mark, known := was[l.Name]
		if !known {
			if n.before.OtherLogs != "" {
				continue // whether it was there is judged below
			}
			if old, ok := byInode[l.Inode]; ok && !alive[old.Name] {
				mark, known = old, true // a branch that is renamed takes its log along
				renamed[old.Name] = true
			}
		}
		now, marked := is[l.Name]
		n.branch(r, l.Name, pointer(mark, known), pointer(now, marked))
	}
	for _, l := range n.before.Logs {
		if !alive[l.Name] && !renamed[l.Name] {
			n.broken(l.Name, "", "its log is gone")
		}
	}
	if n.before.Refs != n.after.Refs {
		if err := n.unlogged(r, alive); err != nil {
			return err
		}
	}
	if n.before.OtherLogs != "" && digestLogs(live, listed) != n.before.OtherLogs {
		n.broken("refs", "", fmt.Sprintf("more than %d branches have logs, and one of the others moved", len(n.before.Logs)))
	}
	return nil
}

// unlogged names the branches that have no log: any of them may be the one that moved.
func (n *reading) unlogged(r objects.Repository, logged map[string]bool) error {
	refs, _, err := readRefs(r, nil)
	if err != nil {
		return err
	}
	first, count := "", 0
	for _, f := range refs {
		if strings.HasPrefix(f.name, "refs/heads/") && !logged[f.name] {
			first, count = cmp.Or(first, f.name), count+1
		}
	}
	if count > 0 {
		n.broken("refs", "", fmt.Sprintf("refs moved, and %d branches such as %s have no log", count, first))
	}
	return nil
}

func pointer(m LogMark, known bool) *LogMark {
	if !known {
		return nil
	}
	return &m
}

// branch reads the log of one branch.
func (n *reading) branch(r objects.Repository, name string, before, after *LogMark) {
	lines, why := added(filepath.Join(r.Common, "logs", filepath.FromSlash(name)), before, after)
	if why != "" {
		n.broken(name, "", why)
	}
	for i := range lines {
		lines[i].Log = name
	}
	n.others = append(n.others, lines)
}

// moved adds what moved although no log has it.
func (n *reading) moved() {
	was := map[string]string{}
	for _, w := range n.before.Worktrees {
		was[w.Name] = w.Commit
	}
	for _, w := range n.after.Worktrees {
		if before, known := was[w.Name]; !known || before == w.Commit || w.Commit == "" {
			continue
		}
		has := func(l logLine) bool { return l.Worktree == w.Name && l.New == w.Commit }
		if !slices.ContainsFunc(n.heads, func(log []logLine) bool { return slices.ContainsFunc(log, has) }) {
			n.broken("HEAD", w.Name, "HEAD moved, and its log has no line of it")
		}
	}
	if n.before.OtherWorktrees != n.after.OtherWorktrees {
		n.broken("HEAD", "", fmt.Sprintf("there are more than %d worktrees, and one of the others moved", maxMarkedWorktrees))
	}
	lines := slices.ContainsFunc(slices.Concat(n.heads, n.others), func(log []logLine) bool { return len(log) > 0 })
	if n.before.Refs != n.after.Refs && !lines && len(n.wrong) == 0 {
		n.broken("refs", "", "refs moved, and no log of HEAD or of a branch has a line of it")
	}
}

// merged puts the lines of all logs in order. What stands in the logs of HEAD and of its branch is
// the same to the byte, and counts once.
func (n *reading) merged() []Line {
	byRaw := map[string][]*logLine{}
	for _, log := range n.heads {
		for i := range log {
			byRaw[log[i].raw] = append(byRaw[log[i].raw], &log[i])
		}
	}
	logs := n.heads
	for _, log := range n.others {
		logs = append(logs, slices.DeleteFunc(log, func(l logLine) bool {
			same := byRaw[l.raw]
			if len(same) == 0 {
				return false
			}
			same[0].Branch, byRaw[l.raw] = l.Log, same[1:]
			return true
		}))
	}
	var all []Line
	for {
		first := -1
		for i, log := range logs {
			if len(log) > 0 && (first < 0 || log[0].Time.Before(logs[first][0].Time)) {
				first = i
			}
		}
		if first < 0 {
			return all
		}
		all = append(all, logs[first][0].Line)
		logs[first] = logs[first][1:]
	}
}
