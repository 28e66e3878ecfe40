package host

import (
	"fmt"
	"strings"

	"agent/host/drive"
)

// NewRunID makes the id of a run that is to be started.
func NewRunID() string { return drive.NewID("r") }

// CheckRunID refuses what is no id of a run.
func CheckRunID(id string) error {
	letters, ok := strings.CutPrefix(id, "r-")
	if !ok || len(letters) != 8 || strings.Trim(letters, drive.IDLetters) != "" {
		return fmt.Errorf("%q is no id of a run: r- and 8 of the characters %s", id, drive.IDLetters)
	}
	return nil
}

// Host is the service of one state folder.
type Host struct {
	drive.Process
}

// NewThreadID makes the id of a thread that is to begin.
func NewThreadID() string { return drive.NewID("t") }
