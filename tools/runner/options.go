package runner

import "agent/recovery/fault"

// MainOptions of the runner process.
type MainOptions struct {
	// Hit is called at the fault points fault.RunnerBegins, RunnerReady, RunnerBegan,
	// RunnerRunning, RunnerCommand (ended, exit not yet durable) and RunnerExit; fault.Hit where
	// it is nil.
	Hit func(fault.Point)
}
