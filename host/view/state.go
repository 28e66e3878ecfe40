package view

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"agent/host"
	"agent/host/doctor"
)

// Checkpoint is a settled turn, or the place before the first.
type Checkpoint struct {
	ID        string    `json:"id"`
	Seq       int64     `json:"seq"`
	Turn      int       `json:"turn"`
	TurnsLeft *int      `json:"turns_left,omitempty"` // absent without a limit
	Time      time.Time `json:"settled_at"`
	Digest    string    `json:"digest"` // of the journal up to here

	Files  *FileCounts `json:"files,omitempty"`  // that the turn changed
	Stands []Standing  `json:"stands,omitempty"` // what it did outside of the workspace, which no rewind takes back

	Commits []CheckpointCommit `json:"commits,omitempty"` // that hold its work
}

// CheckpointCommit is a commit that holds work of a turn.
type CheckpointCommit struct {
	ID         string `json:"commit_id"`
	Checkpoint string `json:"checkpoint_id"`
	Final      bool   `json:"final"`
}

// Checkpoints is what checkpoints prints with --json. Fields are only ever added.
type Checkpoints struct {
	Version     int          `json:"version"`
	Run         string       `json:"run_id"`
	Checkpoints []Checkpoint `json:"checkpoints"`
}

// Doctor is what doctor prints with --json. Fields are only ever added.
type Doctor struct {
	Version  int             `json:"version"`
	Agent    string          `json:"agent"`
	Home     string          `json:"home"`
	OK       bool            `json:"ok"` // nothing is bad
	Bad      int             `json:"bad"`
	Warnings int             `json:"warnings"`
	Findings doctor.Findings `json:"findings"`
}

// Restored is what restore prints with --json. Fields are only ever added.
type Restored struct {
	Version int          `json:"version"`
	Behind  bool         `json:"behind"` // there was something to decide
	Reason  string       `json:"reason"`
	Copied  bool         `json:"copied"`            // the folder is a copy
	WentOn  string       `json:"went_on,omitempty"` // what was decided: unknown, no or yes
	Ahead   []host.Ahead `json:"ahead"`             // what the folder knows and the database does not
	Runs    []string     `json:"run_ids"`           // interrupted by the decision
}

// Backup is what backup prints with --json. Fields are only ever added.
type Backup struct {
	Version     int         `json:"version"`
	Path        string      `json:"path"`
	Bytes       int64       `json:"bytes"`
	Made        time.Time   `json:"made_at"`
	StoreID     string      `json:"store_id"`
	Incarnation int64       `json:"incarnation"`
	Key         bool        `json:"key"` // it is in the backup, sealed
	Runs        []CopiedRun `json:"unfinished"`
	Missing     int         `json:"missing_files"` // that the record names and that were not there
}

// CopiedRun is a run that had not ended when a copy was made.
type CopiedRun struct {
	Run     string `json:"run_id"`
	Status  string `json:"status"`
	Facts   int64  `json:"facts"`
	Request string `json:"pending_id,omitempty"`
	Words   string `json:"prompt"`
}

// Text says what a backup has and what it has not.
func (m Backup) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "backed up %s, as of %s", Bytes(m.Bytes), Stamp(m.Made))
	if n := len(m.Runs); n > 0 {
		fmt.Fprintf(&b, "; %s had not ended", Count(n, "run"))
	}
	if m.Missing > 0 {
		fmt.Fprintf(&b, "\nwarning: %s of the record were not there: agent doctor", Count(m.Missing, "file"))
	}
	if !m.Key {
		b.WriteString("\nthe key is not in it: secrets, kept files and environments cannot be restored without it (--to)")
	}
	return b.String()
}

// KeyPair is what backup --new-key prints with --json. Fields are only ever added.
type KeyPair struct {
	Version int    `json:"version"`
	Public  string `json:"public_key"`
	Private string `json:"private_key_file"`
}

// RestoredFrom is what restore prints with --json about a backup. Fields are only ever added.
type RestoredFrom struct {
	Version     int         `json:"version"`
	Backup      string      `json:"backup"`
	Home        string      `json:"state_folder"`
	Made        time.Time   `json:"made_at"`
	Incarnation int64       `json:"incarnation"`
	WentOn      string      `json:"went_on"` // unknown, no or yes
	Key         bool        `json:"key"`     // it has the key that it was made with
	Runs        []CopiedRun `json:"unfinished"`
}

