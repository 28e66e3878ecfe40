package doctor

import (
	"context"

	"agent/host/workspace"
)

// pins looks at the objects of git that are held for runs. Of one that is over most are needed no
// more.
func (e *examiner) pins(ctx context.Context) error {
	runs, err := workspace.Pins(&e.h.Process)
	if err != nil {
		return err
	}
	held := 0
	for _, run := range runs {
		row, known := e.rows[run]
		why := "which is over"
		if !known {
			why = "which is not known here"
		} else if !row.Status.Terminal() {
			held++
			continue
		} else if needed, err := workspace.PinNeeded(ctx, &e.h.Process, run); err != nil {
			return err
		} else if needed {
			held++
			continue
		}
		if !e.fix {
			e.Warn(areaPins, "agent doctor --fix removes them", "git's objects are held for run %s, %s", run, why)
			continue
		}
		if err := workspace.Unpin(&e.h.Process, run); err != nil {
			e.Bad(areaPins, "look what it is, and remove it", "%v", err)
			continue
		}
		e.Done(areaPins, "git's objects are no longer held for run %s, %s", run, why)
	}
	if held > 0 {
		e.OK(areaPins, "runs for which git's objects are held: %d", held)
	}
	return nil
}
