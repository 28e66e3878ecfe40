package view

import (
	"fmt"

	"agent/db"
	"agent/host"
)

// Detached is a run that goes on in a process of its own.
type Detached struct {
	Version int      `json:"version"`
	Run     string   `json:"run_id"`
	Thread  string   `json:"thread_id"`
	Process int      `json:"process"`
	Next    []string `json:"next"` // commands that watch it and stop it
}

// NewDetached is what is shown of such a run.
func NewDetached(run, thread string, process int) Detached {
	return Detached{Version: 1, Run: run, Thread: thread, Process: process, Next: []string{"agent attach " + run, "agent cancel " + run}}
}

// Text is what a person reads of it: two lines.
func (d Detached) Text() string {
	return fmt.Sprintf("run %s goes on in the background (process %d), thread %s\n  watch: %s    stop it: %s",
		d.Run, d.Process, d.Thread, d.Next[0], d.Next[1])
}

// LeftAloneError says that a run is not resumed but by name: resumes made no progress.
type LeftAloneError struct {
	Run   string
	Tries int
}

func (e *LeftAloneError) Error() string {
	return fmt.Sprintf("run %s is left alone: %d resumes in a row made no progress; try it by name: agent resume %s", e.Run, e.Tries, e.Run)
}

// LeftAlone is a *LeftAloneError where a run is left alone; nil otherwise.
func LeftAlone(row db.RunRow) error {
	if row.Fruitless < host.MaxFruitless {
		return nil
	}
	return &LeftAloneError{row.ID, row.Fruitless}
}
