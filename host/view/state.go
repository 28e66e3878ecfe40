package view

import (
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