// WhereText says where a copy stands: the runs that had not ended, a line each.
func WhereText(made time.Time, runs []CopiedRun) string {
	var b strings.Builder
	fmt.Fprintf(&b, "it was made at %s", Stamp(made))
	if len(runs) == 0 {
		b.WriteString("; every run in it had ended")
	}
	for _, r := range runs {
		fmt.Fprintf(&b, "\n  %s  %s, %s: %s", r.Run, r.Status, Count(int(r.Facts), "fact"), r.Words)
		if r.Request != "" {
			fmt.Fprintf(&b, " (asked %s)", r.Request)
		}
	}
	return b.String()
}

// Prune is what prune and rm print with --json. Fields are only ever added.
type Prune struct {
	Version  int            `json:"version"`
	Threads  []PrunedThread `json:"threads"` // that go, or were to go
	Runs     int            `json:"runs"`    // of them
	Bytes    int64          `json:"bytes"`   // of their facts
	Kept     []KeptThread   `json:"kept"`    // that were wanted, and are needed
	Unwanted int            `json:"others"`  // threads that stay because nobody wants them to go
	Done     *PruneDone     `json:"done,omitempty"`
}

// PrunedThread is a thread that goes.
type PrunedThread struct {
	Thread string    `json:"thread_id"`
	Runs   []string  `json:"run_ids"`
	Last   time.Time `json:"last_at"`
	Facts  int64     `json:"facts"`
	Bytes  int64     `json:"bytes"`
	Words  string    `json:"prompt"`
}

// KeptThread is a thread that stays because something of it is needed.
type KeptThread struct {
	Thread string `json:"thread_id"`
	Reason string `json:"reason"` // unfinished, question, unknown, forked, driven or moved
	Run    string `json:"run_id,omitempty"`
	Need   string `json:"needs,omitempty"` // the question or the call
	Words  string `json:"prompt"`
}

// PruneDone is what was removed.
type PruneDone struct {
	Threads  int    `json:"threads"`
	Runs     int    `json:"runs"`
	Contents int    `json:"contents"`
	Freed    int64  `json:"freed"` // bytes
	Later    string `json:"later,omitempty"`
}

// Text says why a thread stays, and what helps.
func (k KeptThread) Text() string {
	switch k.Reason {
	case "unfinished":
		return fmt.Sprintf("%s stays: run %s has not ended: agent resume %s, agent cancel %s", k.Thread, k.Run, k.Run, k.Run)
	case "question":
		return fmt.Sprintf("%s stays: a question of run %s is open: agent answer %s", k.Thread, k.Run, k.Need)
	case "unknown":
		return fmt.Sprintf("%s stays: nobody has decided on a call of run %s whose outcome is unknown: agent answer %s", k.Thread, k.Run, k.Need)
	case "forked":
		return fmt.Sprintf("%s stays: run %s was forked from it, and stays: agent rm %s", k.Thread, k.Run, k.Run)
	case "driven":
		return fmt.Sprintf("%s stays: a process works on run %s; try again when that has ended", k.Thread, k.Run)
	}
	return fmt.Sprintf("%s stays: a run came into it meanwhile", k.Thread)
}

// Text sums up what goes, or went.
func (p Prune) Text() string {
	if d := p.Done; d != nil {
		text := fmt.Sprintf("removed %s with %s; %s given back", Count(d.Threads, "thread"), Count(d.Runs, "run"), Bytes(d.Freed))
		if d.Later != "" {
			text += "\n" + d.Later
		}
		return text
	}
	return fmt.Sprintf("%s with %s, about %s of records", Count(len(p.Threads), "thread"), Count(p.Runs, "run"), Bytes(p.Bytes))
}

// Version is what version prints with --json. Fields are only ever added.
type Version struct {
	Version  int    `json:"version"`
	Agent    string `json:"agent"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from files that differ from the revision
	Go       string `json:"go"`
	SQLite   string `json:"sqlite_driver,omitempty"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// NewVersion is this binary's, of the version and the commit that its release has; revision is ""
// for what was built without one, where what go build records counts.
func NewVersion(version, revision string) Version {
	v := Version{Version: 1, Agent: version, Revision: revision, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	for _, m := range info.Deps {
		if m.Path == "modernc.org/sqlite" {
			v.SQLite = m.Version
		}
	}
	return v
}

// Text is one line.
func (v Version) Text() string {
	revision, driver := "", ""
	if v.Revision != "" {
		revision = " " + v.Revision[:min(12, len(v.Revision))]
		if v.Modified {
			revision += "+"
		}
	}
	if v.SQLite != "" {
		driver = ", sqlite driver " + v.SQLite
	}
	return fmt.Sprintf("agent %s%s (%s, %s/%s%s)", v.Agent, revision, v.Go, v.OS, v.Arch, driver)
}
