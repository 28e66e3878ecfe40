package view

import (
	"fmt"
	"slices"
	"time"

	"agent/recovery/journal"
)

// Commit is a commit of git with the runs whose work it holds. Fields are only ever added.
type Commit struct {
	Version  int          `json:"version"`
	ID       string       `json:"commit_id"`
	Repo     string       `json:"repo"` // folder of its objects
	Subject  string       `json:"subject"`
	Author   string       `json:"author"`
	Authored time.Time    `json:"authored_at"`
	Gone     bool         `json:"gone,omitempty"` // git does not have it any more
	Off      bool         `json:"off,omitempty"`  // no branch leads to it
	Links    []CommitLink `json:"links"`
	Claims   []Claim      `json:"claims"` // checkpoints that its message names, and that nothing proves
}

// CommitLink is one run whose work a commit holds.
type CommitLink struct {
	Checkpoint string                 `json:"checkpoint_id"`
	Final      bool                   `json:"final"` // its turn is settled
	Relation   journal.CommitRelation `json:"relation"`
	Proof      journal.CommitProof    `json:"proof"`
	Of         string                 `json:"of_id,omitempty"` // the commit that it stands for now
	Repo       string                 `json:"repo,omitempty"`  // where that is another one
	Run        string                 `json:"run_id"`
	Prompt     string                 `json:"prompt"`
	Turn       int                    `json:"turn"`
	Place      string                 `json:"place,omitempty"`     // turn.index of the call of the run that made it
	By         string                 `json:"by_run_id,omitempty"` // the run whose call made it, where that is another; neither: a person made it
	Paths      []string               `json:"paths"`               // that are work of the run, at most 100
	Share      int                    `json:"share"`               // how many there are
	Files      int                    `json:"files"`               // how many the commit changes
}

// Claim is a checkpoint that a message names without proof.
type Claim struct {
	Checkpoint string `json:"checkpoint_id"`
	Known      bool   `json:"known"` // some commit has it
}

// NewCommitLink is what a fact says.
func NewCommitLink(f journal.CommitSeen, run string, turn int, final bool, prompt string) CommitLink {
	l := CommitLink{
		Checkpoint: f.Checkpoint, Final: final, Relation: f.Relation, Proof: f.Proof, Of: f.Of, Run: run, Prompt: prompt, Turn: turn,
		Paths: f.Paths, Share: f.Share, Files: f.Files,
	}
	if l.Paths == nil {
		l.Paths = []string{}
	}
	l.By = f.By
	if f.During != nil {
		l.Place = fmt.Sprintf("%d.%d", f.During.Turn, f.During.Index)
	}
	return l
}

// Text says in a few words what a commit is to a run.
func (l CommitLink) Text() string {
	text := l.Checkpoint + " provisional"
	if l.Final {
		text = l.Checkpoint + " final"
	}
	switch {
	case l.Relation == journal.CommitMade && l.By != "":
		text += "  made by " + l.By
	case l.Relation == journal.CommitMade && l.Place == "":
		text += "  made by a person"
	case l.Relation != journal.CommitMade:
		text += "  " + string(l.Relation)
		if l.Of != "" {
			text += fmt.Sprintf(" from %.9s", l.Of)
		}
	}
	at := fmt.Sprintf("%s@%d", l.Run, l.Turn)
	return fmt.Sprintf("%s (%s)  %s  %d of %s", text, l.Proof, at, l.Share, Count(l.Files, "file"))
}

// Text says what a claim is worth.
func (c Claim) Text() string {
	if c.Known {
		return fmt.Sprintf("claims %s: nothing of it is in this commit", c.Checkpoint)
	}
	return fmt.Sprintf("claims %s: no commit of this store has it", c.Checkpoint)
}

// CommitText says in a few words what a commit holds of a run's work.
func CommitText(b journal.CommitSeen) string {
	text := fmt.Sprintf("commit %.9s %s %q", b.Commit, b.Checkpoint, b.Subject)
	if b.Relation != journal.CommitMade {
		text += fmt.Sprintf(", %s", b.Relation)
		if b.Of != "" {
			text += fmt.Sprintf(" from %.9s", b.Of)
		}
	}
	return text
}

// LineFrom says who brought a line.
type LineFrom string

// The origins.
const (
	FromRun    LineFrom = "run"
	FromPerson LineFrom = "person" // somebody or something else than a run, after a run had looked at the file
)

// Why says where a line of a file is from. Fields are only ever added.
type Why struct {
	Version int        `json:"version"`
	File    string     `json:"file"`
	Line    int        `json:"line"`
	Text    string     `json:"text"`
	From    LineFrom   `json:"from,omitempty"` // "": no run has anything to do with it
	Run     string     `json:"run_id,omitempty"`
	Prompt  string     `json:"prompt,omitempty"`
	Turn    int        `json:"turn,omitempty"`
	Place   string     `json:"place,omitempty"` // turn.index of the call
	Call    string     `json:"call_id,omitempty"`
	Tool    string     `json:"tool,omitempty"`
	Seen    *time.Time `json:"seen_at,omitempty"` // when a look saw the line first
	Commit  *Commit    `json:"commit,omitempty"`  // that brought it to HEAD
}

// Commits is what log prints with --json. Fields are only ever added.
type Commits struct {
	Version int      `json:"version"`
	Commits []Commit `json:"commits"`
	Off     []Commit `json:"off"`  // linked ones that no branch leads to any more
	More    bool     `json:"more"` // there are older ones
	Notes   []string `json:"notes"`
}

// Text says in one sentence where a line is from.
func (w Why) Words() string {
	at := ""
	if w.Seen != nil {
		at = w.Seen.Local().Format(time.DateTime)
	}
	text := fmt.Sprintf("%s:%d  ", w.File, w.Line)
	switch {
	case w.From == FromRun && w.Call != "":
		text += fmt.Sprintf("call %s %s (%s), turn %d of %s, %s: %s", w.Place, w.Tool, w.Call, w.Turn, w.Run, at, Quoted(PromptStart(w.Prompt)))
	case w.From == FromRun:
		text += fmt.Sprintf("run %s, %s: %s", w.Run, at, Quoted(PromptStart(w.Prompt)))
	case w.From == FromPerson:
		text += "no run: somebody else, seen on " + at
	case w.Commit != nil:
		text += fmt.Sprintf("no run: commit %.9s by %s, %s", w.Commit.ID, w.Commit.Author, w.Commit.Authored.Local().Format(time.DateTime))
	default:
		text += "no run has brought it"
	}
	if w.Commit != nil && w.From != "" {
		text += fmt.Sprintf("  commit %.9s", w.Commit.ID)
		var named []string
		for _, l := range w.Commit.Links {
			if !slices.Contains(named, l.Checkpoint) { // of several runs it has one
				named = append(named, l.Checkpoint)
				text += " " + l.Checkpoint
			}
		}
	}
	return text
}

// CommitsText names the commits of a turn.
func CommitsText(list []CheckpointCommit) string {
	var names []string
	for _, c := range list {
		names = append(names, fmt.Sprintf("%.9s", c.ID))
	}
	return someOf(names, 3)
}
