package terminal

import (
	"slices"

	"agent/host/view"
	"agent/recovery/journal"
)

// maxPaths is how many paths of one kind a plan lists; --json has them all.
const maxPaths = 40

// Rewind prints what a rewind would do. title names it.
func (t *Terminal) Rewind(title string, v view.Rewind) {
	what := "conversation and files"
	switch v.Only {
	case string(journal.RewindFiles):
		what = "files"
	case string(journal.RewindConversation):
		what = "conversation"
	}
	t.Say(t.Err, "%s: %s, %s", title, view.Count(v.Turns, "turn"), what)
	if v.Ends != "" {
		t.Say(t.Err, "  ends     run %s, which has not ended, is cancelled first", v.Ends)
	}
	t.paths("restore", v.Restore)
	t.paths("remove", v.Remove)
	t.yours(v)
	t.paths("git", v.Git)
	t.paths("lost", v.LeftOut)
	for _, m := range v.Moves {
		t.Say(t.Err, "  git      HEAD went from %s to %s and stays; back: %s", m.From, m.To, m.Back)
	}
	for _, c := range v.Commits {
		back := ""
		if c.Back != "" {
			back = "; off its branch: " + c.Back
		}
		t.Say(t.Err, "  git      commit %.9s %q stays%s", c.ID, c.Subject, back)
	}
	for _, s := range v.Stands {
		known := "happened"
		if s.Unknown {
			known = "may have happened"
		}
		t.Say(t.Err, "  stands   %s %s: %s (%s; what it did outside of this folder stays)", s.Place, s.Tool, s.Words, known)
	}
	for _, n := range v.Notes {
		t.Say(t.Err, "  note     %s", n)
	}
	if v.Acts() == 0 && v.Only != string(journal.RewindConversation) {
		t.Say(t.Err, "  no file is to be changed")
	}
}

func (t *Terminal) paths(kind string, list []view.RewindPath) {
	width := 0
	for _, p := range list[:min(len(list), maxPaths)] {
		width = max(width, min(40, len(p.Path)))
	}
	for i, p := range list {
		if i == maxPaths {
			t.Say(t.Err, "  %-8s and %s (--json lists them)", kind, view.Count(len(list)-i, "more path"))
			return
		}
		t.Say(t.Err, "  %-8s %-*s  %s", kind, width, p.Path, p.Text)
	}
}

func (t *Terminal) yours(v view.Rewind) {
	var left, asked []view.RewindPath
	for _, y := range v.Yours {
		if y.Asked {
			asked = append(asked, y)
		} else {
			left = append(left, y)
		}
	}
	t.paths("asked", asked)
	t.paths("yours", left)
	// A folder with something of theirs in it stays, whatever is asked for by name.
	if can := slices.IndexFunc(left, func(y view.RewindPath) bool { return !y.Held }); can >= 0 {
		t.Say(t.Err, "           these are left alone; --overwrite %s takes it back too", left[can].Path)
	}
}

// filesFact prints what a look at the files found.
func (t *Printer) filesFact(run string, b journal.Body) bool {
	switch b := b.(type) {
	case journal.FilesBase:
		t.Line(Dim, "·", view.BaseText(b))
	case journal.FilesChanged:
		if text := view.ChangedText(b); text != "" {
			t.Line(Dim, "│", text)
			t.seen(run, b)
		}
	case journal.CommitSeen:
		t.Line(Dim, "│", view.CommitText(b))
	default:
		return false
	}
	return true
}
