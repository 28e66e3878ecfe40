package fork

import (
	"fmt"
	"strings"

	"agent/host/view"
	"agent/recovery/journal"
)

// View is a worktree as it is shown. Fields are only ever added.
type View struct {
	Folder  string   `json:"folder"`
	Commit  string   `json:"commit"`   // where it stands, with no branch
	Laid    int      `json:"laid"`     // files that were otherwise than the commit has them
	Removed int      `json:"removed"`  // files of the commit that were not there
	Left    []Left   `json:"left_out"` // what was in the folder and is not kept
	Notes   []string `json:"notes"`
	Remove  string   `json:"remove"` // the command that removes it
}

// Left is a path that is not kept, with the reason.
type Left struct {
	Path   string             `json:"path"`
	Reason journal.LeftReason `json:"reason"`
}

// Outcome is that of a run in a worktree that was made for it.
type Outcome struct {
	view.Outcome
	Worktree *View `json:"worktree"`
}

// View is what was made.
func (t *Tree) View(redact func(string) string) View {
	v := View{Folder: t.Folder, Commit: t.Commit, Removed: len(t.remove), Left: []Left{}, Notes: []string{}, Remove: t.removal()}
	for _, w := range t.write {
		if w.Kind != journal.FileFolder {
			v.Laid++
		}
	}
	for _, l := range t.left {
		v.Left = append(v.Left, Left{redact(l.Path), l.Reason})
	}
	v.Notes = append(v.Notes, t.notes...)
	return v
}

// removal is the command that removes the worktree later.
func (t *Tree) removal() string {
	return "git -C " + view.ShellWord(t.repo.Top) + " worktree remove " + view.ShellWord(t.Dir)
}

// Lines says what was made, and how it is removed.
func (v View) Lines() []string {
	text := fmt.Sprintf("worktree: %s at %.12s", v.Folder, v.Commit)
	if v.Laid > 0 {
		text += fmt.Sprintf(", %s laid over it", view.Count(v.Laid, "kept file"))
	}
	if v.Removed > 0 {
		text += fmt.Sprintf(", %s of it removed", view.Count(v.Removed, "file"))
	}
	lines := []string{text}
	if len(v.Left) > 0 {
		var names []string
		for _, l := range v.Left[:min(len(v.Left), maxNamed)] {
			names = append(names, fmt.Sprintf("%s (%s)", l.Path, l.Reason))
		}
		if n := len(v.Left) - len(names); n > 0 {
			names = append(names, fmt.Sprintf("%d more", n))
		}
		lines = append(lines, "  not in it: "+strings.Join(names, ", "))
	}
	for _, n := range v.Notes {
		lines = append(lines, "  "+n)
	}
	return append(lines, "  remove it when you are done: "+v.Remove)
}
