package view

import (
	"fmt"
	"strings"
	"time"

	"agent/recovery/journal"
)

// Rewind is what a rewind would do, or was asked to do. Fields are only ever added.
type Rewind struct {
	Version      int              `json:"version"`
	To           string           `json:"to"` // run@turn
	Thread       string           `json:"thread_id"`
	Folder       string           `json:"folder"`
	Only         string           `json:"only,omitempty"`
	Digest       string           `json:"digest"`         // of what would be written and taken back
	Ends         string           `json:"ends,omitempty"` // a run that has not ended, and is cancelled before
	Runs         []string         `json:"runs"`           // whose work is taken back, wholly or in part, oldest first
	Turns        int              `json:"num_turns"`      // that are taken back
	Restore      []RewindPath     `json:"restore"`
	Remove       []RewindPath     `json:"remove"`
	Yours        []RewindPath     `json:"yours"`
	Git          []RewindPath     `json:"git"`
	LeftOut      []RewindPath     `json:"left_out"` // what they were cannot be given back
	Moves        []HeadMove       `json:"git_moves"`
	Commits      []StandingCommit `json:"commits"` // that calls made; they stay
	Stands       []Standing       `json:"stands"`
	Notes        []string         `json:"notes"`        // what is not known, or not kept
	Conversation bool             `json:"conversation"` // it goes back too
}

// PlanChangedError says that a rewind would not do any more what it was planned to do. Plan is what
// it would do now.
type PlanChangedError struct{ Plan Rewind }

func (e *PlanChangedError) Error() string {
	return fmt.Sprintf("rewind to %s: it is not as it was planned: files, or the runs after it, have changed since; nothing was done", e.Plan.To)
}

// Fixes is what there is to do then.
func (e *PlanChangedError) Fixes() []Fix {
	return []Fix{{"see the plan", "agent rewind --dry-run " + e.Plan.To}}
}

// RewindPath is one path of a rewind.
type RewindPath struct {
	Path   string             `json:"path"`
	Run    string             `json:"run_id"`
	Call   string             `json:"place,omitempty"` // turn.index of the first call that changed it
	Proof  journal.FileProof  `json:"proof,omitempty"`
	Reason journal.LeftReason `json:"reason,omitempty"`
	Since  *time.Time         `json:"since_at,omitempty"` // of yours: when it was seen changed by somebody else
	Asked  bool               `json:"overwrite,omitempty"`
	Held   bool               `json:"held,omitempty"`   // of yours: what stays is in it, or in its place, so that overwrite changes nothing
	Shared bool               `json:"shared,omitempty"` // another run's call was under way too
	Text   string             `json:"text"`             // why, in words
}

// StandingCommit is a commit that a rewind leaves where it is.
type StandingCommit struct {
	ID         string `json:"commit_id"`
	Checkpoint string `json:"checkpoint_id"`
	Subject    string `json:"subject"`
	Back       string `json:"back,omitempty"` // the command of git's that takes it, and what came after it, off its branch
}

// HeadMove is where git's HEAD was moved while calls were under way.
type HeadMove struct {
	From string `json:"from"`
	To   string `json:"to"`
	Back string `json:"back"` // the command that goes back
}

// Standing is an effect outside of the workspace, which no rewind takes back.
type Standing struct {
	Run     string `json:"run_id"`
	Call    string `json:"call_id"`
	Place   string `json:"place"`
	Tool    string `json:"tool"`
	Words   string `json:"words"`
	Unknown bool   `json:"unknown,omitempty"`
}

// StandsText names what was done outside, in one line.
func StandsText(list []Standing) string {
	var names []string
	for _, s := range list {
		text := s.Words
		if s.Unknown {
			text += " (unknown)"
		}
		names = append(names, text)
	}
	return someOf(names, 1)
}

// FileCounts counts the paths that were changed.
type FileCounts struct {
	Added   int `json:"added"`
	Changed int `json:"changed"`
	Removed int `json:"removed"`
}

// Marks is the counts in short, such as ~3 +1; "" for nil.
func (c *FileCounts) Marks() string {
	if c == nil {
		return ""
	}
	return c.join(func(n int, mark, _ string) string { return fmt.Sprintf("%s%d", mark, n) }, " ")
}

// Text is the counts in words, such as 3 changed, 1 added.
func (c *FileCounts) Text() string {
	return c.join(func(n int, _, word string) string { return fmt.Sprintf("%d %s", n, word) }, ", ")
}

func (c *FileCounts) join(say func(n int, mark, word string) string, between string) string {
	var out []string
	for _, p := range []struct {
		n          int
		mark, word string
	}{{c.Changed, "~", "changed"}, {c.Added, "+", "added"}, {c.Removed, "-", "removed"}} {
		if p.n > 0 {
			out = append(out, say(p.n, p.mark, p.word))
		}
	}
	return strings.Join(out, between)
}

// Acts counts the paths that are written.
func (r Rewind) Acts() int {
	n := len(r.Restore) + len(r.Remove)
	for _, y := range r.Yours {
		if y.Asked {
			n++
		}
	}
	return n
}

// ChangedText says in a few words what a look found; "" where it found nothing of a call's.
func ChangedText(b journal.FilesChanged) string {
	var names []string
	for _, c := range b.Changes {
		if c.Proof.Ours() {
			names = append(names, changeMark(c)+c.Path)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "changed " + someOf(names, 4)
}

func changeMark(c journal.FileChange) string {
	switch {
	case c.Before == nil:
		return "+"
	case c.After == nil:
		return "-"
	}
	return "~"
}

// someOf names at most so many of a list, and counts the rest.
func someOf(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], " "), len(names)-most)
}

// DifferText says that files of a workspace are otherwise than they were at a position; "" where
// none is.
func DifferText(at string, paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	verb := "differ"
	if len(paths) == 1 {
		verb = "differs"
	}
	return fmt.Sprintf("files: %s %s from what was at %s: %s", Count(len(paths), "path"), verb, at, someOf(paths, 4))
}

// BaseText says what is kept of a workspace, in one line.
func BaseText(b journal.FilesBase) string {
	if b.Mode == journal.KeepTools {
		return "files: only what file tools write can be undone here: " + b.Why
	}
	text := fmt.Sprintf("files: %s watched over", Count(b.Paths, "path"))
	if b.Sealed > 0 {
		text += fmt.Sprintf(", %d kept", b.Sealed)
	}
	var left []string
	for _, l := range b.LeftOut {
		name := l.Path
		if l.Reason == journal.LeftIgnoredFolder || l.Reason == journal.LeftNested {
			name += "/"
		}
		if l.Size > 0 {
			name += " (" + Bytes(l.Size) + ")"
		}
		left = append(left, name)
	}
	n := 0
	for _, s := range b.Skipped {
		n += s.Paths
	}
	if len(left) > 0 {
		text += "; left out: " + strings.Join(left[:min(3, len(left))], ", ")
		if more := max(n, len(left)) - min(3, len(left)); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
	}
	return text
}
