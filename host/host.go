package host

import "agent/host/drive"

// NewRunID makes the id of a run that is to be started.
func NewRunID() string { return drive.NewID("r") }

// Host is the service of one state folder.
type Host struct {
	drive.Process
}

// NewThreadID makes the id of a thread that is to begin.
func NewThreadID() string { return drive.NewID("t") }
