//go:build linux

package plan

import (
	"fmt"
	"strings"
)

// Arm is a fault that is armed for one command of a story.
type Arm struct {
	Command int // the first is 0
	Point   string
	Pass    int
}

func (a Arm) String() string { return fmt.Sprintf("%d:%s:%d", a.Command, a.Point, a.Pass) }

// InRunner says that the point is the runner's: the runner is stopped there, and then the victim is
// killed.
func (a Arm) InRunner() bool {
	return strings.HasPrefix(a.Point, "runner.") && a.Point != "runner.spawned"
}
